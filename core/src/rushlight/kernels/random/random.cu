// Random fills. Which number goes where is what PyTorch documents by its kernels: a thread draws
// four (double: two) numbers at a time and puts them a grid apart.
// instances: T=float32,float64,float16,bfloat16
// instances: T=int64,int32,int16,int8,uint8,bool
#include "common.cuh"
#include "philox.cuh"

typedef T_wide A;

template <class F>
__device__ __forceinline__ void fours(i64 n, Beginning start, F f) {
  i64 threads = global_threads(), thread = global_thread();
  Philox philox = start.thread(thread);
  i64 all = ((n - 1) / (threads * 4) + 1) * threads * 4;
  for (i64 i = thread; i < all; i += threads * 4) {
    uint4 bits = philox.next();
    f(i, threads, bits);
  }
}

template <class F>
__device__ __forceinline__ void pairs(i64 n, Beginning start, F f) {
  i64 threads = global_threads(), thread = global_thread();
  Philox philox = start.thread(thread);
  i64 all = ((n - 1) / (threads * 2) + 1) * threads * 2;
  for (i64 i = thread; i < all; i += threads * 2) {
    uint4 bits = philox.next();
    f(i, threads, bits);
  }
}

// f(i, u): u in (0, 1], of the precision that the elements are computed in.
template <class F>
__device__ __forceinline__ void units(i64 n, Beginning start, F f) {
  if (sizeof(T) == 8) {
    pairs(n, start, [=](i64 i, i64 step, uint4 b) {
      if (i < n) f(i, unit(b.x, b.y));
      if (i + step < n) f(i + step, unit(b.z, b.w));
    });
  } else {
    fours(n, start, [=](i64 i, i64 step, uint4 b) {
      if (i < n) f(i, unit(b.x));
      if (i + step < n) f(i + step, unit(b.y));
      if (i + 2 * step < n) f(i + 2 * step, unit(b.z));
      if (i + 3 * step < n) f(i + 3 * step, unit(b.w));
    });
  }
}

extern "C" __global__ void __launch_bounds__(256, 1)
fill_uniform(T* out, i64 n, Beginning start, double low, double high) {
  units(n, start, [=](i64 i, auto u) {
    A first = (A)low, value = (A)u * ((A)high - first) + first;
    T rounded = (T)value;
    out[i] = rounded == (T)(A)high ? (T)first : rounded;
  });
}

extern "C" __global__ void __launch_bounds__(256, 1)
fill_bernoulli(T* out, i64 n, Beginning start, double p) {
  units(n, start, [=](i64 i, auto u) { out[i] = (T)(A)(u <= p && p > 0); });
}

extern "C" __global__ void __launch_bounds__(256, 1)
fill_exponential(T* out, i64 n, Beginning start, double rate) {
  units(n, start, [=](i64 i, auto u) {
    double step = sizeof(T) == 8 ? 2.220446049250313e-16 : 1.1920929e-07;
    auto log = u >= 1 - step / 2 ? -step / 2 : (double)logarithm(u);
    out[i] = (T)(A)(-log / rate);
  });
}

extern "C" __global__ void __launch_bounds__(256, 1)
fill_normal(T* out, i64 n, Beginning start, double mean, double std) {
  if (sizeof(T) == 8) {
    pairs(n, start, [=](i64 i, i64 step, uint4 b) {
      double radius = sqrt(-2.0 * log(unit(b.x, b.y))), sine, cosine;
      u64 z = (u64)b.z ^ ((u64)b.w << 21);
      sincospi(z * 2.220446049250313e-16 + 2.220446049250313e-16 / 2.0, &sine, &cosine);
      if (i < n) out[i] = (T)(A)(sine * radius * std + mean);
      if (i + step < n) out[i + step] = (T)(A)(cosine * radius * std + mean);
    });
  } else {
    fours(n, start, [=](i64 i, i64 step, uint4 b) {
      constexpr float turn = 2.3283064e-10f * 6.2831855f;
      float sine, cosine, scale = (float)std, shift = (float)mean;
      float radius = sqrtf(-2.0f * logf(unit(b.x)));
      sincosf(b.y * turn + turn / 2.0f, &sine, &cosine);
      if (i < n) out[i] = (T)(A)(sine * radius * scale + shift);
      if (i + step < n) out[i + step] = (T)(A)(cosine * radius * scale + shift);
      radius = sqrtf(-2.0f * logf(unit(b.z)));
      sincosf(b.w * turn + turn / 2.0f, &sine, &cosine);
      if (i + 2 * step < n) out[i + 2 * step] = (T)(A)(sine * radius * scale + shift);
      if (i + 3 * step < n) out[i + 3 * step] = (T)(A)(cosine * radius * scale + shift);
    });
  }
}

