// Reductions of (outer, n, inner) over n, in one launch or, where rows are few and long, in two:
// parts of rows first. Parts depend on the shape alone, so results do not depend on the device.
// KIND: 0 sum, 1 product, 2 largest, 3 smallest, 4 any, 5 all, 6 number of nonzeros, 7 sum of
// magnitudes, 8 root of the sum of squares, 9 largest magnitude, 10 mean, 11 place of the largest,
// 12 place of the smallest, 13 variance and mean, 14 sum of squares. T: elements, D: result.
// instances: T=float32,float64,float16,bfloat16 D=T KIND=0,1,2,3,7,8,9,10,11,12,13,14
// instances: T=int64,int32,uint8 D=T KIND=2,3,11,12
// instances: T=int64,int32,int16,int8,uint8,bool D=int64 KIND=0,1
// instances: T=float32,bfloat16,int64,bool D=bool KIND=4,5
// instances: T=float32,bfloat16,int64,bool D=int64 KIND=6
// instances: T=float16,bfloat16 D=float32 KIND=0,10
#include "common.cuh"

typedef T_wide A;

template <class E>
__device__ __forceinline__ E highest() { return -lowest<E>(); }
template <>
__device__ __forceinline__ i64 highest<i64>() { return ~lowest<i64>(); }
__device__ __forceinline__ A magnitude(A x) { return x < 0 ? -x : x; }

struct Extra {
  double count, correction;
};

#if KIND <= 10 || KIND == 14
typedef A State;
__device__ __forceinline__ State none() {
#if KIND == 1 || KIND == 5
  return 1;
#elif KIND == 2
  return lowest<A>();
#elif KIND == 3
  return highest<A>();
#else
  return 0;
#endif
}
__device__ __forceinline__ State join(State a, State b) {
#if KIND == 1
  return a * b;
#elif KIND == 2 || KIND == 9
  return larger(a, b);
#elif KIND == 3
  return smaller(a, b);
#elif KIND == 4
  return a != 0 || b != 0 ? (A)1 : (A)0;
#elif KIND == 5
  return a != 0 && b != 0 ? (A)1 : (A)0;
#else
  return a + b;
#endif
}
__device__ __forceinline__ void include(State& s, A x, i64) {
#if KIND == 6
  s += x != 0 ? (A)1 : (A)0;
#elif KIND == 7 || KIND == 9
  s = join(s, magnitude(x));
#elif KIND == 8 || KIND == 14
  s += x * x;
#else
  s = join(s, x);
#endif
}
__device__ __forceinline__ void finish(State s, D* out, void*, i64 i, Extra extra) {
#if KIND == 8
  out[i] = (D)root(s);
#elif KIND == 10
  out[i] = (D)(A)(s / (A)extra.count);
#else
  out[i] = (D)s;
#endif
}
#elif KIND <= 12
struct State {
  A value;
  i64 place;
};
__device__ __forceinline__ State lane_xor(State s, int bits) {
  return {__shfl_xor_sync(EVERY_LANE, s.value, bits), __shfl_xor_sync(EVERY_LANE, s.place, bits)};
}
__device__ __forceinline__ State none() { return {0, -1}; }
// The first of equal ones; the first NaN wins.
__device__ __forceinline__ bool before(State a, State b) {
  if (b.place < 0) return true;
  if (a.place < 0) return false;
  bool lost = a.value != a.value, other = b.value != b.value;
  if (lost || other) return lost && other ? a.place < b.place : lost;
  if (a.value == b.value) return a.place < b.place;
#if KIND == 11
  return a.value > b.value;
#else
  return a.value < b.value;
#endif
}
__device__ __forceinline__ State join(State a, State b) { return before(a, b) ? a : b; }
__device__ __forceinline__ void include(State& s, A x, i64 place) { s = join(s, {x, place}); }
__device__ __forceinline__ void finish(State s, D* out, void* second, i64 i, Extra) {
  if (out) out[i] = (D)s.value;
  ((i64*)second)[i] = s.place;
}
#else
struct State {
  A count, mean, squares;
};
__device__ __forceinline__ State lane_xor(State s, int bits) {
  return {__shfl_xor_sync(EVERY_LANE, s.count, bits), __shfl_xor_sync(EVERY_LANE, s.mean, bits),
          __shfl_xor_sync(EVERY_LANE, s.squares, bits)};
}
__device__ __forceinline__ State none() { return {0, 0, 0}; }
__device__ __forceinline__ State join(State a, State b) {
  A count = a.count + b.count;
  if (count == 0) return a;
  A delta = b.mean - a.mean, share = b.count / count;
  return {count, a.mean + delta * share, a.squares + b.squares + delta * delta * a.count * share};
}
__device__ __forceinline__ void include(State& s, A x, i64) {
  s.count += 1;
  A delta = x - s.mean;
  s.mean += delta / s.count;
  s.squares += delta * (x - s.mean);
}
__device__ __forceinline__ void finish(State s, D* out, void* second, i64 i, Extra extra) {
  A divisor = (A)(extra.count - extra.correction);
  out[i] = (D)(s.squares / (divisor > 0 ? divisor : (A)0));
  if (second) ((D*)second)[i] = (D)(extra.count == 0 ? (A)0 / (A)0 : s.mean);
}
#endif

