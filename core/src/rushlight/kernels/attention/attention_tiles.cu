// Attention of float16 and bfloat16 on tensor cores (sm_80 and newer), after FlashAttention-2
// (Dao, 2023): scores stay in registers, float32 sums, no atomics. Lane = 4 * group + place.
// instances: T=float16 WIDTH=32,64,128 IS_HALF=1
// instances: T=bfloat16 WIDTH=32,64,128 IS_HALF=0
#include "common.cuh"
#include "philox.cuh"
#include "attention.cuh"

constexpr int DEPTH = WIDTH / 16;  // products of 16 along a row
constexpr int OUT = WIDTH / 8;     // tiles of 8 columns of a result
constexpr int PITCH = WIDTH + 8;   // of tiles that are read by rows: no bank conflicts

#ifndef RUSHLIGHT_EMULATOR
template <class E>
struct Multiply;
#if __CUDA_ARCH__ >= 800
#define MULTIPLY(E, NAME)                                                                        \
  template <>                                                                                    \
  struct Multiply<E> {                                                                           \
    static __device__ __forceinline__ void run(float* c, const unsigned* a, const unsigned* b) { \
      asm volatile(                                                                              \
          "mma.sync.aligned.m16n8k16.row.col.f32." NAME "." NAME                                 \
          ".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"                 \
          : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])                                       \
          : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));                   \
    }                                                                                            \
  };
#if IS_HALF
MULTIPLY(__half, "f16")
#else
MULTIPLY(__nv_bfloat16, "bf16")
#endif
#else
template <class E>
struct Multiply {  // older devices take the other kernels
  static __device__ __forceinline__ void run(float*, const unsigned*, const unsigned*) { __trap(); }
};
#endif
#define multiply_add(c, a, b) Multiply<T>::run(c, a, b)
#else
#define multiply_add(c, a, b) emu::multiply_add<T>(c, a, b, __LINE__)
#endif

struct Two {
  T v[2];
};
__device__ __forceinline__ unsigned packed(T a, T b) {
  Two two = {{a, b}};
  unsigned word;
  memcpy(&word, &two, 4);
  return word;
}
__device__ __forceinline__ unsigned packed(float a, float b) { return packed((T)a, (T)b); }
__device__ __forceinline__ unsigned word_at(const T* p) {
  unsigned word;
  memcpy(&word, __builtin_assume_aligned(p, 4), 4);
  return word;
}

__device__ __forceinline__ T element(const T* from, i64 row_stride, i64 row, i64 column, i64 rows,
                                     i64 width) {
  return row < rows && column < width ? from[row * row_stride + column] : (T)0.0f;
}

// Rows first .. first + count - 1 into shared memory, zeros beyond the edges.
__device__ __forceinline__ void load_rows(T* to, const T* from, i64 row_stride, i64 first,
                                          int count, i64 rows, i64 width) {
  bool whole = width == WIDTH && row_stride % 8 == 0 && is_aligned(from);
  for (int i = threadIdx.y * 32 + threadIdx.x; i < count * WIDTH / 8; i += 32 * WARPS) {
    int row = i / (WIDTH / 8), column = i % (WIDTH / 8) * 8;
    Pack<T> pack;
    if (whole && first + row < rows) {
      pack = *(const Pack<T>*)(from + (first + row) * row_stride + column);
    } else {
#pragma unroll
      for (int j = 0; j < 8; j++)
        pack.v[j] = element(from, row_stride, first + row, column + j, rows, width);
    }
    *(Pack<T>*)(to + row * PITCH + column) = pack;
  }
}

// The same turned: to[column][row], pairs of rows as words. COUNT rows.
template <int COUNT>
__device__ __forceinline__ void load_turned(T* to, const T* from, i64 row_stride, i64 first,
                                            i64 rows, i64 width) {
  for (int i = threadIdx.y * 32 + threadIdx.x; i < COUNT / 2 * WIDTH; i += 32 * WARPS) {
    int pair = i % (COUNT / 2), column = i / (COUNT / 2);
    T a = element(from, row_stride, first + 2 * pair, column, rows, width);
    T b = element(from, row_stride, first + 2 * pair + 1, column, rows, width);
    *(unsigned*)(to + column * (COUNT + 8) + 2 * pair) = packed(a, b);
  }
}

// This warp's 16 rows as left operands.
__device__ __forceinline__ void load_left(unsigned (*to)[4], const T* from, i64 row_stride,
                                          i64 first, i64 rows, i64 width) {
  i64 row = first + (threadIdx.x >> 2);
  int column = 2 * (threadIdx.x & 3);
#pragma unroll
  for (int k = 0; k < DEPTH; k++)
#pragma unroll
    for (int j = 0; j < 4; j++) {
      i64 r = row + (j & 1) * 8, c = 16 * k + column + (j >> 1) * 8;
      to[k][j] = packed(element(from, row_stride, r, c, rows, width),
                        element(from, row_stride, r, c + 1, rows, width));
    }
}

