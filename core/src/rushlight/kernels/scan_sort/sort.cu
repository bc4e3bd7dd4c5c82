// Stable sorting of rows with the places of their elements: in shared memory up to 2048 elements,
// by radix, eight bits a pass, beyond. NaN counts as the largest; the zeros are equal.
// instances: T=float32,float64,float16,bfloat16,int64,int32,int16,int8,uint8,bool
#include "common.cuh"

constexpr bool WIDE = sizeof(T) == 8;
template <bool wide>
struct KeyOf {
  typedef unsigned type;
};
template <>
struct KeyOf<true> {
  typedef u64 type;
};
typedef KeyOf<WIDE>::type Key;

__device__ __forceinline__ Key ordered(float x) {
  if (x != x) return (Key)0xffffffffu;
  unsigned bits = __float_as_uint(x == 0 ? 0.0f : x);
  return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}
__device__ __forceinline__ Key ordered(double x) {
  if (x != x) return (Key)~0ull;
  u64 bits = (u64)__double_as_longlong(x == 0 ? 0.0 : x);
  return (Key)(bits >> 63 ? ~bits : bits | 0x8000000000000000ull);
}
__device__ __forceinline__ Key ordered(i64 x) {
  return WIDE ? (Key)((u64)x ^ 0x8000000000000000ull) : (Key)((unsigned)x ^ 0x80000000u);
}
__device__ __forceinline__ Key key_of(T x, int descending) {
  Key key = ordered((T_wide)x);
  return descending ? (Key)~key : key;
}

// Bitonic, of `room` pairs in shared memory, a power of two: (key, place) pairs are all different,
// so the result is the stable one.
__device__ __forceinline__ void sort_pairs(Key* keys, int* at, int room) {
  for (int size = 2; size <= room; size *= 2)
    for (int step = size / 2; step; step /= 2) {
      for (int pair = threadIdx.x; pair < room / 2; pair += blockDim.x) {
        int low = 2 * pair - (pair & (step - 1)), high = low + step;
        bool after = keys[low] > keys[high] || (keys[low] == keys[high] && at[low] > at[high]);
        if (after == ((low & size) == 0)) {
          Key key = keys[low];
          keys[low] = keys[high];
          keys[high] = key;
          int place = at[low];
          at[low] = at[high];
          at[high] = place;
        }
      }
      __syncthreads();
    }
}

// One block a row of at most `room` elements.
extern "C" __global__ void __launch_bounds__(1024, 1)
sort_rows(const T* x, T* values, i64* places, i64 n, int room, int descending) {
  extern __shared__ u64 memory[];
  Key* keys = (Key*)memory;
  int* at = (int*)(keys + room);
  const T* row = x + blockIdx.x * n;
  for (int i = threadIdx.x; i < room; i += blockDim.x) {
    keys[i] = i < n ? key_of(row[i], descending) : (Key)~(Key)0;
    at[i] = i;
  }
  __syncthreads();
  sort_pairs(keys, at, room);
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    if (values) values[blockIdx.x * n + i] = row[at[i]];
    places[blockIdx.x * n + i] = at[i];
  }
}

