// Layer, RMS, group and batch normalisation. T: elements, W: weights and biases.
// instances: T=float32,float64,float16,bfloat16 W=T
// instances: T=float16,bfloat16 W=float32
#include "common.cuh"

typedef T_wide A;

// ---- rows: layer, RMS and group normalisation ---------------------------------------------------

// Which weight belongs to element i of a row. Rows of groups hold `channels` runs of `inner`
// elements, `groups` rows a sample; inner == 0 stands for layer normalisation.
struct Affine {
  const W* weight;
  const W* bias;
  i64 groups, channels, inner;
  __device__ __forceinline__ i64 place(i64 row, i64 i) const {
    return inner ? row % groups * channels + i / inner : i;
  }
  __device__ __forceinline__ A scale(i64 row, i64 i) const {
    return weight ? (A)weight[place(row, i)] : (A)1;
  }
  __device__ __forceinline__ A shift(i64 row, i64 i) const {
    return bias ? (A)bias[place(row, i)] : (A)0;
  }
};

extern "C" __global__ void __launch_bounds__(1024, 1)
normalize_rows(const T* x, T* y, const W* weight, const W* bias, A* means, A* rstds, i64 rows,
               i64 n, double eps, i64 groups, i64 channels, i64 inner, int centred) {
  __shared__ A scratch[32];
  i64 row = blockIdx.x * (i64)blockDim.y + threadIdx.y;
  if (row >= rows) return;
  x += row * n;
  y += row * n;
  A mean = 0, sum = 0, squares = 0;
  if (centred) {
    each(x, n, [&](i64, T v) { sum += (A)v; });
    mean = combine_row(sum, Add(), scratch) / (A)n;
  }
  each(x, n, [&](i64, T v) { squares += ((A)v - mean) * ((A)v - mean); });
  A rstd = (A)1 / root(combine_row(squares, Add(), scratch) / (A)n + (A)eps);
  if (threadIdx.x == 0) {
    if (means) means[row] = mean;
    rstds[row] = rstd;
  }
  Affine affine = {weight, bias, groups, channels, inner};
  map_row(x, y, n, [=](i64 i, T v) {
    return (T)(((A)v - mean) * rstd * affine.scale(row, i) + affine.shift(row, i));
  });
}

extern "C" __global__ void __launch_bounds__(1024, 1)
normalize_rows_backward(const T* grad, const T* x, T* dx, const W* weight, const A* means,
                        const A* rstds, i64 rows, i64 n, i64 groups, i64 channels, i64 inner) {
  __shared__ A scratch[32];
  i64 row = blockIdx.x * (i64)blockDim.y + threadIdx.y;
  if (row >= rows) return;
  grad += row * n;
  x += row * n;
  dx += row * n;
  Affine affine = {weight, nullptr, groups, channels, inner};
  A mean = means ? means[row] : (A)0, rstd = rstds[row], first = 0, second = 0;
  each(grad, x, n, [&](i64 i, T g, T v) {
    A scaled = (A)g * affine.scale(row, i);
    first += scaled;
    second += scaled * ((A)v - mean);
  });
  first = means ? combine_row(first, Add(), scratch) / (A)n : (A)0;
  second = combine_row(second, Add(), scratch) / (A)n * rstd * rstd;
  map_row(grad, x, dx, n, [=](i64 i, T g, T v) {
    return (T)(((A)g * affine.scale(row, i) - first - ((A)v - mean) * second) * rstd);
  });
}

// Partial sums over a part of the rows for 32 columns a block; then one thread adds the parts of
// a column in order. partial: (parts, 2, n).
extern "C" __global__ void __launch_bounds__(256, 1)
row_weight_partials(const T* grad, const T* x, const A* means, const A* rstds, A* partial,
                    i64 rows, i64 n, i64 rows_of_part) {
  __shared__ A sums[2][8][33];
  i64 column = blockIdx.x * 32ll + threadIdx.x, start = blockIdx.y * rows_of_part;
  i64 end = start + rows_of_part < rows ? start + rows_of_part : rows;
  A weight = 0, bias = 0;
  if (column < n)
    for (i64 row = start + threadIdx.y; row < end; row += 8) {
      A g = (A)grad[row * n + column], mean = means ? means[row] : (A)0;
      weight += g * ((A)x[row * n + column] - mean) * rstds[row];
      bias += g;
    }
  sums[0][threadIdx.y][threadIdx.x] = weight;
  sums[1][threadIdx.y][threadIdx.x] = bias;
  __syncthreads();
  if (threadIdx.y < 2 && column < n) {
    A total = 0;
    for (int i = 0; i < 8; i++) total += sums[threadIdx.y][i][threadIdx.x];
    partial[(blockIdx.y * 2ll + threadIdx.y) * n + column] = total;
  }
}

