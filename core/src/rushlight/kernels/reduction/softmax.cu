// Softmax and log-softmax over a dimension of (outer, n, inner).
// instances: T=float32,float64,float16,bfloat16
#include "common.cuh"

typedef T_wide A;

// The largest value so far and the sum of exponentials relative to it.
struct Online {
  A best, sum;
};

__device__ __forceinline__ Online joined(Online a, Online b) {
  A best = larger(a.best, b.best);
  if (best == -infinity<A>()) return {best, 0};
  return {best, a.sum * exponential(a.best - best) + b.sum * exponential(b.best - best)};
}

__device__ __forceinline__ void include(Online& s, A x) {
  if (x > s.best || x != x) {
    s.sum = s.best == -infinity<A>() ? (A)1 : s.sum * exponential(s.best - x) + 1;
    s.best = x;
  } else if (x != -infinity<A>()) {
    s.sum += exponential(x - s.best);
  }
}

struct Join {
  __device__ __forceinline__ Online operator()(Online a, Online b) const { return joined(a, b); }
};

template <class F>
__device__ __forceinline__ Online combine_online(Online value, F f, Online* scratch) {
#pragma unroll
  for (int bits = 16; bits; bits >>= 1) {
    Online other = {__shfl_xor_sync(EVERY_LANE, value.best, bits),
                    __shfl_xor_sync(EVERY_LANE, value.sum, bits)};
    value = f(value, other);
  }
  if (blockDim.x == 32) return value;
  if ((threadIdx.x & 31) == 0) scratch[threadIdx.x >> 5] = value;
  __syncthreads();
  value = scratch[0];
  for (int i = 1; i < (blockDim.x >> 5); i++) value = f(value, scratch[i]);
  return value;
}

extern "C" __global__ void __launch_bounds__(1024, 1)
softmax_rows(const T* x, T* y, i64 rows, i64 n, int logarithmic) {
  __shared__ Online scratch[32];
  i64 row = blockIdx.x * (i64)blockDim.y + threadIdx.y;
  if (row >= rows) return;
  x += row * n;
  y += row * n;
  Online s = {-infinity<A>(), 0};
  each(x, n, [&](i64, T value) { include(s, (A)value); });
  s = combine_online(s, Join(), scratch);
  A best = s.best;
  if (logarithmic) {
    A shift = logarithm(s.sum);
    map_row(x, y, n, [=](i64, T value) { return (T)(((A)value - best) - shift); });
  } else {
    A scale = (A)1 / s.sum;
    map_row(x, y, n, [=](i64, T value) { return (T)(exponential((A)value - best) * scale); });
  }
}

extern "C" __global__ void __launch_bounds__(1024, 1)
softmax_rows_backward(const T* grad, const T* out, T* dx, i64 rows, i64 n, int logarithmic) {
  __shared__ A scratch[32];
  i64 row = blockIdx.x * (i64)blockDim.y + threadIdx.y;
  if (row >= rows) return;
  grad += row * n;
  out += row * n;
  dx += row * n;
  A sum = 0;
  if (logarithmic) each(grad, n, [&](i64, T g) { sum += (A)g; });
  else each(grad, out, n, [&](i64, T g, T o) { sum += (A)g * (A)o; });
  sum = combine_row(sum, Add(), scratch);
  if (logarithmic)
    map_row(grad, out, dx, n, [=](i64, T g, T o) { return (T)((A)g - exponential((A)o) * sum); });
  else
    map_row(grad, out, dx, n, [=](i64, T g, T o) { return (T)(((A)g - sum) * (A)o); });
}

// A thread owns one column of (outer, n, inner); neighbouring threads read neighbouring elements.
extern "C" __global__ void __launch_bounds__(256, 1)
softmax_columns(const T* x, T* y, i64 outer, i64 n, i64 inner, int logarithmic) {
  for (i64 c = global_thread(); c < outer * inner; c += global_threads()) {
    i64 start = c / inner * n * inner + c % inner;
    Online s = {-infinity<A>(), 0};
    for (i64 i = 0; i < n; i++) include(s, (A)x[start + i * inner]);
    A shift = logarithmic ? logarithm(s.sum) : (A)1 / s.sum;
    for (i64 i = 0; i < n; i++) {
      A value = (A)x[start + i * inner] - s.best;
      y[start + i * inner] = (T)(logarithmic ? value - shift : exponential(value) * shift);
    }
  }
}

extern "C" __global__ void __launch_bounds__(256, 1)
softmax_columns_backward(const T* grad, const T* out, T* dx, i64 outer, i64 n, i64 inner,
                         int logarithmic) {
  for (i64 c = global_thread(); c < outer * inner; c += global_threads()) {
    i64 start = c / inner * n * inner + c % inner;
    A sum = 0;
    for (i64 i = 0; i < n; i++) {
      A g = (A)grad[start + i * inner];
      sum += logarithmic ? g : g * (A)out[start + i * inner];
    }
    for (i64 i = 0; i < n; i++) {
      A g = (A)grad[start + i * inner], o = (A)out[start + i * inner];
      dx[start + i * inner] = (T)(logarithmic ? g - exponential(o) * sum : (g - sum) * o);
    }
  }
}
