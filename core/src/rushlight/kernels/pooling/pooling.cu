// Pooling of (planes, D, H, W); fewer spatial dims have leading ones.
// instances: T=float32,float64,float16,bfloat16,int64,int32,uint8
#include "common.cuh"

typedef T_wide A;

struct Windows {
  i64 planes, size[3], out[3], kernel[3], stride[3], padding[3], dilation[3];
  i64 adaptive, count_padding, divisor;

  __device__ __forceinline__ i64 start(int d, i64 o) const {
    return adaptive ? o * size[d] / out[d] : o * stride[d] - padding[d];
  }
  // The first place of a window that is not before the image.
  __device__ __forceinline__ i64 inside(int d, i64 o) const {
    i64 low = start(d, o);
    return low < 0 ? low + (dilation[d] - 1 - low) / dilation[d] * dilation[d] : low;
  }
  // End of a window without clipping.
  __device__ __forceinline__ i64 end(int d, i64 o) const {
    return adaptive ? ((o + 1) * size[d] + out[d] - 1) / out[d]
                    : start(d, o) + (kernel[d] - 1) * dilation[d] + 1;
  }
  // What an average divides by; padding beyond size + padding never counts.
  __device__ __forceinline__ i64 count(i64 z, i64 y, i64 x) const {
    if (divisor) return divisor;
    i64 at[3] = {z, y, x}, product = 1;
    for (int d = 0; d < 3; d++) {
      i64 low = start(d, at[d]), high = end(d, at[d]);
      if (!adaptive && high > size[d] + padding[d]) high = size[d] + padding[d];
      if (!count_padding) {
        if (low < 0) low = 0;
        if (high > size[d]) high = size[d];
      }
      product *= high - low;
    }
    return product;
  }
  // Windows that may hold place i: first .. last.
  __device__ __forceinline__ i64 first(int d, i64 i) const {
    if (adaptive) return i * out[d] / size[d];
    i64 reach = i + padding[d] - (kernel[d] - 1) * dilation[d];
    return reach <= 0 ? 0 : (reach + stride[d] - 1) / stride[d];
  }
  __device__ __forceinline__ i64 last(int d, i64 i) const {
    i64 o = adaptive ? ((i + 1) * out[d] + size[d] - 1) / size[d] - 1
                     : (i + padding[d]) / stride[d];
    return o < out[d] ? o : out[d] - 1;
  }
};

// The least value of T: the maximum of a window beside the image.
__device__ __forceinline__ A least() {
  if ((A)0.5 != (A)0) return lowest<A>();
  return (A)(T)(A)-1 > (A)0 ? (A)0 : (A)(lowest<i64>() >> (64 - 8 * sizeof(T)));
}

extern "C" __global__ void __launch_bounds__(256, 1)
max_forward(const T* input, T* output, i64* places, Windows w) {
  i64 total = w.planes * w.out[0] * w.out[1] * w.out[2];
  for (i64 i = global_thread(); i < total; i += global_threads()) {
    i64 x = i % w.out[2], rest = i / w.out[2], y = rest % w.out[1];
    rest /= w.out[1];
    i64 z = rest % w.out[0], plane = rest / w.out[0];
    const T* at = input + plane * w.size[0] * w.size[1] * w.size[2];
    i64 z0 = w.inside(0, z), y0 = w.inside(1, y), x0 = w.inside(2, x);
    i64 z1 = w.end(0, z), y1 = w.end(1, y), x1 = w.end(2, x);
    z1 = z1 < w.size[0] ? z1 : w.size[0];
    y1 = y1 < w.size[1] ? y1 : w.size[1];
    x1 = x1 < w.size[2] ? x1 : w.size[2];
    A best = least();
    i64 place = (z0 * w.size[1] + y0) * w.size[2] + x0;
    for (i64 a = z0; a < z1; a += w.dilation[0]) {
      for (i64 b = y0; b < y1; b += w.dilation[1]) {
        for (i64 c = x0; c < x1; c += w.dilation[2]) {
          i64 here = (a * w.size[1] + b) * w.size[2] + c;
          A value = (A)at[here];
          if (value > best || value != value) {
            best = value;
            place = here;
          }
        }
      }
    }
    output[i] = (T)best;
    places[i] = place;
  }
}

