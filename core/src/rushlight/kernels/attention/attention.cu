// Attention without the matrix of scores in memory (Dao et al., 2022), forward and backward, in
// float32 arithmetic. Rows of `WIDTH` elements at most; no atomics.
// instances: T=float32,float16,bfloat16 WIDTH=32,64,128
#include "common.cuh"
#include "philox.cuh"
#include "attention.cuh"

constexpr int PITCH = WIDTH + 4;   // of tiles that lanes read by rows: no bank conflicts
constexpr int PER_LANE = WIDTH / 32;

// Rows first .. first + count - 1 of a matrix into shared memory, zeros beyond its edges.
__device__ __forceinline__ void load_rows(float* to, int pitch, const T* from, i64 row_stride,
                                          i64 first, int count, i64 rows, i64 width) {
  for (int i = threadIdx.y * 32 + threadIdx.x; i < count * WIDTH; i += 32 * WARPS) {
    int row = i / WIDTH, column = i % WIDTH;
    bool inside = first + row < rows && column < width;
    to[row * pitch + column] = inside ? (float)from[(first + row) * row_stride + column] : 0.0f;
  }
}

// sums[r] = row r of `rows` times this lane's row of `tile`.
template <int R>
__device__ __forceinline__ void products(const float* rows, const float* tile, float* sums) {
  const float4* own = (const float4*)(tile + threadIdx.x * PITCH);
#pragma unroll
  for (int r = 0; r < R; r++) sums[r] = 0;
#pragma unroll 4
  for (int e = 0; e < WIDTH / 4; e++) {
    float4 b = own[e];
#pragma unroll
    for (int r = 0; r < R; r++) {
      float4 a = ((const float4*)(rows + r * WIDTH))[e];
      sums[r] += a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w;
    }
  }
}

// sums[r][c] += sum over lanes j of weights[r] of lane j times row j of the tile.
template <int R>
__device__ __forceinline__ void accumulate(const float* weights, const float* tile, int pitch,
                                           float (*sums)[PER_LANE]) {
#pragma unroll 4
  for (int j = 0; j < 32; j++) {
    float values[PER_LANE];
#pragma unroll
    for (int c = 0; c < PER_LANE; c++) values[c] = tile[j * pitch + c * 32 + threadIdx.x];
#pragma unroll
    for (int r = 0; r < R; r++) {
      float weight = __shfl_sync(EVERY_LANE, weights[r], j);
#pragma unroll
      for (int c = 0; c < PER_LANE; c++) sums[r][c] += weight * values[c];
    }
  }
}

template <int R>
__device__ __forceinline__ void store_rows(T* to, i64 row_stride, i64 first, i64 rows, i64 width,
                                           float (*values)[PER_LANE]) {
#pragma unroll
  for (int r = 0; r < R; r++)
#pragma unroll
    for (int c = 0; c < PER_LANE; c++) {
      i64 column = c * 32 + threadIdx.x;
      if (first + r < rows && column < width) to[(first + r) * row_stride + column] = (T)values[r][c];
    }
}

constexpr int FORWARD_ROWS = 8, BACKWARD_ROWS = 4;  // of one warp: a multiple of 4, exactly 4

// out (batch, head, query, key): what dropout multiplies probabilities by.
extern "C" __global__ void __launch_bounds__(256, 1)
attend_factors(float* out, Shape s) {
  i64 groups = (s.queries + 3) / 4, n = s.heads * groups * s.keys, batch = blockIdx.y;
  for (i64 i = global_thread(); i < n; i += global_threads()) {
    i64 key = i % s.keys, group = i / s.keys % groups, head = i / s.keys / groups;
    uint4 bits = dropout_bits(s, batch, head, group, key);
#pragma unroll
    for (int r = 0; r < 4; r++) {
      i64 query = 4 * group + r;
      if (query < s.queries)
        out[((batch * s.heads + head) * s.queries + query) * s.keys + key] = factor_of(s, bits, r);
    }
  }
}

