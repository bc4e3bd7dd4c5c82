// One step of recurrent cells, without the product of state and weight.
// instances: T=float32,float64,float16,bfloat16
#include "common.cuh"

typedef T_wide A;

__device__ __forceinline__ A sigmoid(A x) { return (A)1 / ((A)1 + exponential(-x)); }

// Rows of (rows, width) states; gates are side by side: input, forget, cell, output.
extern "C" __global__ void __launch_bounds__(256, 1)
lstm_step(const T* gates, const A* product, A* carry, T* out, T* acts, T* cells, i64 rows,
          i64 width) {
  for (i64 n = global_thread(); n < rows * width; n += global_threads()) {
    i64 at = n / width * 4 * width + n % width;
    A i = sigmoid((A)gates[at] + product[at]);
    A f = sigmoid((A)gates[at + width] + product[at + width]);
    A g = tangent((A)gates[at + 2 * width] + product[at + 2 * width]);
    A o = sigmoid((A)gates[at + 3 * width] + product[at + 3 * width]);
    A cell = f * carry[n] + i * g;
    carry[n] = cell;
    out[n] = (T)(o * tangent(cell));
    acts[at] = (T)i;
    acts[at + width] = (T)f;
    acts[at + 2 * width] = (T)g;
    acts[at + 3 * width] = (T)o;
    cells[n] = (T)cell;
  }
}

// carry: gradient of the state from the step after, replaced by what goes to the state before
// directly; dcell likewise for the cell.
extern "C" __global__ void __launch_bounds__(256, 1)
lstm_step_back(const T* grad, A* carry, A* dcell, const T* acts, const T* cells, const T* before,
               T* dgates, i64 rows, i64 width) {
  for (i64 n = global_thread(); n < rows * width; n += global_threads()) {
    i64 at = n / width * 4 * width + n % width;
    A i = (A)acts[at], f = (A)acts[at + width], g = (A)acts[at + 2 * width];
    A o = (A)acts[at + 3 * width], bent = tangent((A)cells[n]);
    A whole = (A)grad[n] + carry[n], inner = dcell[n] + whole * o * (1 - bent * bent);
    dgates[at] = (T)(inner * g * i * (1 - i));
    dgates[at + width] = (T)(inner * (A)before[n] * f * (1 - f));
    dgates[at + 2 * width] = (T)(inner * i * (1 - g * g));
    dgates[at + 3 * width] = (T)(whole * bent * o * (1 - o));
    carry[n] = 0;
    dcell[n] = inner * f;
  }
}

// Gates: reset, update, new. acts also hold the state's part of the new gate.
extern "C" __global__ void __launch_bounds__(256, 1)
gru_step(const T* gates, const A* product, const T* bias, const T* before, T* out, T* acts,
         i64 rows, i64 width) {
  for (i64 n = global_thread(); n < rows * width; n += global_threads()) {
    i64 column = n % width, at = n / width * 3 * width + column, to = n / width * 4 * width + column;
    A b0 = bias ? (A)bias[column] : (A)0, b1 = bias ? (A)bias[column + width] : (A)0;
    A b2 = bias ? (A)bias[column + 2 * width] : (A)0;
    A r = sigmoid((A)gates[at] + product[at] + b0);
    A z = sigmoid((A)gates[at + width] + product[at + width] + b1);
    A inner = product[at + 2 * width] + b2;
    A fresh = tangent((A)gates[at + 2 * width] + r * inner);
    out[n] = (T)(fresh + z * ((A)before[n] - fresh));
    acts[to] = (T)r;
    acts[to + width] = (T)z;
    acts[to + 2 * width] = (T)fresh;
    acts[to + 3 * width] = (T)inner;
  }
}

extern "C" __global__ void __launch_bounds__(256, 1)
gru_step_back(const T* grad, A* carry, const T* acts, const T* before, T* dgates, T* dfrom,
              i64 rows, i64 width) {
  for (i64 n = global_thread(); n < rows * width; n += global_threads()) {
    i64 column = n % width, at = n / width * 3 * width + column, to = n / width * 4 * width + column;
    A r = (A)acts[to], z = (A)acts[to + width], fresh = (A)acts[to + 2 * width];
    A inner = (A)acts[to + 3 * width], whole = (A)grad[n] + carry[n];
    A dz = whole * ((A)before[n] - fresh) * z * (1 - z);
    A dn = whole * (1 - z) * (1 - fresh * fresh), dr = dn * inner * r * (1 - r);
    dgates[at] = dfrom[at] = (T)dr;
    dgates[at + width] = dfrom[at + width] = (T)dz;
    dgates[at + 2 * width] = (T)dn;
    dfrom[at + 2 * width] = (T)(dn * r);
    carry[n] = whole * z;
  }
}

extern "C" __global__ void __launch_bounds__(256, 1)
plain_step(const T* gates, const A* product, T* out, i64 count, int rectified) {
  for (i64 n = global_thread(); n < count; n += global_threads()) {
    A x = (A)gates[n] + product[n];
    out[n] = (T)(rectified ? (x < 0 ? (A)0 : x) : tangent(x));
  }
}

extern "C" __global__ void __launch_bounds__(256, 1)
plain_step_back(const T* grad, A* carry, const T* out, T* dgates, i64 count, int rectified) {
  for (i64 n = global_thread(); n < count; n += global_threads()) {
    A whole = (A)grad[n] + carry[n], y = (A)out[n];
    dgates[n] = (T)(rectified ? (y <= 0 ? (A)0 : whole) : whole * (1 - y * y));
    carry[n] = 0;
  }
}