// sums[n] = left rows times rows 8 n .. of a tile in shared memory.
template <int TILES>
__device__ __forceinline__ void scores_of(unsigned (*left)[4], const T* tile, float (*sums)[4]) {
  const T* own = tile + (threadIdx.x >> 2) * PITCH + 2 * (threadIdx.x & 3);
#pragma unroll
  for (int n = 0; n < TILES; n++) {
    sums[n][0] = sums[n][1] = sums[n][2] = sums[n][3] = 0;
#pragma unroll
    for (int k = 0; k < DEPTH; k++) {
      unsigned right[2] = {word_at(own + 8 * n * PITCH + 16 * k),
                           word_at(own + 8 * n * PITCH + 16 * k + 8)};
      multiply_add(sums[n], left[k], right);
    }
  }
}

// The same with the left rows in shared memory, which takes no registers between tiles.
template <int TILES>
__device__ __forceinline__ void scores_from(const T* rows, const T* tile, float (*sums)[4]) {
  int place = (threadIdx.x >> 2) * PITCH + 2 * (threadIdx.x & 3);
  const T *left_row = rows + place, *own = tile + place;
#pragma unroll
  for (int n = 0; n < TILES; n++) sums[n][0] = sums[n][1] = sums[n][2] = sums[n][3] = 0;
#pragma unroll
  for (int k = 0; k < DEPTH; k++) {
    const T* at = left_row + 16 * k;
    unsigned left[4] = {word_at(at), word_at(at + 8 * PITCH), word_at(at + 8),
                        word_at(at + 8 * PITCH + 8)};
#pragma unroll
    for (int n = 0; n < TILES; n++) {
      unsigned right[2] = {word_at(own + 8 * n * PITCH + 16 * k),
                           word_at(own + 8 * n * PITCH + 16 * k + 8)};
      multiply_add(sums[n], left, right);
    }
  }
}

// result += weights times the tile, of which `turned` holds columns as rows. TILES of 8 weights.
template <int TILES>
__device__ __forceinline__ void accumulate(float (*weights)[4], const T* turned,
                                           float (*result)[4]) {
  const T* own = turned + (threadIdx.x >> 2) * (8 * TILES + 8) + 2 * (threadIdx.x & 3);
#pragma unroll
  for (int k = 0; k < TILES / 2; k++) {
    float *even = weights[2 * k], *odd = weights[2 * k + 1];
    unsigned left[4] = {packed(even[0], even[1]), packed(even[2], even[3]),
                        packed(odd[0], odd[1]), packed(odd[2], odd[3])};
#pragma unroll
    for (int n = 0; n < OUT; n++) {
      unsigned right[2] = {word_at(own + 8 * n * (8 * TILES + 8) + 16 * k),
                           word_at(own + 8 * n * (8 * TILES + 8) + 16 * k + 8)};
      multiply_add(result[n], left, right);
    }
  }
}

__device__ __forceinline__ void store_left(T* to, i64 row_stride, i64 first, i64 rows, i64 width,
                                           float (*values)[4]) {
#pragma unroll
  for (int n = 0; n < OUT; n++)
#pragma unroll
    for (int j = 0; j < 4; j++) {
      i64 row = first + (threadIdx.x >> 2) + (j >> 1) * 8;
      i64 column = 8 * n + 2 * (threadIdx.x & 3) + (j & 1);
      if (row < rows && column < width) to[row * row_stride + column] = (T)values[n][j];
    }
}

template <class F>
__device__ __forceinline__ float combine_four(float value, F f) {
  value = f(value, __shfl_xor_sync(EVERY_LANE, value, 1));
  return f(value, __shfl_xor_sync(EVERY_LANE, value, 2));
}

constexpr int KEYS = 64, BACK = 32;  // rows of the tiles in shared memory
constexpr int QUERIES = WIDTH == 128 ? 16 : 32;  // the wide form has no registers for more