// The first k of a row in order: its k-th key digit by digit, then everything before it and as many
// of its equals, from the left, as are wanted; `room` >= k, a power of two. One block a row.
extern "C" __global__ void __launch_bounds__(256, 1)
top_rows(const T* x, T* values, i64* places, i64 n, int k, int room, int descending) {
  extern __shared__ u64 memory[];
  __shared__ int found[256], warps[8], taken, rest;
  __shared__ Key prefix;
  Key* keys = (Key*)memory;
  int* at = (int*)(keys + room);
  const T* row = x + blockIdx.x * n;
  int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  if (threadIdx.x == 0) {
    prefix = 0;
    rest = k;
    taken = 0;
  }
  for (int shift = sizeof(Key) * 8 - 8; shift >= 0; shift -= 8) {
    found[threadIdx.x] = 0;
    __syncthreads();
    Key above = shift == sizeof(Key) * 8 - 8 ? (Key)0 : (Key)(~(Key)0 << (shift + 8));
    for (i64 i = threadIdx.x; i < n; i += blockDim.x) {
      Key key = key_of(row[i], descending);
      if ((key & above) == prefix) atomicAdd(&found[key >> shift & 255], 1);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
      int digit = 0;
      while (found[digit] < rest) rest -= found[digit++];
      prefix |= (Key)digit << shift;
    }
    __syncthreads();
  }
  Key last = prefix;
  int equals = rest, seen = 0;
  for (int i = threadIdx.x; i < room; i += blockDim.x) {
    keys[i] = (Key)~(Key)0;
    at[i] = 0x7fffffff - i;
  }
  __syncthreads();
  for (i64 start = 0; start < n; start += blockDim.x) {
    i64 i = start + threadIdx.x;
    Key key = i < n ? key_of(row[i], descending) : (Key)0;
    bool before = i < n && key < last, equal = i < n && key == last;
    unsigned mask = __ballot_sync(EVERY_LANE, equal);
    if (lane == 0) warps[warp] = __popc(mask);
    __syncthreads();
    int rank = seen + __popc(mask & ((1u << lane) - 1)), all = 0;
    for (int w = 0; w < 8; w++) {
      if (w < warp) rank += warps[w];
      all += warps[w];
    }
    if (before || (equal && rank < equals)) {
      int to = atomicAdd(&taken, 1);  // any order: they are sorted next
      keys[to] = key;
      at[to] = (int)i;
    }
    seen += all;
    __syncthreads();
  }
  sort_pairs(keys, at, room);
  for (int i = threadIdx.x; i < k; i += blockDim.x) {
    values[blockIdx.x * (i64)k + i] = row[at[i]];
    places[blockIdx.x * (i64)k + i] = at[i];
  }
}

extern "C" __global__ void __launch_bounds__(256, 1)
make_keys(const T* x, Key* keys, int* places, i64 total, i64 n, int descending) {
  for (i64 i = global_thread(); i < total; i += global_threads()) {
    keys[i] = key_of(x[i], descending);
    places[i] = (int)(i % n);
  }
}

constexpr int ROUNDS = 8;  // of 256 elements: a tile

// Block (tile, row). counts: (rows, 256, tiles).
extern "C" __global__ void __launch_bounds__(256, 1)
radix_count(const Key* keys, int* counts, i64 n, int shift) {
  __shared__ int found[256];
  found[threadIdx.x] = 0;
  __syncthreads();
  keys += blockIdx.y * n;
  for (int round = 0; round < ROUNDS; round++) {
    i64 i = (blockIdx.x * (i64)ROUNDS + round) * 256 + threadIdx.x;
    if (i < n) atomicAdd(&found[keys[i] >> shift & 255], 1);
  }
  __syncthreads();
  counts[(blockIdx.y * 256ll + threadIdx.x) * gridDim.x + blockIdx.x] = found[threadIdx.x];
}

// One block a row: exclusive sums of its counts, in place.
extern "C" __global__ void __launch_bounds__(1024, 1)
radix_offsets(int* counts, i64 length) {
  __shared__ int sums[32];
  counts += blockIdx.x * length;
  int carry = 0, lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  for (i64 start = 0; start < length; start += blockDim.x) {
    i64 i = start + threadIdx.x;
    int own = i < length ? counts[i] : 0, sum = own;
#pragma unroll
    for (int by = 1; by < 32; by *= 2) {
      int other = __shfl_up_sync(EVERY_LANE, sum, by);
      if (lane >= by) sum += other;
    }
    if (lane == 31) sums[warp] = sum;
    __syncthreads();
    int before = carry, all = 0;
    for (int w = 0; w < 32; w++) {
      if (w < warp) before += sums[w];
      all += sums[w];
    }
    if (i < length) counts[i] = before + sum - own;
    carry += all;
    __syncthreads();
  }
}

