// Greedy suppression of boxes (N, 4), best first, by a bit for each pair that overlaps too much
// (the field's way on GPUs), band by band of boxes, so that the bits of all pairs are never there.
// Ratios are rounded as on the CPU: no product is fused with a sum.
// instances: T=float32,float64,float16,bfloat16
#include "common.cuh"

typedef T_wide A;
#define TILE 64  // boxes whose bits are a word

__device__ __forceinline__ float times(float a, float b) { return __fmul_rn(a, b); }
__device__ __forceinline__ double times(double a, double b) { return __dmul_rn(a, b); }

struct Box {
  A x1, y1, x2, y2;
  __device__ __forceinline__ void read(const T* boxes, i64 i) {
    x1 = (A)boxes[4 * i], y1 = (A)boxes[4 * i + 1];
    x2 = (A)boxes[4 * i + 2], y2 = (A)boxes[4 * i + 3];
  }
  __device__ __forceinline__ A area() const { return times(x2 - x1, y2 - y1); }
};

__device__ __forceinline__ bool overlap(const Box& a, const Box& b, A limit) {
  A width = larger(smaller(b.x2, a.x2) - larger(b.x1, a.x1), (A)0);
  A height = larger(smaller(b.y2, a.y2) - larger(b.y1, a.y1), (A)0);
  A inter = times(width, height);
  return inter / (b.area() + a.area() - inter) > limit;
}

// bits[row, word]: which of the boxes 64 * word .. a box of the band overlaps too much; only later
// ones of its group. A block has 64 rows (blockIdx.y) and words along x.
extern "C" __global__ void __launch_bounds__(TILE)
overlap_bits(const T* boxes, const i64* groups, u64* bits, i64 count, i64 first, i64 words,
             double most) {
  __shared__ Box others[TILE];
  __shared__ i64 members[TILE];
  i64 start = first + blockIdx.y * (i64)TILE, row = start + threadIdx.x, lane = threadIdx.x;
  i64 low = start / TILE;
  for (i64 word = low + blockIdx.x; word < words; word += gridDim.x) {
    i64 other = word * TILE + lane;
    __syncthreads();
    if (other < count) others[lane].read(boxes, other), members[lane] = groups[other];
    __syncthreads();
    if (row >= count) continue;
    u64 found = 0;
    // Those of a group stand together: the last row's group reaches the word, or none does.
    i64 last = start + TILE - 1 < count ? start + TILE - 1 : count - 1;
    if (word == low || groups[last] == members[0]) {
      Box own;
      own.read(boxes, row);
      i64 group = groups[row], end = count - word * TILE < TILE ? count - word * TILE : TILE;
#pragma unroll 1
      for (i64 j = word == low ? lane + 1 : 0; j < end; j++)
        if (members[j] == group && overlap(own, others[j], (A)most)) found |= (u64)1 << j;
    }
    bits[(row - first) * words + word] = found;
  }
}

// One block decides the boxes of a band, 64 by 64: thread 0 those of a tile one after the other,
// then all threads strike what these remove from the later words. gone: (words,).
extern "C" __global__ void __launch_bounds__(256)
decide(const u64* bits, u64* gone, bool* stays, i64 count, i64 first, i64 last, i64 words) {
  __shared__ u64 inside[TILE], kept;
  for (i64 start = first; start < last; start += TILE) {
    i64 word = start / TILE, size = last - start < TILE ? last - start : TILE;
    const u64* tile = bits + (start - first) * words;
    if (threadIdx.x < size) inside[threadIdx.x] = tile[threadIdx.x * words + word];
    __syncthreads();
    if (threadIdx.x == 0) {
      u64 removed = gone[word];
      kept = 0;
      for (i64 i = 0; i < size; i++)
        if (!(removed >> i & 1)) kept |= (u64)1 << i, removed |= inside[i];
    }
    __syncthreads();
    if (threadIdx.x < size) stays[start + threadIdx.x] = kept >> threadIdx.x & 1;
    for (i64 later = word + 1 + threadIdx.x; later < words; later += blockDim.x) {
      u64 removed = gone[later];
#pragma unroll 1
      for (i64 i = 0; i < size; i++)
        if (kept >> i & 1) removed |= tile[i * words + later];
      gone[later] = removed;
    }
    __syncthreads();
  }
}
