// What follows a product of matrices, where cuBLASLt does not fuse it.
// KIND of a launch: 1 bias, 2 bias and relu, 3 bias and the tanh form of gelu.
// instances: T=float32,float64,float16,bfloat16
#include "common.cuh"

typedef T_wide A;

extern "C" __global__ void __launch_bounds__(256, 1)
finish_product(T* out, const T* bias, i64 total, i64 rows, i64 columns, i64 row_stride,
               i64 column_stride, i64 batch_stride, int kind) {
  for (i64 i = global_thread(); i < total; i += global_threads()) {
    i64 column = i % columns, row = i / columns % rows, batch = i / columns / rows;
    i64 at = batch * batch_stride + row * row_stride + column * column_stride;
    A value = (A)out[at] + (A)bias[column];
    if (kind == 2) value = value < 0 ? (A)0 : value;
    if (kind == 3) {
      A cube = (A)0.7978845608028654 * (value + (A)0.044715 * value * value * value);
      value = (A)0.5 * value * ((A)1 + tangent(cube));
    }
    out[at] = (T)value;
  }
}
