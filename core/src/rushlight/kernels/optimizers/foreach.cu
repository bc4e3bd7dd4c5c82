// Optimizer steps, norms and scaling over lists of arrays: one launch for all of them.
// The last word of a row is the address of its step (or 0).
// instances: T=float32,float64,float16,bfloat16
#include "common.cuh"
#include "lists.cuh"

// Scalars of one step. Pointers are null where a number serves; found_inf skips the step.
struct Settings {
  double lr, momentum, kept, decay, beta1, beta2, eps, step;
  const float *lr_at, *found_inf, *grad_scale;
  i64 nesterov, first, maximize, decoupled, largest, momentum_used;
  __device__ __forceinline__ bool skips() const { return found_inf && *found_inf != 0; }
  __device__ __forceinline__ double rate() const { return lr_at ? (double)*lr_at : lr; }
  __device__ __forceinline__ A sign() const {
    A scale = grad_scale ? (A)1 / (A)*grad_scale : (A)1;
    return maximize ? -scale : scale;
  }
};

extern "C" __global__ void __launch_bounds__(256, 1)
sgd_step(const i64* table, i64 rows, Settings s) {
  if (s.skips()) return;
  Part part = part_of(table, rows, s.momentum_used ? 6 : 5);
  T *p = part.list(0), *d = part.list(1), *m = s.momentum_used ? part.list(2) : nullptr;
  A sign = s.sign(), rate = (A)s.rate(), decay = (A)s.decay, momentum = (A)s.momentum;
  A kept = (A)s.kept;
  for (i64 i = threadIdx.x; i < part.count; i += blockDim.x) {
    A value = (A)p[i], grad = sign * (A)d[i] + decay * value;
    if (m) {
      A buffer = s.first ? grad : momentum * (A)m[i] + kept * grad;
      m[i] = (T)buffer;
      grad = s.nesterov ? grad + momentum * buffer : buffer;
    }
    p[i] = (T)(value - rate * grad);
  }
}

extern "C" __global__ void __launch_bounds__(256, 1)
adam_step(const i64* table, i64 rows, Settings s) {
  if (s.skips()) return;
  int width = s.largest ? 8 : 7;
  Part part = part_of(table, rows, width);
  T *p = part.list(0), *d = part.list(1), *m = part.list(2), *v = part.list(3);
  T* w = s.largest ? part.list(4) : nullptr;
  const float* at = (const float*)part.row[width - 1];
  double step = at ? (double)*at : s.step;
  double rate = s.rate(), first = 1.0 - pow(s.beta1, step), second = 1.0 - pow(s.beta2, step);
  A sign = s.sign(), length = (A)(rate / first), inverse = (A)(1.0 / sqrt(second));
  A decay = s.decoupled ? (A)0 : (A)s.decay, shrink = s.decoupled ? (A)(1 - rate * s.decay) : (A)1;
  A beta2 = (A)s.beta2, less1 = (A)(1 - s.beta1), less2 = (A)(1 - s.beta2), eps = (A)s.eps;
  for (i64 i = threadIdx.x; i < part.count; i += blockDim.x) {
    A value = (A)p[i], grad = sign * (A)d[i] + decay * value;
    A mean = (A)m[i] + (grad - (A)m[i]) * less1;
    A square = beta2 * (A)v[i] + less2 * grad * grad;
    m[i] = (T)mean;
    v[i] = (T)square;
    if (w) {
      square = larger((A)w[i], square);
      w[i] = (T)square;
    }
    p[i] = (T)(value * shrink - length * (mean / (root(square) * inverse + eps)));
  }
}

// kind: 0 the largest magnitude, 1 sum of magnitudes, 2 sum of squares, 3 sum of powers.
extern "C" __global__ void __launch_bounds__(256, 1)
norm_parts(const i64* table, i64 rows, double* partial, int kind, double power) {
  __shared__ double scratch[32];
  Part part = part_of(table, rows, 4);
  const T* x = part.list(0);
  double total = 0;
  if (kind == 2) {
    A sum = 0;  // eight squares of one thread
    for (i64 i = threadIdx.x; i < part.count; i += blockDim.x) sum += (A)x[i] * (A)x[i];
    total = (double)sum;
    if (total == (double)infinity<A>()) {
      total = 0;
      for (i64 i = threadIdx.x; i < part.count; i += blockDim.x) {
        double v = (double)(A)x[i];
        total += v * v;
      }
    }
  } else {
    for (i64 i = threadIdx.x; i < part.count; i += blockDim.x) {
      double v = fabs((double)(A)x[i]);
      if (kind == 0) total = larger(total, v);
      else total += kind == 1 ? v : pow(v, power);
    }
  }
  total = kind == 0 ? combine_row(total, Larger(), scratch) : combine_row(total, Add(), scratch);
  if (threadIdx.x == 0) partial[blockIdx.x] = total;
}

extern "C" __global__ void __launch_bounds__(1024, 1)
norm_finish(const double* partial, i64 count, T* out, int kind, double power) {
  __shared__ double scratch[32];
  double total = 0;
  for (i64 i = threadIdx.x; i < count; i += blockDim.x)
    total = kind == 0 ? larger(total, partial[i]) : total + partial[i];
  total = kind == 0 ? combine_row(total, Larger(), scratch) : combine_row(total, Add(), scratch);
  if (threadIdx.x) return;
  if (kind == 2) total = sqrt(total);
  if (kind == 3) total = pow(total, 1.0 / power);
  *out = (T)(A)total;
}

// Multiply in place by a number, by a number on the device, or so that a norm is at most `limit`.
extern "C" __global__ void __launch_bounds__(256, 1)
scale_parts(const i64* table, i64 rows, double factor, const float* factor_at,
            const float* norm_at, double limit) {
  Part part = part_of(table, rows, 4);
  T* x = part.list(0);
  A scale = (A)factor;
  if (factor_at) scale = (A)*factor_at;
  if (norm_at) {
    double wanted = limit / ((double)*norm_at + 1e-6);
    scale = (A)(wanted < 1 ? wanted : wanted != wanted ? wanted : 1.0);
  }
  for (i64 i = threadIdx.x; i < part.count; i += blockDim.x) x[i] = (T)((A)x[i] * scale);
}

// Multiply in place; found_inf becomes 1 where something was not finite before.
extern "C" __global__ void __launch_bounds__(256, 1)
unscale_parts(const i64* table, i64 rows, const float* inverse_scale, float* found_inf) {
  Part part = part_of(table, rows, 4);
  T* x = part.list(0);
  A scale = (A)*inverse_scale;
  bool bad = false;
  for (i64 i = threadIdx.x; i < part.count; i += blockDim.x) {
    A value = (A)x[i];
    if (!(value - value == 0)) bad = true;
    x[i] = (T)(scale == 1 ? value : value * scale);
  }
  if (bad) *found_inf = 1.0f;
}

// The scale of gradients after a step: halved when something was not finite, doubled after
// `interval` good steps.
extern "C" __global__ void __launch_bounds__(32, 1)
update_scale(float* scale, int* tracker, const float* found_inf, double growth, double backoff,
             int interval) {
  if (threadIdx.x) return;
  if (*found_inf != 0) {
    *scale = (float)(*scale * backoff);
    *tracker = 0;
    return;
  }
  int good = *tracker + 1;
  if (good == interval) {
    float grown = (float)(*scale * growth);
    if (grown - grown == 0) *scale = grown;
    good = 0;
  }
  *tracker = good;
}