extern "C" __global__ void __launch_bounds__(256, 1)
add_partials(const A* partial, A* weight, A* bias, i64 n, i64 parts) {
  for (i64 i = global_thread(); i < 2 * n; i += global_threads()) {
    A total = 0;
    for (i64 part = 0; part < parts; part++) total += partial[part * 2 * n + i];
    if (i < n) weight[i] = total;
    else bias[i - n] = total;
  }
}

// Gradients of a group normalisation's weight and bias: one block a channel.
extern "C" __global__ void __launch_bounds__(256, 1)
group_weight_sums(const T* grad, const T* x, const A* means, const A* rstds, A* weight, A* bias,
                  i64 samples, i64 groups, i64 channels, i64 inner) {
  __shared__ A scratch[32];
  i64 channel = blockIdx.x, total = groups * channels, group = channel / channels;
  A first = 0, second = 0;
  for (i64 sample = 0; sample < samples; sample++) {
    i64 at = (sample * total + channel) * inner, row = sample * groups + group;
    A mean = means[row], part = 0;
    each(grad + at, x + at, inner, [&](i64, T g, T v) {
      part += (A)g * ((A)v - mean);
      second += (A)g;
    });
    first += part * rstds[row];
  }
  first = combine_row(first, Add(), scratch);
  second = combine_row(second, Add(), scratch);
  if (threadIdx.x == 0) {
    weight[channel] = first;
    bias[channel] = second;
  }
}

// ---- channels: batch normalisation of (N, C, S) -------------------------------------------------

struct Moments {
  A count, mean, squares;
};

__device__ __forceinline__ Moments merged(Moments a, Moments b) {
  A count = a.count + b.count;
  if (count == 0) return a;
  A delta = b.mean - a.mean, share = b.count / count;
  return {count, a.mean + delta * share, a.squares + b.squares + delta * delta * a.count * share};
}

__device__ __forceinline__ void include(Moments& m, A value) {
  m.count += 1;
  A delta = value - m.mean;
  m.mean += delta / m.count;
  m.squares += delta * (value - m.mean);
}

// The sum of two numbers: so that both kinds of statistics share what follows.
struct Sums {
  A first, second;
};
__device__ __forceinline__ Sums merged(Sums a, Sums b) {
  return {a.first + b.first, a.second + b.second};
}

__device__ __forceinline__ Moments shifted(Moments m, int bits) {
  return {__shfl_xor_sync(EVERY_LANE, m.count, bits), __shfl_xor_sync(EVERY_LANE, m.mean, bits),
          __shfl_xor_sync(EVERY_LANE, m.squares, bits)};
}
__device__ __forceinline__ Sums shifted(Sums m, int bits) {
  return {__shfl_xor_sync(EVERY_LANE, m.first, bits), __shfl_xor_sync(EVERY_LANE, m.second, bits)};
}

// One value of a block of 32 x 8 threads, in thread (0, 0).
template <class M>
__device__ __forceinline__ M combined(M value, M* scratch) {
#pragma unroll
  for (int bits = 16; bits; bits >>= 1) value = merged(value, shifted(value, bits));
  if (threadIdx.x == 0) scratch[threadIdx.y] = value;
  __syncthreads();
  value = scratch[0];
  for (int i = 1; i < 8; i++) value = merged(value, scratch[i]);
  return value;
}

