// Bags of rows of a table: which bag a position belongs to, sums, means and largest elements.
// instances: T=float32,float64,float16,bfloat16
#include "common.cuh"

typedef T_wide A;

// The bag that each position belongs to: bag i has positions starts[i] .. starts[i + 1] - 1.
extern "C" __global__ void __launch_bounds__(256, 1)
bag_numbers(const i64* starts, i64* bags, i64 count, i64 n) {
  for (i64 i = global_thread(); i < n; i += global_threads()) {
    i64 low = 0, high = count;
#pragma unroll 1
    while (high - low > 1) {
      i64 middle = (low + high) / 2;
      if (starts[middle] <= i) low = middle;
      else high = middle;
    }
    bags[i] = low;
  }
}

// 1 / number of elements of each position's bag.
extern "C" __global__ void __launch_bounds__(256, 1)
bag_scales(const i64* bags, const i64* counts, A* scales, i64 n) {
  for (i64 i = global_thread(); i < n; i += global_threads()) {
    i64 count = counts[bags[i]];
    scales[i] = (A)1 / (A)(count > 0 ? count : 1);
  }
}

// mode: 0 sum, 1 mean, 2 max. A thread owns a column of a bag.
extern "C" __global__ void __launch_bounds__(256, 1)
reduce_bags(const T* table, const i64* indices, const i64* starts, const A* scales, T* out,
            i64* counts, i64* places, i64 bags, i64 width, i64 size, i64 padding, int mode) {
  for (i64 i = global_thread(); i < bags * width; i += global_threads()) {
    i64 bag = i / width, column = i % width, count = 0, place = -1;
    A sum = 0;
    for (i64 q = starts[bag]; q < starts[bag + 1]; q++) {
      i64 row = indices[q];
      check_index(row, size);
      if (row == padding) continue;
      A value = (A)table[row * width + column];
      if (scales) value *= scales[q];
      if (mode == 2) {
        if (place < 0 || value > sum || (value != value && sum == sum)) {
          sum = value;
          place = row;
        }
      } else {
        sum += value;
      }
      count++;
    }
    out[i] = (T)(mode == 1 && count ? sum / (A)count : sum);
    if (column == 0) counts[bag] = count;
    if (places) places[i] = place;
  }
}

// Gradient of the scales of positions: the product of a bag's gradient and its row of the table.
extern "C" __global__ void __launch_bounds__(256, 1)
bag_scale_gradients(const T* grad, const T* table, const i64* indices, const i64* bags, T* out,
                    i64 n, i64 width, i64 padding) {
  i64 q = blockIdx.x * (i64)blockDim.y + threadIdx.y;
  if (q >= n) return;
  A sum = 0;
  i64 row = indices[q];
  if (row != padding)
    each(grad + bags[q] * width, table + row * width, width,
         [&](i64, T g, T v) { sum += (A)g * (A)v; });
  sum = combine_warp(sum, Add());
  if (threadIdx.x == 0) out[q] = (T)sum;
}
