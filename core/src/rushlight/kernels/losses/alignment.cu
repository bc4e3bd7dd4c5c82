// Transducers' forward-backward algorithm (Graves, 2012), and the best CTC alignment.
// Scores of a transducer are (N, T, U + 1, C); sums are in float64.
// instances: T=float32,float64,float16,bfloat16
#include "common.cuh"

typedef double D;

__device__ __forceinline__ D add_logarithms(D a, D b) {
  D most = a > b ? a : b;
  return most == -infinity<D>() ? most : most + log(exp(a - most) + exp(b - most));
}

// A warp for each node: the logarithm of its sum of exponentials (0 without `fused`), and the
// log-probabilities of the blank and of the next label (minus infinity after the last).
extern "C" __global__ void __launch_bounds__(128)
transducer_nodes(const T* x, const i64* labels, const i64* lengths, D* norms, D* blanks, D* given,
                 i64 count, i64 steps, i64 nodes, i64 classes, i64 blank, i64 fused) {
  i64 node = blockIdx.x * (i64)blockDim.y + threadIdx.y;
  if (node >= count) return;
  i64 u = node % nodes, n = node / (nodes * steps);
  x += node * classes;
  D norm = 0;
  if (fused) {
    D best = -infinity<D>(), sum = 0;
    for (i64 c = threadIdx.x; c < classes; c += 32) best = larger(best, (D)(T_wide)x[c]);
    best = combine_warp(best, Larger());
    D base = best == -infinity<D>() ? (D)0 : best;
    for (i64 c = threadIdx.x; c < classes; c += 32) sum += exp((D)(T_wide)x[c] - base);
    norm = base + log(combine_warp(sum, Add()));
  }
  if (threadIdx.x) return;
  norms[node] = norm;
  blanks[node] = (D)(T_wide)x[blank] - norm;
  given[node] = u < lengths[n] ? (D)(T_wide)x[labels[n * (nodes - 1) + u]] - norm : -infinity<D>();
}

// A block for each sample, whose nodes go by diagonals: alpha up to a node, beta from it on, then
// the shares of paths that leave it by a blank and by a label, in the place of their logarithms.
extern "C" __global__ void __launch_bounds__(128)
transducer_lattice(const i64* inputs, const i64* lengths, D* blanks, D* given, D* alpha, D* beta,
                   T* costs, i64 steps, i64 nodes) {
  i64 n = blockIdx.x, length = inputs[n], count = lengths[n] + 1, base = n * steps * nodes;
  blanks += base, given += base, alpha += base, beta += base;
  for (i64 d = 0; d < length + count - 1; d++) {
    for (i64 u = threadIdx.x; u < count; u += blockDim.x) {
      i64 t = d - u, at = t * nodes + u;
      if (t < 0 || t >= length) continue;
      D found = d ? -infinity<D>() : (D)0;
      if (t) found = alpha[at - nodes] + blanks[at - nodes];
      if (u) found = add_logarithms(found, alpha[at - 1] + given[at - 1]);
      alpha[at] = found;
    }
    __syncthreads();
  }
  for (i64 d = length + count - 2; d >= 0; d--) {
    for (i64 u = threadIdx.x; u < count; u += blockDim.x) {
      i64 t = d - u, at = t * nodes + u;
      if (t < 0 || t >= length) continue;
      D found = t + 1 < length ? beta[at + nodes] : u + 1 == count ? (D)0 : -infinity<D>();
      found += blanks[at];
      if (u + 1 < count) found = add_logarithms(found, beta[at + 1] + given[at]);
      beta[at] = found;
    }
    __syncthreads();
  }
  D whole = alpha[(length - 1) * nodes + count - 1] + blanks[(length - 1) * nodes + count - 1];
  if (threadIdx.x == 0) costs[n] = (T)(T_wide)-whole;
  __syncthreads();
  for (i64 i = threadIdx.x; i < length * count; i += blockDim.x) {
    i64 t = i / count, u = i % count, at = t * nodes + u;
    D after = t + 1 < length ? beta[at + nodes] : u + 1 == count ? (D)0 : -infinity<D>();
    blanks[at] = exp(alpha[at] - whole + blanks[at] + after);
    given[at] = u + 1 < count ? exp(alpha[at] - whole + given[at] + beta[at + 1]) : (D)0;
  }
}

