// Convolution as products: images to columns and back; depthwise directly.
// Columns are [channel and kernel place][sample][output place].
// instances: T=float32,float64,float16,bfloat16
#include "common.cuh"

typedef T_wide A;

struct Shape {
  i64 samples, channels, size[3], out[3], kernel[3], stride[3], padding[3], dilation[3];
};

// Block (stretch of places, channel and tap, sample). A thread fills 16 bytes side by side and
// divides once.
extern "C" __global__ void __launch_bounds__(256, 1)
images_to_columns(const T* image, T* columns, Shape s, i64 channels_of_image) {
  constexpr int MANY = 16 / sizeof(T);
  i64 places = s.out[0] * s.out[1] * s.out[2], taps = s.kernel[0] * s.kernel[1] * s.kernel[2];
  i64 plane = s.size[0] * s.size[1] * s.size[2];
  bool whole = places % MANY == 0;
  for (i64 row = blockIdx.y; row < s.channels * taps; row += gridDim.y) {
    i64 tap = row % taps, channel = row / taps;
    i64 dx = tap % s.kernel[2] * s.dilation[2] - s.padding[2];
    i64 dy = tap / s.kernel[2] % s.kernel[1] * s.dilation[1] - s.padding[1];
    i64 dz = tap / s.kernel[2] / s.kernel[1] * s.dilation[0] - s.padding[0];
    for (i64 sample = blockIdx.z; sample < s.samples; sample += gridDim.z) {
      const T* from = image + (sample * channels_of_image + channel) * plane;
      T* to = columns + (row * s.samples + sample) * places;
      for (i64 first = global_thread() * MANY; first < places; first += global_threads() * MANY) {
        i64 ox = first % s.out[2], oy = first / s.out[2], oz = oy / s.out[1];
        oy -= oz * s.out[1];
        Pack<T> pack;
#pragma unroll
        for (int j = 0; j < MANY; j++) {
          i64 x = ox * s.stride[2] + dx, y = oy * s.stride[1] + dy, z = oz * s.stride[0] + dz;
          bool inside = first + j < places && x >= 0 && x < s.size[2] && y >= 0 && y < s.size[1] &&
                        z >= 0 && z < s.size[0];
          pack.v[j] = inside ? from[(z * s.size[1] + y) * s.size[2] + x] : (T)(A)0;
          if (++ox == s.out[2]) {
            ox = 0;
            if (++oy == s.out[1]) oy = 0, oz++;
          }
        }
        if (whole) {
          *(Pack<T>*)(to + first) = pack;
        } else {
#pragma unroll
          for (int j = 0; j < MANY; j++)
            if (first + j < places) to[first + j] = pack.v[j];
        }
      }
    }
  }
}

// The output place along a dim whose window holds image place i at tap k; -1 if there is none.
__device__ __forceinline__ i64 window_at(const Shape& s, int d, i64 i, i64 k) {
  i64 o = i + s.padding[d] - k * s.dilation[d];
  if (o < 0) return -1;
  if (s.stride[d] != 1) {
    if (o % s.stride[d]) return -1;
    o /= s.stride[d];
  }
  return o < s.out[d] ? o : -1;
}

// Block (stretch of a plane, channel, sample).
extern "C" __global__ void __launch_bounds__(256, 1)
columns_to_images(const T* columns, T* image, Shape s, i64 channels_of_image) {
  i64 places = s.out[0] * s.out[1] * s.out[2], taps = s.kernel[0] * s.kernel[1] * s.kernel[2];
  i64 plane = s.size[0] * s.size[1] * s.size[2];
  for (i64 channel = blockIdx.y; channel < s.channels; channel += gridDim.y)
    for (i64 sample = blockIdx.z; sample < s.samples; sample += gridDim.z)
      for (i64 at = global_thread(); at < plane; at += global_threads()) {
        i64 x = at % s.size[2], y = at / s.size[2], z = y / s.size[1];
        y -= z * s.size[1];
        const T* from = columns + (channel * taps * s.samples + sample) * places;
        A sum = 0;
        for (i64 a = 0; a < s.kernel[0]; a++) {
          i64 oz = window_at(s, 0, z, a);
          if (oz < 0) continue;
          for (i64 b = 0; b < s.kernel[1]; b++) {
            i64 oy = window_at(s, 1, y, b);
            if (oy < 0) continue;
            i64 tap = (a * s.kernel[1] + b) * s.kernel[2];
            for (i64 c = 0; c < s.kernel[2]; c++) {
              i64 ox = window_at(s, 2, x, c);
              if (ox < 0) continue;
              i64 row = (tap + c) * s.samples * places;
              sum += (A)from[row + (oz * s.out[1] + oy) * s.out[2] + ox];
            }
          }
        }
        image[(sample * channels_of_image + channel) * plane + at] = (T)sum;
      }
}

extern "C" __global__ void __launch_bounds__(256, 1)
add_channel_bias(T* out, const T* bias, i64 total, i64 channels, i64 places) {
  for (i64 i = global_thread(); i < total; i += global_threads())
    out[i] = (T)((A)out[i] + (A)bias[i / places % channels]);
}