// A warp has a plane, clears it and adds 32 results at a time; where several went to one place,
// the first of them adds all. Any positions, any order of threads: the same bits.
extern "C" __global__ void __launch_bounds__(128, 1)
max_backward(const T* grad, const i64* places, A* dx, i64 planes, i64 count, i64 size) {
  i64 plane = blockIdx.x * (i64)blockDim.y + threadIdx.y;
  if (plane >= planes) return;
  int lane = threadIdx.x;
  grad += plane * count;
  places += plane * count;
  dx += plane * size;
  for (i64 i = lane; i < size; i += 32) dx[i] = 0;
  __syncwarp();
  for (i64 start = 0; start < count; start += 32) {
    i64 i = start + lane, place = i < count ? places[i] : -1 - lane;
    if (i < count) check_index(place, size);
    A value = i < count ? (A)grad[i] : (A)0, sum = value;
    unsigned same = __match_any_sync(EVERY_LANE, place);
    if (__any_sync(EVERY_LANE, __popc(same) > 1)) {
      sum = 0;
      for (int other = 0; other < 32; other++) {
        A theirs = __shfl_sync(EVERY_LANE, value, other);
        if (same >> other & 1) sum += theirs;
      }
    }
    if (i < count && lane == __ffs(same) - 1) dx[place] += sum;
    __syncwarp();
  }
}

extern "C" __global__ void __launch_bounds__(256, 1)
average_forward(const T* input, T* output, Windows w) {
  i64 total = w.planes * w.out[0] * w.out[1] * w.out[2];
  for (i64 i = global_thread(); i < total; i += global_threads()) {
    i64 x = i % w.out[2], rest = i / w.out[2], y = rest % w.out[1];
    rest /= w.out[1];
    i64 z = rest % w.out[0], plane = rest / w.out[0];
    const T* at = input + plane * w.size[0] * w.size[1] * w.size[2];
    i64 z0 = w.start(0, z), y0 = w.start(1, y), x0 = w.start(2, x);
    i64 z1 = w.end(0, z), y1 = w.end(1, y), x1 = w.end(2, x);
    z0 = z0 > 0 ? z0 : 0, y0 = y0 > 0 ? y0 : 0, x0 = x0 > 0 ? x0 : 0;
    z1 = z1 < w.size[0] ? z1 : w.size[0];
    y1 = y1 < w.size[1] ? y1 : w.size[1];
    x1 = x1 < w.size[2] ? x1 : w.size[2];
    A sum = 0;
    for (i64 a = z0; a < z1; a++)
      for (i64 b = y0; b < y1; b++)
        for (i64 c = x0; c < x1; c++) sum += (A)at[(a * w.size[1] + b) * w.size[2] + c];
    output[i] = (T)(sum / (A)w.count(z, y, x));
  }
}

extern "C" __global__ void __launch_bounds__(256, 1)
average_backward(const T* grad, T* dx, Windows w) {
  i64 total = w.planes * w.size[0] * w.size[1] * w.size[2];
  for (i64 i = global_thread(); i < total; i += global_threads()) {
    i64 c = i % w.size[2], rest = i / w.size[2], b = rest % w.size[1];
    rest /= w.size[1];
    i64 a = rest % w.size[0], plane = rest / w.size[0];
    const T* at = grad + plane * w.out[0] * w.out[1] * w.out[2];
    A sum = 0;
    for (i64 z = w.first(0, a); z <= w.last(0, a); z++)
      for (i64 y = w.first(1, b); y <= w.last(1, b); y++)
        for (i64 x = w.first(2, c); x <= w.last(2, c); x++)
          sum += (A)at[(z * w.out[1] + y) * w.out[2] + x] / (A)w.count(z, y, x);
    dx[i] = (T)sum;
  }
}
