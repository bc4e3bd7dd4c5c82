// Sums by atomic additions: quicker than sorting, in an order that is not defined.
// instances: T=float32,float64,int32,int64
#include "common.cuh"

__device__ __forceinline__ void add(i64* to, i64 value) { atomicAdd((u64*)to, (u64)value); }
__device__ __forceinline__ void add(int* to, int value) { atomicAdd(to, value); }
__device__ __forceinline__ void add(float* to, float value) { atomicAdd(to, value); }
__device__ __forceinline__ void add(double* to, double value) { atomicAdd(to, value); }

// out[targets[i]] += source[froms[i]]
extern "C" __global__ void __launch_bounds__(256, 1)
add_elements(const T* source, const i64* targets, const i64* froms, T* out, i64 n) {
  for (i64 i = global_thread(); i < n; i += global_threads())
    add(out + targets[i], source[froms[i]]);
}

// out[index[j], :] += source[j, :]
extern "C" __global__ void __launch_bounds__(256, 1)
add_rows(const T* source, const i64* index, T* out, i64 n, i64 width, i64 size) {
  for (i64 i = global_thread(); i < n * width; i += global_threads()) {
    i64 row = index[i / width];
    check_index(row, size);
    add(out + row * width + i % width, source[i]);
  }
}

// Occurrences of 0 .. size - 1.
extern "C" __global__ void __launch_bounds__(256, 1)
count_values(const i64* x, T* out, i64 n, i64 size) {
  for (i64 i = global_thread(); i < n; i += global_threads()) {
    check_index(x[i], size);
    add(out + x[i], (T)1);
  }
}