// Block: one channel, some samples. partial: (parts, C).
extern "C" __global__ void __launch_bounds__(256, 1)
plane_moments(const T* x, Moments* partial, i64 samples, i64 channels, i64 inner, i64 of_part) {
  __shared__ Moments scratch[8];
  i64 channel = blockIdx.x, start = blockIdx.y * of_part;
  i64 end = start + of_part < samples ? start + of_part : samples;
  Moments m = {0, 0, 0};
  for (i64 sample = start + threadIdx.y; sample < end; sample += 8)
    each(x + (sample * channels + channel) * inner, inner, [&](i64, T v) { include(m, (A)v); });
  m = combined(m, scratch);
  if (threadIdx.x == 0 && threadIdx.y == 0) partial[blockIdx.y * channels + channel] = m;
}

// The same for inner == 1: block of 32 channels.
extern "C" __global__ void __launch_bounds__(256, 1)
column_moments(const T* x, Moments* partial, i64 samples, i64 channels, i64 of_part) {
  __shared__ Moments scratch[8][32];
  i64 channel = blockIdx.x * 32ll + threadIdx.x, start = blockIdx.y * of_part;
  i64 end = start + of_part < samples ? start + of_part : samples;
  Moments m = {0, 0, 0};
  if (channel < channels)
    for (i64 sample = start + threadIdx.y; sample < end; sample += 8)
      include(m, (A)x[sample * channels + channel]);
  scratch[threadIdx.y][threadIdx.x] = m;
  __syncthreads();
  if (threadIdx.y || channel >= channels) return;
  for (int i = 1; i < 8; i++) m = merged(m, scratch[i][threadIdx.x]);
  partial[blockIdx.y * channels + channel] = m;
}

extern "C" __global__ void __launch_bounds__(256, 1)
finish_moments(const Moments* partial, A* mean, A* rstd, i64 channels, i64 parts, double eps) {
  for (i64 c = global_thread(); c < channels; c += global_threads()) {
    Moments m = partial[c];
    for (i64 part = 1; part < parts; part++) m = merged(m, partial[part * channels + c]);
    mean[c] = m.mean;
    rstd[c] = (A)(1.0 / sqrt((double)m.squares / (double)m.count + eps));
  }
}

extern "C" __global__ void __launch_bounds__(256, 1)
plane_gradient_sums(const T* grad, const T* x, const A* mean, Sums* partial, i64 samples,
                    i64 channels, i64 inner, i64 of_part) {
  __shared__ Sums scratch[8];
  i64 channel = blockIdx.x, start = blockIdx.y * of_part;
  i64 end = start + of_part < samples ? start + of_part : samples;
  A centre = mean[channel];
  Sums s = {0, 0};
  for (i64 sample = start + threadIdx.y; sample < end; sample += 8) {
    i64 at = (sample * channels + channel) * inner;
    each(grad + at, x + at, inner, [&](i64, T g, T v) {
      s.first += (A)g * ((A)v - centre);
      s.second += (A)g;
    });
  }
  s = combined(s, scratch);
  if (threadIdx.x == 0 && threadIdx.y == 0) partial[blockIdx.y * channels + channel] = s;
}

extern "C" __global__ void __launch_bounds__(256, 1)
column_gradient_sums(const T* grad, const T* x, const A* mean, Sums* partial, i64 samples,
                     i64 channels, i64 of_part) {
  __shared__ Sums scratch[8][32];
  i64 channel = blockIdx.x * 32ll + threadIdx.x, start = blockIdx.y * of_part;
  i64 end = start + of_part < samples ? start + of_part : samples;
  Sums s = {0, 0};
  if (channel < channels)
    for (i64 sample = start + threadIdx.y; sample < end; sample += 8) {
      A g = (A)grad[sample * channels + channel];
      s.first += g * ((A)x[sample * channels + channel] - mean[channel]);
      s.second += g;
    }
  scratch[threadIdx.y][threadIdx.x] = s;
  __syncthreads();
  if (threadIdx.y || channel >= channels) return;
  for (int i = 1; i < 8; i++) s = merged(s, scratch[i][threadIdx.x]);
  partial[blockIdx.y * channels + channel] = s;
}