// Block (tile of 64 queries, head, batch).
extern "C" __global__ void __launch_bounds__(128, 1)
attend(const T* query, const T* key, const T* value, const float* mask, T* out, float* sums,
       Shape s) {
  __shared__ __align__(16) T keys[KEYS * PITCH];
  __shared__ __align__(16) T values[WIDTH * (KEYS + 8)];
  i64 batch = blockIdx.z, head = blockIdx.y, group = head / (s.heads / s.shared);
  i64 start = blockIdx.x * 64ll, own = start + threadIdx.y * 16;
  unsigned left[DEPTH][4];
  load_left(left, query + at(s.q, batch, head), s.q.row, own, s.queries, s.width);
  float result[OUT][4], scores[KEYS / 8][4];
  float best[2] = {-infinity<float>(), -infinity<float>()}, total[2] = {0, 0};
#pragma unroll
  for (int n = 0; n < OUT; n++) result[n][0] = result[n][1] = result[n][2] = result[n][3] = 0;
  i64 end = s.causal && start + 64 < s.keys ? start + 64 : s.keys;
  for (i64 first = 0; first < end; first += KEYS) {
    __syncthreads();
    load_rows(keys, key + at(s.k, batch, group), s.k.row, first, KEYS, s.keys, s.width);
    load_turned<KEYS>(values, value + at(s.v, batch, group), s.v.row, first, s.keys,
                      s.value_width);
    __syncthreads();
    scores_of<KEYS / 8>(left, keys, scores);
    float top[2] = {best[0], best[1]};
#pragma unroll
    for (int n = 0; n < KEYS / 8; n++)
#pragma unroll
      for (int j = 0; j < 4; j++) {
        scores[n][j] = masked(s, mask, scores[n][j], batch, head,
                              own + (threadIdx.x >> 2) + (j >> 1) * 8,
                              first + 8 * n + 2 * (threadIdx.x & 3) + (j & 1));
        top[j >> 1] = larger(top[j >> 1], scores[n][j]);
      }
#pragma unroll
    for (int r = 0; r < 2; r++) {
      top[r] = combine_four(top[r], Larger());
      float shrink = best[r] == top[r] ? 1.0f : expf(best[r] - top[r]);
      best[r] = top[r];
      total[r] *= shrink;
#pragma unroll
      for (int n = 0; n < OUT; n++) {
        result[n][2 * r] *= shrink;
        result[n][2 * r + 1] *= shrink;
      }
    }
#pragma unroll
    for (int n = 0; n < KEYS / 8; n++)
#pragma unroll
      for (int j = 0; j < 4; j++) {
        float score = scores[n][j];
        scores[n][j] = score == -infinity<float>() ? 0.0f : expf(score - best[j >> 1]);
        total[j >> 1] += scores[n][j];
      }
    accumulate<KEYS / 8>(scores, values, result);
  }
#pragma unroll
  for (int r = 0; r < 2; r++) {
    total[r] = combine_four(total[r], Add());
    float scale = total[r] == 0 ? 0.0f : 1.0f / total[r];
    i64 row = own + (threadIdx.x >> 2) + 8 * r;
#pragma unroll
    for (int n = 0; n < OUT; n++) {
      result[n][2 * r] *= scale;
      result[n][2 * r + 1] *= scale;
    }
    if ((threadIdx.x & 3) == 0 && row < s.queries)
      sums[(batch * s.heads + head) * s.queries + row] =
          total[r] == 0 ? infinity<float>() : best[r] + logf(total[r]);
  }
  store_left(out + at(s.o, batch, head), s.o.row, own, s.queries, s.value_width, result);
}

// Block (tile of 64 queries, head, batch).
extern "C" __global__ void __launch_bounds__(128, 1)
attend_query_gradient(const T* grad, const T* query, const T* key, const T* value,
                      const float* mask, const float* sums, const float* deltas, T* dq, Shape s) {
  __shared__ __align__(16) T keys[BACK * PITCH];
  __shared__ __align__(16) T values[BACK * PITCH];
  __shared__ __align__(16) T turned[WIDTH * (BACK + 8)];
  i64 batch = blockIdx.z, head = blockIdx.y, group = head / (s.heads / s.shared);
  i64 start = blockIdx.x * 64ll, own = start + threadIdx.y * 16;
  unsigned left[DEPTH][4], grads[DEPTH][4];
  load_left(left, query + at(s.q, batch, head), s.q.row, own, s.queries, s.width);
  load_left(grads, grad + at(s.g, batch, head), s.g.row, own, s.queries, s.value_width);
  float result[OUT][4], scores[BACK / 8][4], shares[BACK / 8][4], sum[2], delta[2];
#pragma unroll
  for (int n = 0; n < OUT; n++) result[n][0] = result[n][1] = result[n][2] = result[n][3] = 0;
#pragma unroll
  for (int r = 0; r < 2; r++) {
    i64 row = own + (threadIdx.x >> 2) + 8 * r;
    i64 place = (batch * s.heads + head) * s.queries + row;
    sum[r] = row < s.queries ? sums[place] : infinity<float>();
    delta[r] = row < s.queries ? deltas[place] : 0.0f;
  }
  i64 end = s.causal && start + 64 < s.keys ? start + 64 : s.keys;
  for (i64 first = 0; first < end; first += BACK) {
    __syncthreads();
    load_rows(keys, key + at(s.k, batch, group), s.k.row, first, BACK, s.keys, s.width);
    load_rows(values, value + at(s.v, batch, group), s.v.row, first, BACK, s.keys, s.value_width);
    load_turned<BACK>(turned, key + at(s.k, batch, group), s.k.row, first, s.keys, s.width);
    __syncthreads();
    scores_of<BACK / 8>(left, keys, scores);
    scores_of<BACK / 8>(grads, values, shares);
#pragma unroll
    for (int n = 0; n < BACK / 8; n++)
#pragma unroll
      for (int j = 0; j < 4; j++) {
        float score = masked(s, mask, scores[n][j], batch, head,
                             own + (threadIdx.x >> 2) + (j >> 1) * 8,
                             first + 8 * n + 2 * (threadIdx.x & 3) + (j & 1));
        float p = score == -infinity<float>() ? 0.0f : expf(score - sum[j >> 1]);
        scores[n][j] = p * (shares[n][j] - delta[j >> 1]) * (float)s.scale;
      }
    accumulate<BACK / 8>(scores, turned, result);
  }
  store_left(dq + at(s.dq, batch, head), s.dq.row, own, s.queries, s.width, result);
}