// Integers low .. low + range - 1; range 0 stands for 2**64.
extern "C" __global__ void __launch_bounds__(256, 1)
fill_integers(T* out, i64 n, Beginning start, i64 low, u64 range) {
  if (range == 0 || range >> 32) {
    pairs(n, start, [=](i64 i, i64 step, uint4 b) {
      u64 first = (u64)b.x << 32 | b.y, second = (u64)b.z << 32 | b.w;
      if (range) first %= range, second %= range;
      if (i < n) out[i] = (T)(A)(i64)(first + (u64)low);
      if (i + step < n) out[i + step] = (T)(A)(i64)(second + (u64)low);
    });
  } else {
    fours(n, start, [=](i64 i, i64 step, uint4 b) {
      if (i < n) out[i] = (T)(A)((i64)(b.x % range) + low);
      if (i + step < n) out[i + step] = (T)(A)((i64)(b.y % range) + low);
      if (i + 2 * step < n) out[i + 2 * step] = (T)(A)((i64)(b.z % range) + low);
      if (i + 3 * step < n) out[i + 3 * step] = (T)(A)((i64)(b.w % range) + low);
    });
  }
}

// y = x / keep where u < keep, else 0; the mask is kept as bytes. `together` elements (1, 2 or 4)
// lie side by side for one thread.
extern "C" __global__ void __launch_bounds__(256, 1)
dropout(const T* x, T* y, unsigned char* mask, i64 n, Beginning start, double keep,
        int together) {
  A scale = (A)(1.0 / keep);
  float limit = (float)keep;
  i64 threads = global_threads(), thread = global_thread();
  Philox philox = start.thread(thread);
  if (together == 1) {
    i64 all = ((n - 1) / (threads * 4) + 1) * threads * 4;
    for (i64 first = thread; first < all; first += threads * 4) {
      uint4 b = philox.next();
      unsigned bits[4] = {b.x, b.y, b.z, b.w};
#pragma unroll
      for (int j = 0; j < 4; j++) {
        i64 i = first + j * threads;
        if (i >= n) break;
        bool kept = unit(bits[j]) < limit;
        mask[i] = kept;
        y[i] = kept ? (T)((A)x[i] * scale) : (T)(A)0;
      }
    }
    return;
  }
  uint4 b = make_uint4(0, 0, 0, 0);
  bool second = false;
  for (i64 first = thread * together; first < n; first += threads * together) {
    if (!second) b = philox.next();
    unsigned bits[4] = {second ? b.z : b.x, second ? b.w : b.y, b.z, b.w};
#pragma unroll
    for (int j = 0; j < 4; j++) {
      if (j >= together) break;
      bool kept = unit(bits[j]) < limit;
      mask[first + j] = kept;
      y[first + j] = kept ? (T)((A)x[first + j] * scale) : (T)(A)0;
    }
    second = together == 2 && !second;
  }
}

extern "C" __global__ void __launch_bounds__(256, 1)
dropout_backward(const T* grad, const unsigned char* mask, T* dx, i64 n, double scale) {
  for (i64 i = global_thread(); i < n; i += global_threads())
    dx[i] = mask[i] ? (T)((A)grad[i] * (A)scale) : (T)(A)0;
}

extern "C" __global__ void __launch_bounds__(32, 1)
advance_state(u64* state, u64 count) {
  if (threadIdx.x == 0) state[1] += count;
}