// A warp for each node: the derivative of the cost by its scores, zero beyond the lengths.
extern "C" __global__ void __launch_bounds__(128)
transducer_derivative(const T* x, const i64* labels, const i64* inputs, const i64* lengths,
                      const D* norms, const D* by_blank, const D* by_label, T* out, i64 count,
                      i64 steps, i64 nodes, i64 classes, i64 blank, i64 fused, double bound) {
  i64 node = blockIdx.x * (i64)blockDim.y + threadIdx.y;
  if (node >= count) return;
  i64 u = node % nodes, n = node / (nodes * steps), label = -1;
  D blanks = 0, given = 0, norm = norms[node];
  if (node / nodes % steps < inputs[n] && u <= lengths[n]) {
    blanks = by_blank[node], given = by_label[node];
    if (u < lengths[n]) label = labels[n * (nodes - 1) + u];
  }
  D both = fused ? blanks + given : (D)0;
  x += node * classes, out += node * classes;
  for (i64 c = threadIdx.x; c < classes; c += 32) {
    D found = both == 0 ? (D)0 : exp((D)(T_wide)x[c] - norm) * both;
    if (c == blank) found -= blanks;
    if (c == label) found -= given;
    if (bound > 0) found = found < -bound ? -bound : found > bound ? bound : found;
    out[c] = (T)(T_wide)found;
  }
}

// A block for each sample (T, C): state 2 j is blank j, 2 j + 1 label j. Each step writes down how
// many states back every state came from; sums have the scores' compute dtype, as on the CPU.
// `rows`: (N, 2, width) of T_wide; `origins`: (N, T, width) bytes.
extern "C" __global__ void __launch_bounds__(256)
best_paths(const T* x, const i64* labels, const i64* inputs, const i64* lengths, i64* paths,
           T_wide* rows, unsigned char* origins, i64 steps, i64 classes, i64 columns, i64 width,
           i64 blank) {
  typedef T_wide A;
  i64 n = blockIdx.x, length = inputs[n], count = lengths[n], states = 2 * count + 1;
  const A none = -infinity<A>();
  x += n * steps * classes, labels += n * columns, paths += n * steps;
  rows += 2 * n * width, origins += n * steps * width;
  for (i64 t = length + threadIdx.x; t < steps; t += blockDim.x) paths[t] = blank;
  if (!length) return;
  for (i64 s = threadIdx.x; s < states; s += blockDim.x)
    rows[s] = s == 0 ? (A)x[blank] : s == 1 ? (A)x[labels[0]] : none;
  __syncthreads();
  for (i64 t = 1; t < length; t++) {
    const A* last = rows + (t - 1) % 2 * width;
    A* next = rows + t % 2 * width;
    for (i64 s = threadIdx.x; s < states; s += blockDim.x) {
      i64 j = s / 2;
      bool skips = s % 2 && j > 0 && labels[j] != labels[j - 1];
      A own = last[s], one = s ? last[s - 1] : none, two = skips ? last[s - 2] : none;
      bool jumps = two > one && two > own, comes = one > own && one > two;
      next[s] = (jumps ? two : comes ? one : own) + (A)x[t * classes + (s % 2 ? labels[j] : blank)];
      origins[t * width + s] = jumps ? 2 : comes ? 1 : 0;
    }
    __syncthreads();
  }
  if (threadIdx.x) return;
  const A* last = rows + (length - 1) % 2 * width;
  i64 s = states - 1;
  if (s && !(last[s] > last[s - 1])) s--;
  for (i64 t = length - 1; t >= 0; t--) {
    paths[t] = s % 2 ? labels[s / 2] : blank;
    if (t) s -= origins[t * width + s];
  }
}