// Block (tile of 64 keys, head of keys, batch): all queries of the heads that share the keys.
extern "C" __global__ void __launch_bounds__(128, 1)
attend_key_gradients(const T* grad, const T* query, const T* key, const T* value,
                     const float* mask, const float* sums, const float* deltas, T* dk, T* dv,
                     Shape s) {
  __shared__ __align__(16) T queries[QUERIES * PITCH];
  __shared__ __align__(16) T grads[QUERIES * PITCH];
  __shared__ __align__(16) T turned_queries[WIDTH * (QUERIES + 8)];
  __shared__ __align__(16) T turned_grads[WIDTH * (QUERIES + 8)];
  __shared__ __align__(16) T values[64 * PITCH];
  __shared__ float tile_sums[QUERIES], tile_deltas[QUERIES];
  i64 batch = blockIdx.z, group = blockIdx.y, many = s.heads / s.shared;
  i64 start = blockIdx.x * 64ll, own = start + threadIdx.y * 16;
  int thread = threadIdx.y * 32 + threadIdx.x;
  unsigned left[DEPTH][4];
  load_left(left, key + at(s.k, batch, group), s.k.row, own, s.keys, s.width);
  load_rows(values, value + at(s.v, batch, group), s.v.row, start, 64, s.keys, s.value_width);
  float key_sums[OUT][4], value_sums[OUT][4], scores[QUERIES / 8][4], shares[QUERIES / 8][4];
#pragma unroll
  for (int n = 0; n < OUT; n++)
#pragma unroll
    for (int j = 0; j < 4; j++) key_sums[n][j] = value_sums[n][j] = 0;
  i64 begin = s.causal ? start / QUERIES * QUERIES : 0;  // earlier queries do not see these keys
  for (i64 head = group * many; head < (group + 1) * many; head++)
    for (i64 first = begin; first < s.queries; first += QUERIES) {
      __syncthreads();
      const T *q = query + at(s.q, batch, head), *g = grad + at(s.g, batch, head);
      load_rows(queries, q, s.q.row, first, QUERIES, s.queries, s.width);
      load_rows(grads, g, s.g.row, first, QUERIES, s.queries, s.value_width);
      load_turned<QUERIES>(turned_queries, q, s.q.row, first, s.queries, s.width);
      load_turned<QUERIES>(turned_grads, g, s.g.row, first, s.queries, s.value_width);
      if (thread < QUERIES) {
        i64 place = (batch * s.heads + head) * s.queries + first + thread;
        bool inside = first + thread < s.queries;
        tile_sums[thread] = inside ? sums[place] : infinity<float>();
        tile_deltas[thread] = inside ? deltas[place] : 0.0f;
      }
      __syncthreads();
      scores_of<QUERIES / 8>(left, queries, scores);
      scores_from<QUERIES / 8>(values + threadIdx.y * 16 * PITCH, grads, shares);
#pragma unroll
      for (int n = 0; n < QUERIES / 8; n++)
#pragma unroll
        for (int j = 0; j < 4; j++) {
          int column = 8 * n + 2 * (threadIdx.x & 3) + (j & 1);
          float score = masked(s, mask, scores[n][j], batch, head, first + column,
                               own + (threadIdx.x >> 2) + (j >> 1) * 8);
          float p = score == -infinity<float>() ? 0.0f : expf(score - tile_sums[column]);
          shares[n][j] = p * (shares[n][j] - tile_deltas[column]) * (float)s.scale;
          scores[n][j] = p;
        }
      accumulate<QUERIES / 8>(scores, turned_grads, value_sums);
      accumulate<QUERIES / 8>(shares, turned_queries, key_sums);
    }
  store_left(dk + at(s.dk, batch, group), s.dk.row, own, s.keys, s.width, key_sums);
  store_left(dv + at(s.dv, batch, group), s.dv.row, own, s.keys, s.value_width, value_sums);
}
