typedef long long i64;
typedef unsigned long long u64;
#define EVERY_LANE 0xffffffffu

// Elements that one thread moves at once: 16 bytes.
template <class E>
struct alignas(16) Pack {
  E v[16 / sizeof(E)];
};

template <class A>
__device__ __forceinline__ A infinity();
template <>
__device__ __forceinline__ float infinity<float>() { return __int_as_float(0x7f800000); }
template <>
__device__ __forceinline__ double infinity<double>() {
  return __longlong_as_double(0x7ff0000000000000ll);
}
// What no value is below.
template <class E>
__device__ __forceinline__ E lowest();
template <>
__device__ __forceinline__ float lowest<float>() { return -infinity<float>(); }
template <>
__device__ __forceinline__ double lowest<double>() { return -infinity<double>(); }
template <>
__device__ __forceinline__ i64 lowest<i64>() { return (i64)1 << 63; }

__device__ __forceinline__ float exponential(float x) { return expf(x); }
__device__ __forceinline__ double exponential(double x) { return exp(x); }
__device__ __forceinline__ float logarithm(float x) { return logf(x); }
__device__ __forceinline__ double logarithm(double x) { return log(x); }
__device__ __forceinline__ float root(float x) { return sqrtf(x); }
__device__ __forceinline__ double root(double x) { return sqrt(x); }
__device__ __forceinline__ float tangent(float x) { return tanhf(x); }
__device__ __forceinline__ double tangent(double x) { return tanh(x); }

// The larger one; NaN wins.
template <class A>
__device__ __forceinline__ A larger(A a, A b) { return a > b || a != a ? a : b; }
template <class A>
__device__ __forceinline__ A smaller(A a, A b) { return a < b || a != a ? a : b; }

__device__ __forceinline__ i64 global_thread() {
  return blockIdx.x * (i64)blockDim.x + threadIdx.x;
}
__device__ __forceinline__ i64 global_threads() { return gridDim.x * (i64)blockDim.x; }

// A value from another lane; structs have overloads of their own.
template <class V>
__device__ __forceinline__ V lane_xor(V value, int bits) {
  return __shfl_xor_sync(EVERY_LANE, value, bits);
}

// Every lane of a warp gets the combination of all. f must be commutative: lanes combine in pairs,
// both in the same order of operands up to exchange, so all get equal bits.
template <class V, class F>
__device__ __forceinline__ V combine_warp(V value, F f) {
#pragma unroll
  for (int bits = 16; bits; bits >>= 1)
    value = f(value, lane_xor(value, bits));
  return value;
}

// Every thread along x gets the combination over all threads along x: a multiple of 32, at most
// 1024. With more than one warp along x the block must be one row; `scratch` holds 32 values.
template <class V, class F>
__device__ __forceinline__ V combine_row(V value, F f, V* scratch) {
  value = combine_warp(value, f);
  if (blockDim.x == 32) return value;
  int warps = blockDim.x >> 5;
  __syncthreads();  // scratch may still be read from the call before
  if ((threadIdx.x & 31) == 0) scratch[threadIdx.x >> 5] = value;
  __syncthreads();
  value = scratch[0];
  for (int i = 1; i < warps; i++) value = f(value, scratch[i]);
  return value;
}

struct Add {
  template <class V>
  __device__ __forceinline__ V operator()(V a, V b) const { return a + b; }
};
struct Larger {
  template <class V>
  __device__ __forceinline__ V operator()(V a, V b) const { return larger(a, b); }
};

template <class E>
__device__ __forceinline__ bool is_aligned(const E* p) { return ((u64)p & 15) == 0; }

// f(i, x[i]) for the elements of a row that fall to this thread.
template <class E, class F>
__device__ __forceinline__ void each(const E* __restrict__ x, i64 n, F f) {
  constexpr int V = 16 / sizeof(E);
  if (n % V == 0 && is_aligned(x)) {
    for (i64 i = threadIdx.x; i < n / V; i += blockDim.x) {
      Pack<E> p = ((const Pack<E>*)x)[i];
#pragma unroll
      for (int j = 0; j < V; j++) f(i * V + j, p.v[j]);
    }
  } else {
    for (i64 i = threadIdx.x; i < n; i += blockDim.x) f(i, x[i]);
  }
}

// f(i, a[i], b[i]) likewise.
template <class E, class F>
__device__ __forceinline__ void each(const E* __restrict__ a, const E* __restrict__ b, i64 n, F f) {
  constexpr int V = 16 / sizeof(E);
  if (n % V == 0 && is_aligned(a) && is_aligned(b)) {
    for (i64 i = threadIdx.x; i < n / V; i += blockDim.x) {
      Pack<E> p = ((const Pack<E>*)a)[i], q = ((const Pack<E>*)b)[i];
#pragma unroll
      for (int j = 0; j < V; j++) f(i * V + j, p.v[j], q.v[j]);
    }
  } else {
    for (i64 i = threadIdx.x; i < n; i += blockDim.x) f(i, a[i], b[i]);
  }
}

// y[i] = f(i, x[i]) likewise; y may be x.
template <class E, class F>
__device__ __forceinline__ void map_row(const E* x, E* y, i64 n, F f) {
  constexpr int V = 16 / sizeof(E);
  if (n % V == 0 && is_aligned(x) && is_aligned(y)) {
    for (i64 i = threadIdx.x; i < n / V; i += blockDim.x) {
      Pack<E> p = ((const Pack<E>*)x)[i];
#pragma unroll
      for (int j = 0; j < V; j++) p.v[j] = f(i * V + j, p.v[j]);
      ((Pack<E>*)y)[i] = p;
    }
  } else {
    for (i64 i = threadIdx.x; i < n; i += blockDim.x) y[i] = f(i, x[i]);
  }
}

// y[i] = f(i, a[i], b[i]) likewise.
template <class E, class F>
__device__ __forceinline__ void map_row(const E* a, const E* b, E* y, i64 n, F f) {
  constexpr int V = 16 / sizeof(E);
  if (n % V == 0 && is_aligned(a) && is_aligned(b) && is_aligned(y)) {
    for (i64 i = threadIdx.x; i < n / V; i += blockDim.x) {
      Pack<E> p = ((const Pack<E>*)a)[i], q = ((const Pack<E>*)b)[i];
#pragma unroll
      for (int j = 0; j < V; j++) p.v[j] = f(i * V + j, p.v[j], q.v[j]);
      ((Pack<E>*)y)[i] = p;
    }
  } else {
    for (i64 i = threadIdx.x; i < n; i += blockDim.x) y[i] = f(i, a[i], b[i]);
  }
}

// An index outside of what it indexes: the launch fails, as on PyTorch's CUDA.
__device__ __forceinline__ void check_index(i64 index, i64 size) {
  if (index < 0 || index >= size) __trap();
}