// Block (tile of 32 queries, head, batch).
extern "C" __global__ void __launch_bounds__(128, 1)
attend(const T* query, const T* key, const T* value, const float* mask, T* out, float* sums,
       Shape s) {
  constexpr int R = FORWARD_ROWS;
  extern __shared__ float4 memory[];
  float* keys = (float*)memory;
  float *values = keys + 32 * PITCH, *queries = values + 32 * WIDTH;
  i64 batch = blockIdx.z, head = blockIdx.y, group = head / (s.heads / s.shared);
  i64 start = blockIdx.x * (i64)(R * WARPS), own = start + threadIdx.y * R;
  load_rows(queries, WIDTH, query + at(s.q, batch, head), s.q.row, start, R * WARPS, s.queries,
            s.width);
  float best[R], total[R], result[R][PER_LANE], scores[R];
#pragma unroll
  for (int r = 0; r < R; r++) {
    best[r] = -infinity<float>();
    total[r] = 0;
#pragma unroll
    for (int c = 0; c < PER_LANE; c++) result[r][c] = 0;
  }
  i64 end = s.causal && start + R * WARPS < s.keys ? start + R * WARPS : s.keys;
  for (i64 first = 0; first < end; first += 32) {
    __syncthreads();
    load_rows(keys, PITCH, key + at(s.k, batch, group), s.k.row, first, 32, s.keys, s.width);
    load_rows(values, WIDTH, value + at(s.v, batch, group), s.v.row, first, 32, s.keys,
              s.value_width);
    __syncthreads();
    products<R>(queries + threadIdx.y * R * WIDTH, keys, scores);
    uint4 bits = {};
#pragma unroll
    for (int r = 0; r < R; r++) {
      float score = masked(s, mask, scores[r], batch, head, own + r, first + threadIdx.x);
      float top = larger(best[r], combine_warp(score, Larger()));
      float shrink = best[r] == top ? 1.0f : expf(best[r] - top);
      scores[r] = score == -infinity<float>() ? 0.0f : expf(score - top);
      total[r] = total[r] * shrink + combine_warp(scores[r], Add());
      best[r] = top;
      if (s.state) {
        if (r % 4 == 0) bits = dropout_bits(s, batch, head, (own + r) / 4, first + threadIdx.x);
        scores[r] *= factor_of(s, bits, r % 4);
      }
#pragma unroll
      for (int c = 0; c < PER_LANE; c++) result[r][c] *= shrink;
    }
    accumulate<R>(scores, values, WIDTH, result);
  }
#pragma unroll
  for (int r = 0; r < R; r++) {
    float scale = total[r] == 0 ? 0.0f : 1.0f / total[r];
#pragma unroll
    for (int c = 0; c < PER_LANE; c++) result[r][c] *= scale;
    if (threadIdx.x == 0 && own + r < s.queries)
      sums[(batch * s.heads + head) * s.queries + own + r] =
          total[r] == 0 ? infinity<float>() : best[r] + logf(total[r]);
  }
  store_rows<R>(out + at(s.o, batch, head), s.o.row, own, s.queries, s.value_width, result);
}

// Block (tile of 16 queries, head, batch).
extern "C" __global__ void __launch_bounds__(128, 1)
attend_query_gradient(const T* grad, const T* query, const T* key, const T* value,
                      const float* mask, const float* sums, const float* deltas, T* dq, Shape s) {
  constexpr int R = BACKWARD_ROWS;
  extern __shared__ float4 memory[];
  float* keys = (float*)memory;
  float *values = keys + 32 * PITCH, *queries = values + 32 * PITCH, *grads = queries + R * WARPS * WIDTH;
  i64 batch = blockIdx.z, head = blockIdx.y, group = head / (s.heads / s.shared);
  i64 start = blockIdx.x * (i64)(R * WARPS), own = start + threadIdx.y * R;
  load_rows(queries, WIDTH, query + at(s.q, batch, head), s.q.row, start, R * WARPS, s.queries,
            s.width);
  load_rows(grads, WIDTH, grad + at(s.g, batch, head), s.g.row, start, R * WARPS, s.queries,
            s.value_width);
  float result[R][PER_LANE], scores[R], shares[R], sum[R], delta[R];
#pragma unroll
  for (int r = 0; r < R; r++) {
    i64 row = (batch * s.heads + head) * s.queries + own + r;
    sum[r] = own + r < s.queries ? sums[row] : infinity<float>();
    delta[r] = own + r < s.queries ? deltas[row] : 0.0f;
#pragma unroll
    for (int c = 0; c < PER_LANE; c++) result[r][c] = 0;
  }
  i64 end = s.causal && start + R * WARPS < s.keys ? start + R * WARPS : s.keys;
  for (i64 first = 0; first < end; first += 32) {
    __syncthreads();
    load_rows(keys, PITCH, key + at(s.k, batch, group), s.k.row, first, 32, s.keys, s.width);
    load_rows(values, PITCH, value + at(s.v, batch, group), s.v.row, first, 32, s.keys,
              s.value_width);
    __syncthreads();
    products<R>(queries + threadIdx.y * R * WIDTH, keys, scores);
    products<R>(grads + threadIdx.y * R * WIDTH, values, shares);
    uint4 bits = {};
    if (s.state) bits = dropout_bits(s, batch, head, own / 4, first + threadIdx.x);
#pragma unroll
    for (int r = 0; r < R; r++) {
      if (s.state) shares[r] *= factor_of(s, bits, r);
      float score = masked(s, mask, scores[r], batch, head, own + r, first + threadIdx.x);
      float p = score == -infinity<float>() ? 0.0f : expf(score - sum[r]);
      scores[r] = p * (shares[r] - delta[r]) * (float)s.scale;
    }
    accumulate<R>(scores, keys, PITCH, result);
  }
  store_rows<R>(dq + at(s.dq, batch, head), s.dq.row, own, s.queries, s.width, result);
}

