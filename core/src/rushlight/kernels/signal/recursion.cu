// Recursions along signals (N, C, T) with coefficients of each channel, in float64 whatever the
// arrays hold, as on the CPU: errors of a recursion accumulate. Loops over coefficients are short
// and not unrolled, so that registers suffice on every architecture.
// instances: T=float32,float64,float16,bfloat16
#include "common.cuh"

typedef double D;

struct Least {
  __device__ __forceinline__ i64 operator()(i64 a, i64 b) const { return a < b ? a : b; }
};

// The part without feedback at sample n.
__device__ __forceinline__ D fed_forward(const T* x, const T* b, i64 taps, i64 n) {
  D sum = 0;
#pragma unroll 1
  for (i64 k = 0; k < taps && k <= n; k++) sum += (D)(T_wide)b[k] * (D)(T_wide)x[n - k];
  return sum;
}

// Samples [first, last) after a state: state[j] is the output j + 1 samples before `first`; null
// for rest.
__device__ void run_piece(const T* x, const T* a, const T* b, D* y, const D* state, i64 first,
                          i64 last, i64 order, i64 taps) {
  for (i64 n = first; n < last; n++) {
    D sum = fed_forward(x, b, taps, n);
#pragma unroll 1
    for (i64 k = 1; k <= order; k++) {
      D before = n - k >= first ? y[n - k] : state ? state[first - n + k - 1] : (D)0;
      if (before != 0) sum -= (D)(T_wide)a[k] * before;
    }
    y[n] = sum;
  }
}

// What a piece of `length` samples without input makes of the state that is 1 at `unit`; `ring`
// holds `order` numbers, of which the last is the newest.
__device__ void run_free(const T* a, D* ring, D* found, i64 length, i64 order, i64 unit) {
  for (i64 j = 0; j < order; j++) ring[j] = j == order - 1 - unit;
  for (i64 n = order; n < order + length; n++) {
    D sum = 0;
#pragma unroll 1
    for (i64 k = 1; k <= order; k++) {
      D before = ring[(n - k) % order];
      if (before != 0) sum -= (D)(T_wide)a[k] * before;
    }
    ring[n % order] = sum;
  }
  for (i64 j = 0; j < order; j++) found[j] = ring[(order + length - 1 - j) % order];
}

// A block filters one signal, a thread a piece of it: first from rest; then states go from piece to
// piece by what a piece makes of a state, a matrix (order, order); then from those states.
// `room`: T samples, (threads + 1, order) states, (order, order) matrix, (order, order) rings.
extern "C" __global__ void __launch_bounds__(128)
filter_signals(const T* x, const T* a, const T* b, T* out, D* room, i64 channels, i64 length,
               i64 order, i64 taps, i64 piece) {
  i64 item = blockIdx.x, channel = item % channels, threads = blockDim.x;
  D* y = room + item * (length + (threads + 1) * order + 2 * order * order);
  D *states = y + length, *matrix = states + (threads + 1) * order, *rings = matrix + order * order;
  x += item * length;
  out += item * length;
  a += channel * (order + 1);
  b += channel * taps;
  i64 first = threadIdx.x * piece, last = first + piece < length ? first + piece : length;
  run_piece(x, a, b, y, (const D*)0, first, last, order, taps);
  // Row t + 1: where piece t ends when it begins at rest.
  for (i64 j = 0; j < order; j++)
    states[(threadIdx.x + 1) * order + j] = last - 1 - j >= first ? y[last - 1 - j] : (D)0;
  if (threadIdx.x == 0)
    for (i64 j = 0; j < order; j++) states[j] = 0;
  for (i64 p = threadIdx.x; p < order; p += threads)
    run_free(a, rings + p * order, matrix + p * order, piece, order, p);
  __syncthreads();
  for (i64 t = 0; t + 1 < threads; t++) {
    for (i64 j = threadIdx.x; j < order; j += threads)
      for (i64 p = 0; p < order; p++) {
        D before = states[t * order + p];  // a filter that grows may have passed all numbers
        if (before != 0) states[(t + 1) * order + j] += matrix[p * order + j] * before;
      }
    __syncthreads();
  }
  run_piece(x, a, b, y, states + threadIdx.x * order, first, last, order, taps);
  for (i64 n = first; n < last; n++) out[n] = (T)(T_wide)y[n];
}

// A block runs one signal, as many samples together as the least delay lets it.
extern "C" __global__ void __launch_bounds__(128)
feed_back(const T* x, const T* gains, const i64* delays, T* out, D* room, i64 channels, i64 length,
          i64 terms) {
  __shared__ i64 scratch[32];
  i64 item = blockIdx.x, channel = item % channels;
  x += item * length;
  out += item * length;
  gains += channel * length * terms;
  delays += channel * length * terms;
  D* y = room + item * length;
  i64 least = length;
  for (i64 i = threadIdx.x; i < length * terms; i += blockDim.x) {
    check_index(delays[i] - 1, (i64)1 << 62);
    least = delays[i] < least ? delays[i] : least;
  }
  least = combine_row(least, Least(), scratch);
  for (i64 first = 0; first < length; first += least) {
    i64 last = first + least < length ? first + least : length;
    for (i64 n = first + threadIdx.x; n < last; n += blockDim.x) {
      D sum = (D)(T_wide)x[n];
      for (i64 k = n * terms; k < (n + 1) * terms; k++)
        if (delays[k] <= n) sum += (D)(T_wide)gains[k] * y[n - delays[k]];
      y[n] = sum;
      out[n] = (T)(T_wide)sum;
    }
    __syncthreads();
  }
}

// The transposed recursion, from the end; a thread runs one signal, as sums must keep their order.
extern "C" __global__ void __launch_bounds__(128)
feed_backwards(const T* x, const T* gains, const i64* delays, T* out, D* room, i64 items,
               i64 channels, i64 length, i64 terms) {
  i64 item = global_thread();
  if (item >= items) return;
  x += item * length;
  out += item * length;
  gains += item % channels * length * terms;
  delays += item % channels * length * terms;
  D* y = room + item * length;
  for (i64 n = 0; n < length; n++) y[n] = (D)(T_wide)x[n];
  for (i64 n = length - 1; n >= 0; n--) {
    for (i64 k = n * terms; k < (n + 1) * terms; k++) {
      check_index(delays[k] - 1, (i64)1 << 62);
      if (delays[k] <= n) y[n - delays[k]] += (D)(T_wide)gains[k] * y[n];
    }
    out[n] = (T)(T_wide)y[n];
  }
}
