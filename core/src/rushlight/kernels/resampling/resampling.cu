// Planes whose dims are mapped by taps: y[o] = sum of weight[o, k] * x[index[o, k]] in each dim.
// A dim without a table keeps its places; a table without weights moves elements.
// instances: T=float32,float64,float16,bfloat16,uint8 D=T
// instances: T=float16,bfloat16,uint8 D=float32
// instances: T=float32 D=float16,bfloat16,uint8
#include "common.cuh"

#define FLOATING (sizeof(T) == 8 || sizeof(D) == 8)
template <bool wide>
struct Work {
  typedef float type;
};
template <>
struct Work<true> {
  typedef double type;
};
typedef Work<FLOATING>::type A;

struct Maps {
  i64 planes, size[3], out[3], taps[3], index[3], weight[3], rounds;
  __device__ __forceinline__ i64 place(int d, i64 o, i64 k) const {
    return index[d] ? ((const i64*)index[d])[o * taps[d] + k] : o;
  }
  __device__ __forceinline__ A share(int d, i64 o, i64 k) const {
    return weight[d] ? (A)((const double*)weight[d])[o * taps[d] + k] : (A)1;
  }
};

extern "C" __global__ void __launch_bounds__(256, 1)
map_planes(const T* input, D* output, Maps m) {
  i64 total = m.planes * m.out[0] * m.out[1] * m.out[2];
  for (i64 i = global_thread(); i < total; i += global_threads()) {
    i64 x = i % m.out[2], rest = i / m.out[2], y = rest % m.out[1];
    rest /= m.out[1];
    i64 z = rest % m.out[0], plane = rest / m.out[0];
    const T* at = input + plane * m.size[0] * m.size[1] * m.size[2];
    A sum = 0;
    for (i64 a = 0; a < m.taps[0]; a++) {
      A za = m.share(0, z, a);
      if (za == 0) continue;  // a padded tap must not bring in an infinity times zero
      i64 row = m.place(0, z, a) * m.size[1];
      for (i64 b = 0; b < m.taps[1]; b++) {
        A yb = za * m.share(1, y, b);
        if (yb == 0) continue;
        i64 column = (row + m.place(1, y, b)) * m.size[2];
        for (i64 c = 0; c < m.taps[2]; c++) {
          A xc = yb * m.share(2, x, c);
          if (xc != 0) sum += xc * (A)at[column + m.place(2, x, c)];
        }
      }
    }
    if (m.rounds) {
      sum = floor(sum + (A)0.5);
      sum = sum < 0 ? (A)0 : sum > 255 ? (A)255 : sum;
    }
    output[i] = (D)sum;
  }
}