// Block (tile of 16 keys, head of keys, batch): all queries of the heads that share the keys.
extern "C" __global__ void __launch_bounds__(128, 1)
attend_key_gradients(const T* grad, const T* query, const T* key, const T* value,
                     const float* mask, const float* sums, const float* deltas, T* dk, T* dv,
                     Shape s) {
  constexpr int R = BACKWARD_ROWS;
  extern __shared__ float4 memory[];
  float* queries = (float*)memory;
  float *grads = queries + 32 * PITCH, *keys = grads + 32 * PITCH, *values = keys + R * WARPS * WIDTH;
  i64 batch = blockIdx.z, group = blockIdx.y, many = s.heads / s.shared;
  i64 start = blockIdx.x * (i64)(R * WARPS), own = start + threadIdx.y * R;
  load_rows(keys, WIDTH, key + at(s.k, batch, group), s.k.row, start, R * WARPS, s.keys, s.width);
  load_rows(values, WIDTH, value + at(s.v, batch, group), s.v.row, start, R * WARPS, s.keys,
            s.value_width);
  float key_sums[R][PER_LANE], value_sums[R][PER_LANE], scores[R], shares[R];
#pragma unroll
  for (int r = 0; r < R; r++)
#pragma unroll
    for (int c = 0; c < PER_LANE; c++) key_sums[r][c] = value_sums[r][c] = 0;
  i64 begin = s.causal ? start / 32 * 32 : 0;  // earlier queries do not see these keys
  for (i64 head = group * many; head < (group + 1) * many; head++)
    for (i64 first = begin; first < s.queries; first += 32) {
      __syncthreads();
      load_rows(queries, PITCH, query + at(s.q, batch, head), s.q.row, first, 32, s.queries,
                s.width);
      load_rows(grads, PITCH, grad + at(s.g, batch, head), s.g.row, first, 32, s.queries,
                s.value_width);
      __syncthreads();
      i64 mine = first + threadIdx.x, row = (batch * s.heads + head) * s.queries + mine;
      float sum = mine < s.queries ? sums[row] : infinity<float>();
      float delta = mine < s.queries ? deltas[row] : 0.0f;
      products<R>(keys + threadIdx.y * R * WIDTH, queries, scores);
      products<R>(values + threadIdx.y * R * WIDTH, grads, shares);
#pragma unroll
      for (int r = 0; r < R; r++) {
        float score = masked(s, mask, scores[r], batch, head, mine, own + r);
        float p = score == -infinity<float>() ? 0.0f : expf(score - sum), factor = 1;
        if (s.state)
          factor = factor_of(s, dropout_bits(s, batch, head, mine / 4, own + r), mine % 4);
        shares[r] = p * (shares[r] * factor - delta) * (float)s.scale;
        scores[r] = p * factor;
      }
      accumulate<R>(scores, grads, PITCH, value_sums);
      accumulate<R>(shares, queries, PITCH, key_sums);
    }
  store_rows<R>(dk + at(s.dk, batch, group), s.dk.row, own, s.keys, s.width, key_sums);
  store_rows<R>(dv + at(s.dv, batch, group), s.dv.row, own, s.keys, s.value_width, value_sums);
}
