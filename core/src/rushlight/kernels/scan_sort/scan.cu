// Running sums and their kin over n of (outer, n, inner).
// KIND: 0 sum, 1 product, 2 largest and its place, 3 smallest and its place, 4 log of sum of exp.
// T: elements, D: result.
// instances: T=float32,float64,float16,bfloat16 D=T KIND=0,1,2,3,4
// instances: T=int64,int32,uint8,bool D=int64 KIND=0,1
// instances: T=int64,int32,uint8 D=T KIND=2,3
#include "common.cuh"

typedef T_wide A;
constexpr int EACH = 8;  // elements of one thread, side by side

#if KIND == 2 || KIND == 3
struct State {
  A value;
  i64 place;
};
__device__ __forceinline__ State lane_up(State s, int by) {
  return {__shfl_up_sync(EVERY_LANE, s.value, by), __shfl_up_sync(EVERY_LANE, s.place, by)};
}
__device__ __forceinline__ State none() { return {0, -1}; }
// a comes before b; the later of equal ones counts.
__device__ __forceinline__ State join(State a, State b) {
  if (a.place < 0) return b;
  if (b.place < 0) return a;
#if KIND == 2
  bool wins = b.value != b.value || (a.value == a.value && b.value >= a.value);
#else
  bool wins = b.value != b.value || (a.value == a.value && b.value <= a.value);
#endif
  return wins ? b : a;
}
__device__ __forceinline__ State read(T x, i64 i) { return {(A)x, i}; }
__device__ __forceinline__ void write(State s, D* out, i64* places, i64 i) {
  out[i] = (D)s.value;
  places[i] = s.place;
}
#else
typedef A State;
__device__ __forceinline__ State lane_up(State s, int by) {
  return __shfl_up_sync(EVERY_LANE, s, by);
}
#if KIND == 4
__device__ __forceinline__ State none() { return -infinity<A>(); }
__device__ __forceinline__ State join(State a, State b) {
  A high = larger(a, b), low = a == high ? b : a;
  if (high - high != 0) return high == -infinity<A>() ? high : high + low - low;
  return high + logarithm((A)1 + exponential(low - high));
}
#elif KIND == 1
__device__ __forceinline__ State none() { return 1; }
__device__ __forceinline__ State join(State a, State b) { return a * b; }
#else
__device__ __forceinline__ State none() { return 0; }
__device__ __forceinline__ State join(State a, State b) { return a + b; }
#endif
__device__ __forceinline__ State read(T x, i64) { return (A)x; }
__device__ __forceinline__ void write(State s, D* out, i64*, i64 i) { out[i] = (D)s; }
#endif

// What stands before this thread's values in the block; `total` becomes the block's.
__device__ __forceinline__ State before_thread(State own, State* scratch, State& total) {
  int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  State sum = own;
#pragma unroll
  for (int by = 1; by < 32; by *= 2) {
    State other = lane_up(sum, by);
    if (lane >= by) sum = join(other, sum);
  }
  if (lane == 31) scratch[warp] = sum;
  __syncthreads();
  State prefix = none();
  for (int i = 0; i < warp; i++) prefix = join(prefix, scratch[i]);
  total = none();
  for (int i = 0; i < (blockDim.x >> 5); i++) total = join(total, scratch[i]);
  State other = lane_up(sum, 1);
  return lane ? join(prefix, other) : prefix;
}

__device__ __forceinline__ State own_values(const T* x, i64 first, i64 n, State* values) {
  State sum = none();
#pragma unroll
  for (int j = 0; j < EACH; j++) {
    values[j] = first + j < n ? read(x[first + j], first + j) : none();
    sum = join(sum, values[j]);
  }
  return sum;
}

// Block (tile, row): the combination of the tile's elements.
extern "C" __global__ void __launch_bounds__(256, 1)
scan_totals(const T* x, State* totals, i64 n) {
  __shared__ State scratch[8];
  State values[EACH], total;
  i64 first = (blockIdx.x * (i64)blockDim.x + threadIdx.x) * EACH;
  before_thread(own_values(x + blockIdx.y * n, first, n, values), scratch, total);
  if (threadIdx.x == 0) totals[blockIdx.y * (i64)gridDim.x + blockIdx.x] = total;
}

// One block a row: each total becomes what stands before its tile.
extern "C" __global__ void __launch_bounds__(256, 1)
scan_carries(State* totals, i64 tiles) {
  __shared__ State scratch[8];
  totals += blockIdx.x * tiles;
  State carry = none(), total;
  for (i64 start = 0; start < tiles; start += blockDim.x) {
    i64 i = start + threadIdx.x;
    State prefix = before_thread(i < tiles ? totals[i] : none(), scratch, total);
    if (i < tiles) totals[i] = join(carry, prefix);
    carry = join(carry, total);
    __syncthreads();
  }
}

// carries: null where a row is one tile.
extern "C" __global__ void __launch_bounds__(256, 1)
scan_rows(const T* x, D* out, i64* places, const State* carries, i64 n) {
  __shared__ State scratch[8];
  State values[EACH], total;
  i64 first = (blockIdx.x * (i64)blockDim.x + threadIdx.x) * EACH, at = blockIdx.y * n;
  State sum = before_thread(own_values(x + at, first, n, values), scratch, total);
  if (carries) sum = join(carries[blockIdx.y * (i64)gridDim.x + blockIdx.x], sum);
#pragma unroll
  for (int j = 0; j < EACH; j++) {
    sum = join(sum, values[j]);
    if (first + j < n) write(sum, out + at, places + at, first + j);
  }
}

extern "C" __global__ void __launch_bounds__(256, 1)
scan_columns(const T* x, D* out, i64* places, i64 outer, i64 n, i64 inner) {
  for (i64 c = global_thread(); c < outer * inner; c += global_threads()) {
    i64 start = c / inner * n * inner + c % inner;
    State sum = none();
    for (i64 i = 0; i < n; i++) {
      sum = join(sum, read(x[start + i * inner], i));
      write(sum, out, places, start + i * inner);
    }
  }
}
