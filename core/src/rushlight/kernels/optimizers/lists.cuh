// Lists of arrays: a table has a row per array with its first block, its length, an address per list
// and one more word. Blocks are of 2048 elements of T.
typedef T_wide A;
constexpr i64 BLOCK = 2048;

struct Part {
  const i64* row;
  i64 start, count;
  __device__ __forceinline__ T* list(int n) const { return (T*)row[2 + n] + start; }
};

__device__ __forceinline__ Part part_of(const i64* table, i64 rows, int width) {
  i64 block = blockIdx.x, low = 0, high = rows;
  while (high - low > 1) {
    i64 middle = (low + high) / 2;
    if (table[middle * width] <= block) low = middle;
    else high = middle;
  }
  const i64* row = table + low * width;
  i64 start = (block - row[0]) * BLOCK, rest = row[1] - start;
  return {row, start, rest < BLOCK ? rest : BLOCK};
}