// Each of `channels` inputs has `many` outputs of its own. weight: (channels * many, taps).
extern "C" __global__ void __launch_bounds__(256, 1)
depthwise_forward(const T* image, const T* weight, const T* bias, T* out, Shape s, i64 many) {
  i64 places = s.out[0] * s.out[1] * s.out[2], taps = s.kernel[0] * s.kernel[1] * s.kernel[2];
  i64 plane = s.size[0] * s.size[1] * s.size[2], total = s.samples * s.channels * many * places;
  for (i64 i = global_thread(); i < total; i += global_threads()) {
    i64 place = i % places, o = i / places % (s.channels * many);
    i64 sample = i / places / (s.channels * many);
    i64 x0 = place % s.out[2] * s.stride[2] - s.padding[2];
    i64 y0 = place / s.out[2] % s.out[1] * s.stride[1] - s.padding[1];
    i64 z0 = place / s.out[2] / s.out[1] * s.stride[0] - s.padding[0];
    const T *at = image + (sample * s.channels + o / many) * plane, *w = weight + o * taps;
    A sum = bias ? (A)bias[o] : (A)0;
    for (i64 a = 0; a < s.kernel[0]; a++)
      for (i64 b = 0; b < s.kernel[1]; b++)
        for (i64 c = 0; c < s.kernel[2]; c++, w++) {
          i64 z = z0 + a * s.dilation[0], y = y0 + b * s.dilation[1], x = x0 + c * s.dilation[2];
          if (z < 0 || z >= s.size[0] || y < 0 || y >= s.size[1] || x < 0 || x >= s.size[2])
            continue;
          sum += (A)at[(z * s.size[1] + y) * s.size[2] + x] * (A)*w;
        }
    out[i] = (T)sum;
  }
}

extern "C" __global__ void __launch_bounds__(256, 1)
depthwise_input_gradient(const T* grad, const T* weight, T* dx, Shape s, i64 many) {
  i64 places = s.out[0] * s.out[1] * s.out[2], taps = s.kernel[0] * s.kernel[1] * s.kernel[2];
  i64 plane = s.size[0] * s.size[1] * s.size[2], total = s.samples * s.channels * plane;
  for (i64 i = global_thread(); i < total; i += global_threads()) {
    i64 at = i % plane, rest = i / plane, channel = rest % s.channels, sample = rest / s.channels;
    i64 x = at % s.size[2], y = at / s.size[2] % s.size[1], z = at / s.size[2] / s.size[1];
    A sum = 0;
    for (i64 a = 0; a < s.kernel[0]; a++) {
      i64 oz = window_at(s, 0, z, a);
      if (oz < 0) continue;
      for (i64 b = 0; b < s.kernel[1]; b++) {
        i64 oy = window_at(s, 1, y, b);
        if (oy < 0) continue;
        for (i64 c = 0; c < s.kernel[2]; c++) {
          i64 ox = window_at(s, 2, x, c);
          if (ox < 0) continue;
          i64 tap = (a * s.kernel[1] + b) * s.kernel[2] + c;
          i64 place = (oz * s.out[1] + oy) * s.out[2] + ox;
          for (i64 m = 0; m < many; m++) {
            i64 o = channel * many + m;
            sum += (A)grad[(sample * s.channels * many + o) * places + place] *
                   (A)weight[o * taps + tap];
          }
        }
      }
    }
    dx[i] = (T)sum;
  }
}

// A block has one weight.
extern "C" __global__ void __launch_bounds__(256, 1)
depthwise_weight_gradient(const T* grad, const T* image, T* dw, Shape s, i64 many) {
  __shared__ A scratch[32];
  i64 places = s.out[0] * s.out[1] * s.out[2], taps = s.kernel[0] * s.kernel[1] * s.kernel[2];
  i64 plane = s.size[0] * s.size[1] * s.size[2], o = blockIdx.x / taps, tap = blockIdx.x % taps;
  i64 c = tap % s.kernel[2] * s.dilation[2] - s.padding[2];
  i64 b = tap / s.kernel[2] % s.kernel[1] * s.dilation[1] - s.padding[1];
  i64 a = tap / s.kernel[2] / s.kernel[1] * s.dilation[0] - s.padding[0];
  A sum = 0;
  for (i64 i = threadIdx.x; i < s.samples * places; i += blockDim.x) {
    i64 sample = i / places, place = i % places;
    i64 x = place % s.out[2] * s.stride[2] + c, y = place / s.out[2] % s.out[1] * s.stride[1] + b;
    i64 z = place / s.out[2] / s.out[1] * s.stride[0] + a;
    if (z < 0 || z >= s.size[0] || y < 0 || y >= s.size[1] || x < 0 || x >= s.size[2]) continue;
    i64 at = (sample * s.channels + o / many) * plane + (z * s.size[1] + y) * s.size[2] + x;
    sum += (A)image[at] * (A)grad[(sample * s.channels * many + o) * places + place];
  }
  sum = combine_row(sum, Add(), scratch);
  if (threadIdx.x == 0) dw[blockIdx.x] = (T)sum;
}
