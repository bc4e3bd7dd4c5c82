constexpr int WARPS = 4;

// Elements between neighbours of (batch, head, row); the last dim is dense.
struct Place {
  i64 batch, head, row;
};

struct Shape {
  i64 heads, shared, queries, keys, width, value_width;  // `shared`: heads of keys and values
  Place q, k, v, o, g, dq, dk, dv;
  i64 mask[4];
  i64 causal;
  double scale;
  const u64* state;  // of dropout: where its numbers begin; or null
  i64 limit;         // of 2**32 numbers, those below keep an element,
  double factor;     // which is multiplied by this
};

__device__ __forceinline__ i64 at(const Place& p, i64 batch, i64 head) {
  return batch * p.batch + head * p.head;
}

__device__ __forceinline__ float masked(const Shape& s, const float* mask, float score, i64 batch,
                                        i64 head, i64 query, i64 key) {
  if (query >= s.queries || key >= s.keys || (s.causal && key > query)) return -infinity<float>();
  score *= (float)s.scale;
  if (mask)
    score += mask[batch * s.mask[0] + head * s.mask[1] + query * s.mask[2] + key * s.mask[3]];
  return score;
}

// Random bits for four queries, 4 * group and on, and a key: the same in every kernel.
__device__ __forceinline__ uint4 dropout_bits(const Shape& s, i64 batch, i64 head, i64 group,
                                              i64 key) {
  i64 row = (batch * s.heads + head) * ((s.queries + 3) / 4) + group;
  return Philox(s.state[0], row, s.state[1] + 4 * key).next();
}
__device__ __forceinline__ float factor_of(const Shape& s, uint4 bits, int place) {
  unsigned own = place == 0 ? bits.x : place == 1 ? bits.y : place == 2 ? bits.z : bits.w;
  return (i64)own < s.limit ? (float)s.factor : 0.0f;
}

// deltas: sum of grad * out, one a query. A warp has a row.
extern "C" __global__ void __launch_bounds__(128, 1)
attend_deltas(const T* grad, const T* out, float* deltas, Shape s) {
  i64 row = blockIdx.x * (i64)WARPS + threadIdx.y, batch = blockIdx.z, head = blockIdx.y;
  if (row >= s.queries) return;
  const T *g = grad + at(s.g, batch, head) + row * s.g.row, *o = out + at(s.o, batch, head) + row * s.o.row;
  float sum = 0;
  for (i64 c = threadIdx.x; c < s.value_width; c += 32) sum += (float)g[c] * (float)o[c];
  sum = combine_warp(sum, Add());
  if (threadIdx.x == 0) deltas[(batch * s.heads + head) * s.queries + row] = sum;
}