struct Joined {
  __device__ __forceinline__ State operator()(State a, State b) const { return join(a, b); }
};

// partial: null, or where the states of parts go; blockIdx.y is the part.
extern "C" __global__ void __launch_bounds__(1024, 1)
reduce_rows(const T* x, D* out, void* second, State* partial, i64 rows, i64 n, i64 of_part,
            Extra extra) {
  __shared__ State scratch[32];
  i64 row = blockIdx.x * (i64)blockDim.y + threadIdx.y, start = blockIdx.y * of_part;
  if (row >= rows) return;
  i64 count = n - start < of_part ? n - start : of_part;
  State s = none();
  each(x + row * n + start, count, [&](i64 i, T v) { include(s, (A)v, start + i); });
  s = combine_row(s, Joined(), scratch);
  if (threadIdx.x) return;
  if (partial) partial[row * gridDim.y + blockIdx.y] = s;
  else finish(s, out, second, row, extra);
}

// 32 columns of (outer, n, inner) a block, eight threads each.
extern "C" __global__ void __launch_bounds__(256, 1)
reduce_columns(const T* x, D* out, void* second, State* partial, i64 n, i64 inner, i64 of_part,
               Extra extra) {
  __shared__ State scratch[8][33];
  i64 tiles = (inner + 31) / 32, outer = blockIdx.x / tiles;
  i64 column = blockIdx.x % tiles * 32 + threadIdx.x, start = blockIdx.y * of_part;
  i64 end = start + of_part < n ? start + of_part : n;
  State s = none();
  if (column < inner)
    for (i64 i = start + threadIdx.y; i < end; i += 8)
      include(s, (A)x[(outer * n + i) * inner + column], i);
  scratch[threadIdx.y][threadIdx.x] = s;
  __syncthreads();
  if (threadIdx.y || column >= inner) return;
  for (int i = 1; i < 8; i++) s = join(s, scratch[i][threadIdx.x]);
  i64 place = outer * inner + column;
  if (partial) partial[place * gridDim.y + blockIdx.y] = s;
  else finish(s, out, second, place, extra);
}

extern "C" __global__ void __launch_bounds__(256, 1)
reduce_parts(const State* partial, D* out, void* second, i64 rows, i64 parts, Extra extra) {
  i64 row = blockIdx.x * (i64)blockDim.y + threadIdx.y;
  if (row >= rows) return;
  State s = none();
  for (i64 i = threadIdx.x; i < parts; i += 32) s = join(s, partial[row * parts + i]);
  s = combine_warp(s, Joined());
  if (threadIdx.x == 0) finish(s, out, second, row, extra);
}