// weight and bias: gradients of the two, already in terms of the normalised input.
extern "C" __global__ void __launch_bounds__(256, 1)
finish_gradient_sums(const Sums* partial, const A* rstd, A* weight, A* bias, i64 channels,
                     i64 parts) {
  for (i64 c = global_thread(); c < channels; c += global_threads()) {
    Sums s = partial[c];
    for (i64 part = 1; part < parts; part++) s = merged(s, partial[part * channels + c]);
    weight[c] = s.first * rstd[c];
    bias[c] = s.second;
  }
}

// y = (x - mean) * rstd * weight + bias; a warp has a plane, blockIdx.y a stretch of it. `rstd`
// may hold variances: then eps >= 0 is added and the root taken.
extern "C" __global__ void __launch_bounds__(256, 1)
apply_planes(const T* x, T* y, const A* mean, const A* rstd, const W* weight, const W* bias,
             i64 planes, i64 channels, i64 inner, i64 stretch, double eps) {
  i64 plane = blockIdx.x * 8ll + threadIdx.y, start = blockIdx.y * stretch;
  if (plane >= planes) return;
  i64 c = plane % channels, n = inner - start < stretch ? inner - start : stretch;
  A spread = eps < 0 ? rstd[c] : (A)(1.0 / sqrt((double)rstd[c] + eps));
  A scale = spread * (weight ? (A)weight[c] : (A)1);
  A centre = mean[c], shift = bias ? (A)bias[c] : (A)0;
  map_row(x + plane * inner + start, y + plane * inner + start, n,
          [=](i64, T v) { return (T)(((A)v - centre) * scale + shift); });
}

extern "C" __global__ void __launch_bounds__(256, 1)
apply_columns(const T* x, T* y, const A* mean, const A* rstd, const W* weight, const W* bias,
              i64 samples, i64 channels, double eps) {
  i64 c = blockIdx.x * 32ll + threadIdx.x;
  if (c >= channels) return;
  A spread = eps < 0 ? rstd[c] : (A)(1.0 / sqrt((double)rstd[c] + eps));
  A scale = spread * (weight ? (A)weight[c] : (A)1);
  A centre = mean[c], shift = bias ? (A)bias[c] : (A)0;
  for (i64 i = blockIdx.y * 8ll + threadIdx.y; i < samples; i += gridDim.y * 8ll)
    y[i * channels + c] = (T)(((A)x[i * channels + c] - centre) * scale + shift);
}

extern "C" __global__ void __launch_bounds__(256, 1)
planes_backward(const T* grad, const T* x, T* dx, const A* mean, const A* rstd, const W* weight,
                const A* dweight, const A* dbias, i64 planes, i64 channels, i64 inner,
                i64 stretch, i64 count) {
  i64 plane = blockIdx.x * 8ll + threadIdx.y, start = blockIdx.y * stretch;
  if (plane >= planes) return;
  i64 c = plane % channels, n = inner - start < stretch ? inner - start : stretch;
  A scale = rstd[c] * (weight ? (A)weight[c] : (A)1), centre = mean[c];
  A first = dweight[c] * rstd[c] / (A)count, second = dbias[c] / (A)count;
  i64 at = plane * inner + start;
  map_row(grad + at, x + at, dx + at, n, [=](i64, T g, T v) {
    return (T)(((A)g - second - ((A)v - centre) * first) * scale);
  });
}

extern "C" __global__ void __launch_bounds__(256, 1)
columns_backward(const T* grad, const T* x, T* dx, const A* mean, const A* rstd, const W* weight,
                 const A* dweight, const A* dbias, i64 samples, i64 channels) {
  i64 c = blockIdx.x * 32ll + threadIdx.x;
  if (c >= channels) return;
  A scale = rstd[c] * (weight ? (A)weight[c] : (A)1), centre = mean[c];
  A first = dweight[c] * rstd[c] / (A)samples, second = dbias[c] / (A)samples;
  for (i64 i = blockIdx.y * 8ll + threadIdx.y; i < samples; i += gridDim.y * 8ll) {
    i64 at = i * channels + c;
    dx[at] = (T)(((A)grad[at] - second - ((A)x[at] - centre) * first) * scale);
  }
}
