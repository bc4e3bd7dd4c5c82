// Rows combined by sorted keys: every order of threads gives the same bits, without atomics.
// KIND: 0 sum, 1 product, 2 largest, 3 smallest, 4 mean.
// instances: T=float32,float64,float16,bfloat16,int64,int32,int16,int8,uint8,bool KIND=0,1,2,3,4
#include "common.cuh"

typedef T_wide A;

__device__ __forceinline__ A join(A a, A b) {
#if KIND == 1
  return a * b;
#elif KIND == 2
  return larger(a, b);
#elif KIND == 3
  return smaller(a, b);
#else
  return a + b;
#endif
}

struct Settings {
  i64 count, width, size, padding;  // positions, elements of a row, rows of out, key left out
  i64 by_frequency, include_self, outer;
  double alpha;
};

// Element c of the row that a position stands for.
__device__ __forceinline__ A value_at(const T* source, const i64* order, const i64* row_of,
                                      const A* scales, i64 base, i64 width, i64 q, i64 c) {
  i64 position = order[q], row = row_of ? row_of[position] : position;
  A value = (A)source[(base + row) * width + c];
  return scales ? value * scales[position] : value;
}

// What becomes of the combination of n elements, and of what is there.
__device__ __forceinline__ void finish(T* out, i64 to, A sum, i64 n, const Settings& s) {
  if (s.alpha != 1.0) sum = (A)(sum * (A)s.alpha);
  if (s.by_frequency) sum = sum / (A)n;
  if (s.include_self) sum = join((A)out[to], sum);
#if KIND == 4
  A count = (A)(n + (s.include_self ? 1 : 0)), mean = sum / count;
  if ((A)0.5 == 0 && mean * count > sum) mean -= 1;  // integers round down
  sum = mean;
#endif
  out[to] = (T)sum;
}

// out[o, key, :] = combination of source[o, row, :] over the positions with that key. `order`:
// positions before sorting; `row_of` (or null): their rows; `scales` (or null): their factors.
// Threads along x share a row; the first position of a key does its work.
extern "C" __global__ void __launch_bounds__(256, 1)
segment_rows(const T* source, const i64* keys, const i64* order, const i64* row_of,
             const A* scales, T* out, i64 source_rows, Settings s) {
  i64 first = blockIdx.x * (i64)blockDim.y + threadIdx.y;
  if (first >= s.count) return;
  i64 key = keys[first];
  if (key == s.padding || (first && keys[first - 1] == key)) return;
  check_index(key, s.size);
  i64 end = first + 1;
#pragma unroll 1
  while (end < s.count && keys[end] == key) end++;
  for (i64 o = blockIdx.z; o < s.outer; o += gridDim.z)
    for (i64 c = blockIdx.y * (i64)blockDim.x + threadIdx.x; c < s.width;
         c += gridDim.y * (i64)blockDim.x) {
      i64 base = o * source_rows;
      A sum = value_at(source, order, row_of, scales, base, s.width, first, c);
      for (i64 q = first + 1; q < end; q++)
        sum = join(sum, value_at(source, order, row_of, scales, base, s.width, q, c));
      finish(out, (o * s.size + key) * s.width + c, sum, end - first, s);
    }
}

// The first position whose key is at least `key`.
__device__ __forceinline__ i64 position_of(const i64* keys, i64 count, i64 key) {
  i64 low = 0, high = count;
#pragma unroll 1
  while (low < high) {
    i64 middle = low + (high - low) / 2;
    if (keys[middle] < key) low = middle + 1;
    else high = middle;
  }
  return low;
}

// The stretch of a key's positions that a part has.
__device__ __forceinline__ void stretch_of(i64 first, i64 end, i64 part, i64 parts, i64& low,
                                           i64& high) {
  i64 length = (end - first + parts - 1) / parts;
  low = first + part * length;
  high = low + length;
  low = low < end ? low : end;
  high = high < end ? high : end;
}

// For keys with many positions each: a block has a key, a part of its positions (blockIdx.y) and
// 32 columns at a time; eight threads share a column. partial: (parts, outer, size, width).
extern "C" __global__ void __launch_bounds__(256, 1)
segment_parts(const T* source, const i64* keys, const i64* order, const i64* row_of,
              const A* scales, A* partial, i64 source_rows, Settings s) {
  __shared__ A sums[8][33];
  i64 key = blockIdx.x, first = position_of(keys, s.count, key);
  i64 end = position_of(keys, s.count, key + 1), low, high;
  if (key == 0 && first < s.count && threadIdx.x == 0 && threadIdx.y == 0) {
    if (keys[s.count - 1] >= s.size || (keys[0] < 0 && keys[0] != s.padding)) __trap();
  }
  stretch_of(first, end, blockIdx.y, gridDim.y, low, high);
  if (low >= high || key == s.padding) return;
  for (i64 o = blockIdx.z; o < s.outer; o += gridDim.z)
    for (i64 start = 0; start < s.width; start += 32) {
      i64 c = start + threadIdx.x, base = o * source_rows;
      bool has = c < s.width && low + threadIdx.y < high;
      A sum = has ? value_at(source, order, row_of, scales, base, s.width, low + threadIdx.y, c)
                  : (A)0;
      for (i64 q = low + threadIdx.y + 8; has && q < high; q += 8)
        sum = join(sum, value_at(source, order, row_of, scales, base, s.width, q, c));
      __syncthreads();
      sums[threadIdx.y][threadIdx.x] = sum;
      __syncthreads();
      if (threadIdx.y || !has) continue;
      for (int i = 1; i < 8 && low + i < high; i++) sum = join(sum, sums[i][threadIdx.x]);
      partial[((blockIdx.y * s.outer + o) * s.size + key) * s.width + c] = sum;
    }
}

extern "C" __global__ void __launch_bounds__(256, 1)
join_parts(const A* partial, const i64* keys, T* out, i64 parts, Settings s) {
  i64 key = blockIdx.x, first = position_of(keys, s.count, key);
  i64 end = position_of(keys, s.count, key + 1), low, high;
  if (first == end || key == s.padding) return;
  for (i64 i = threadIdx.x; i < s.outer * s.width; i += blockDim.x) {
    i64 o = i / s.width, c = i % s.width;
    A sum = partial[(o * s.size + key) * s.width + c];
    for (i64 part = 1; part < parts; part++) {
      stretch_of(first, end, part, parts, low, high);
      if (low >= high) break;
      sum = join(sum, partial[((part * s.outer + o) * s.size + key) * s.width + c]);
    }
    finish(out, (o * s.size + key) * s.width + c, sum, end - first, s);
  }
}
