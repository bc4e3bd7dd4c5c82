// Cross-entropy of class indices over (N, C, S), fused with log-softmax.
// loss = (1 - s) w[t] (L - x[t]) + s / C * sum over c of w[c] (L - x[c]); L: log of sum of exp.
// instances: T=float32,float64,float16,bfloat16
#include "common.cuh"

typedef T_wide A;

struct Online {
  A best, sum;
};

__device__ __forceinline__ void include(Online& s, A x) {
  if (x > s.best || x != x) {
    s.sum = s.best == -infinity<A>() ? (A)1 : s.sum * exponential(s.best - x) + 1;
    s.best = x;
  } else if (x != -infinity<A>()) {
    s.sum += exponential(x - s.best);
  }
}

extern "C" __global__ void __launch_bounds__(1024, 1)
cross_entropy_rows(const T* x, const i64* target, const A* weight, T* loss, A* sums, i64 rows,
                   i64 n, i64 ignored, double smoothing) {
  __shared__ A scratch[32];
  i64 row = blockIdx.x * (i64)blockDim.y + threadIdx.y;
  if (row >= rows) return;
  x += row * n;
  Online s = {-infinity<A>(), 0};
  each(x, n, [&](i64, T v) { include(s, (A)v); });
  A best = combine_row(s.best, Larger(), scratch);
  A part = s.best == -infinity<A>() ? (A)0 : s.sum * exponential(s.best - best);
  A logsum = best + logarithm(combine_row(part, Add(), scratch)), spread = 0;
  i64 t = target[row];
  if (smoothing > 0) {
    each(x, n, [&](i64 i, T v) { spread += (weight ? weight[i] : (A)1) * (logsum - (A)v); });
    spread = combine_row(spread, Add(), scratch);
  }
  if (threadIdx.x) return;
  sums[row] = logsum;
  if (t == ignored) {
    loss[row] = (T)(A)0;
    return;
  }
  check_index(t, n);
  A value = (logsum - (A)x[t]) * (weight ? weight[t] : (A)1);
  if (smoothing > 0) value = (A)(1 - smoothing) * value + (A)(smoothing / n) * spread;
  loss[row] = (T)value;
}

extern "C" __global__ void __launch_bounds__(1024, 1)
cross_entropy_rows_backward(const T* grad, const T* x, const i64* target, const A* weight,
                            const A* sums, T* dx, i64 rows, i64 n, i64 ignored,
                            double smoothing) {
  __shared__ A scratch[32];
  i64 row = blockIdx.x * (i64)blockDim.y + threadIdx.y;
  if (row >= rows) return;
  i64 t = target[row];
  A g = t == ignored ? (A)0 : (A)grad[row], logsum = sums[row], spread = (A)n;
  x += row * n;
  dx += row * n;
  if (smoothing > 0 && weight) {
    A part = 0;
    for (i64 i = threadIdx.x; i < n; i += blockDim.x) part += weight[i];
    spread = combine_row(part, Add(), scratch);
  }
  A own = t == ignored ? (A)0 : (A)(1 - smoothing) * (weight ? weight[t] : (A)1);
  A even = (A)(smoothing / n), all = own + even * spread;
  if (g == 0) {
    map_row(x, dx, n, [=](i64, T) { return (T)(A)0; });
    return;
  }
  map_row(x, dx, n, [=](i64 i, T v) {
    A down = (i == t ? own : (A)0) + even * (weight ? weight[i] : (A)1);
    return (T)(g * (all * exponential((A)v - logsum) - down));
  });
}

// A thread owns one place of (N, C, S) with S > 1.
extern "C" __global__ void __launch_bounds__(256, 1)
cross_entropy_columns(const T* x, const i64* target, const A* weight, T* loss, A* sums,
                      i64 outer, i64 n, i64 inner, i64 ignored, double smoothing) {
  for (i64 c = global_thread(); c < outer * inner; c += global_threads()) {
    const T* row = x + c / inner * n * inner + c % inner;
    Online s = {-infinity<A>(), 0};
    for (i64 i = 0; i < n; i++) include(s, (A)row[i * inner]);
    A logsum = s.best + logarithm(s.sum), spread = 0;
    sums[c] = logsum;
    i64 t = target[c];
    if (t == ignored) {
      loss[c] = (T)(A)0;
      continue;
    }
    check_index(t, n);
    A value = (logsum - (A)row[t * inner]) * (weight ? weight[t] : (A)1);
    if (smoothing > 0) {
      for (i64 i = 0; i < n; i++)
        spread += (weight ? weight[i] : (A)1) * (logsum - (A)row[i * inner]);
      value = (A)(1 - smoothing) * value + (A)(smoothing / n) * spread;
    }
    loss[c] = (T)value;
  }
}

extern "C" __global__ void __launch_bounds__(256, 1)
cross_entropy_columns_backward(const T* grad, const T* x, const i64* target, const A* weight,
                               const A* sums, T* dx, i64 outer, i64 n, i64 inner, i64 ignored,
                               double smoothing) {
  for (i64 c = global_thread(); c < outer * inner; c += global_threads()) {
    i64 start = c / inner * n * inner + c % inner, t = target[c];
    A g = t == ignored ? (A)0 : (A)grad[c], logsum = sums[c], spread = (A)n;
    if (smoothing > 0 && weight) {
      spread = 0;
      for (i64 i = 0; i < n; i++) spread += weight[i];
    }
    A own = t == ignored ? (A)0 : (A)(1 - smoothing) * (weight ? weight[t] : (A)1);
    A even = (A)(smoothing / n), all = own + even * spread;
    for (i64 i = 0; i < n; i++) {
      A down = (i == t ? own : (A)0) + even * (weight ? weight[i] : (A)1);
      A value = g * (all * exponential((A)x[start + i * inner] - logsum) - down);
      dx[start + i * inner] = g == 0 ? (T)(A)0 : (T)value;
    }
  }
}

// What a mean divides by: the number, or the weights, of the targets that count. One block.
extern "C" __global__ void __launch_bounds__(1024, 1)
count_targets(const i64* target, const A* weight, double* kept, i64 count, i64 n, i64 ignored) {
  __shared__ double scratch[32];
  double sum = 0;
  for (i64 i = threadIdx.x; i < count; i += blockDim.x) {
    i64 t = target[i];
    if (t == ignored) continue;
    check_index(t, n);
    sum += weight ? (double)weight[t] : 1.0;
  }
  sum = combine_row(sum, Add(), scratch);
  if (threadIdx.x == 0) *kept = sum;
}