// Elements go to where their digit begins, in the order they have. Block (tile, row).
extern "C" __global__ void __launch_bounds__(256, 1)
radix_scatter(const Key* keys, const int* places, Key* keys_out, int* places_out,
              const int* offsets, i64 n, int shift) {
  __shared__ int next[256], of_warp[8][256];
  int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  i64 at = blockIdx.y * n;
  next[threadIdx.x] = offsets[(blockIdx.y * 256ll + threadIdx.x) * gridDim.x + blockIdx.x];
  for (int w = 0; w < 8; w++) of_warp[w][threadIdx.x] = 0;
  __syncthreads();
  for (int round = 0; round < ROUNDS; round++) {
    i64 i = (blockIdx.x * (i64)ROUNDS + round) * 256 + threadIdx.x;
    bool inside = i < n;
    Key key = inside ? keys[at + i] : (Key)0;
    int digit = inside ? (int)(key >> shift & 255) : 256;
    unsigned same = __match_any_sync(EVERY_LANE, digit);
    int rank = __popc(same & ((1u << lane) - 1));
    if (inside && rank == 0) of_warp[warp][digit] = __popc(same);
    __syncthreads();
    if (inside) {
      int to = next[digit] + rank;
      for (int w = 0; w < warp; w++) to += of_warp[w][digit];
      keys_out[at + to] = key;
      places_out[at + to] = places[at + i];
    }
    __syncthreads();
    int total = 0;
    for (int w = 0; w < 8; w++) {
      total += of_warp[w][threadIdx.x];
      of_warp[w][threadIdx.x] = 0;
    }
    next[threadIdx.x] += total;
    __syncthreads();
  }
}

extern "C" __global__ void __launch_bounds__(256, 1)
finish_sort(const T* x, const int* places, T* values, i64* places_out, i64 total, i64 n) {
  for (i64 i = global_thread(); i < total; i += global_threads()) {
    int place = places[i];
    if (values) values[i] = x[i / n * n + place];
    places_out[i] = place;
  }
}

// 1 where a sorted row's element differs from the one before; NaNs are all different.
extern "C" __global__ void __launch_bounds__(256, 1)
mark_changes(const T* sorted, i64* marks, i64 n) {
  for (i64 i = global_thread(); i < n; i += global_threads()) {
    T_wide now = (T_wide)sorted[i], last = i ? (T_wide)sorted[i - 1] : now;
    marks[i] = i == 0 || !(now == last);
  }
}

// numbers: running sums of the marks. Values and first places of groups, and each element's group.
extern "C" __global__ void __launch_bounds__(256, 1)
collect_groups(const T* sorted, const i64* places, const i64* numbers, T* values, i64* starts,
               i64* inverse, i64 n) {
  for (i64 i = global_thread(); i < n; i += global_threads()) {
    i64 group = numbers[i] - 1;
    if (i == 0 || numbers[i - 1] != numbers[i]) {
      values[group] = sorted[i];
      starts[group] = i;
    }
    inverse[places ? places[i] : i] = group;
  }
}

extern "C" __global__ void __launch_bounds__(256, 1)
group_sizes(const i64* starts, i64* counts, i64 groups, i64 n) {
  for (i64 i = global_thread(); i < groups; i += global_threads())
    counts[i] = (i + 1 < groups ? starts[i + 1] : n) - starts[i];
}

// Where each value would be inserted into its sorted row, to the left or right of equal ones.
extern "C" __global__ void __launch_bounds__(256, 1)
search_rows(const T* sorted, const T* values, i64* places, i64 total, i64 columns, i64 n,
            int one_row, int right) {
  for (i64 i = global_thread(); i < total; i += global_threads()) {
    const T* row = sorted + (one_row ? 0 : i / columns * n);
    Key key = key_of(values[i], 0);
    i64 low = 0, high = n;
    while (low < high) {
      i64 middle = low + (high - low) / 2;
      Key other = key_of(row[middle], 0);
      if (right ? other <= key : other < key) low = middle + 1;
      else high = middle;
    }
    places[i] = low;
  }
}
