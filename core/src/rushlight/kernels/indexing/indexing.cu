// Moving elements by indices. T is a unit of one, two, four or eight bytes; an element is `units`.
// instances: T=uint8,int16,int32,int64
#include "common.cuh"

__device__ __forceinline__ i64 place_of(i64 index, i64 size, int wraps) {
  if (wraps && index < 0) index += size;
  check_index(index, size);
  return index;
}

// out[o, j, :] = x[o, index[j], :], rows of `width` units. A row belongs to threads along x.
extern "C" __global__ void __launch_bounds__(1024, 1)
take_rows(const T* x, const i64* index, T* out, i64 rows, i64 count, i64 size, i64 width,
          int wraps) {
  i64 row = blockIdx.x * (i64)blockDim.y + threadIdx.y;
  if (row >= rows) return;
  i64 from = row / count * size + place_of(index[row % count], size, wraps);
  map_row(x + from * width, out + row * width, width, [](i64, T v) { return v; });
}

// out[o, index[j], :] = values[o, j, :]; which of equal indices wins is not defined.
extern "C" __global__ void __launch_bounds__(1024, 1)
put_rows(const T* values, const i64* index, T* out, i64 rows, i64 count, i64 size, i64 width,
         int wraps) {
  i64 row = blockIdx.x * (i64)blockDim.y + threadIdx.y;
  if (row >= rows) return;
  i64 to = row / count * size + place_of(index[row % count], size, wraps);
  map_row(values + row * width, out + to * width, width, [](i64, T v) { return v; });
}

// Shapes and strides, in elements, of an index and of what it reads and writes.
struct Walk {
  i64 ndim, dim, size, shape[8], index[8], first[8], second[8];
};

struct Places {
  i64 index, first, second;
};

__device__ __forceinline__ Places places_of(const Walk& w, i64 i) {
  Places p = {0, 0, 0};
  for (int d = (int)w.ndim - 1; d >= 0; d--) {
    i64 at = i % w.shape[d];
    i /= w.shape[d];
    p.index += at * w.index[d];
    p.first += at * w.first[d];
    p.second += at * w.second[d];
  }
  return p;
}

// out[..j..] = x[..index[..j..]..]: the stride of `dim` in `first` is 0.
extern "C" __global__ void __launch_bounds__(256, 1)
gather_elements(const T* x, const i64* index, T* out, i64 count, i64 stride, int units, Walk w) {
  for (i64 i = global_thread(); i < count; i += global_threads()) {
    Places p = places_of(w, i);
    i64 from = p.first + place_of(index[p.index], w.size, 0) * stride;
    for (int u = 0; u < units; u++) out[p.second * units + u] = x[from * units + u];
  }
}

// out[..index[..j..]..] = values[..j..]: the stride of `dim` in `second` is 0.
extern "C" __global__ void __launch_bounds__(256, 1)
scatter_elements(const T* values, const i64* index, T* out, i64 count, i64 stride, int units,
                 Walk w) {
  for (i64 i = global_thread(); i < count; i += global_threads()) {
    Places p = places_of(w, i);
    i64 to = p.second + place_of(index[p.index], w.size, 0) * stride;
    for (int u = 0; u < units; u++) out[to * units + u] = values[p.first * units + u];
  }
}

// Where scatter_elements would write, and where it would read, per element of the index. `skips`:
// negative indices write nowhere, which is -1.
extern "C" __global__ void __launch_bounds__(256, 1)
scatter_places(const i64* index, i64* targets, i64* froms, i64 count, i64 stride, int skips,
               Walk w) {
  for (i64 i = global_thread(); i < count; i += global_threads()) {
    Places p = places_of(w, i);
    i64 at = index[p.index];
    targets[i] = skips && at < 0 ? -1 : p.second + place_of(at, w.size, 0) * stride;
    froms[i] = p.first;
  }
}

// Several indices as one: sum of index[k] * stride[k]; negative ones count from the end.
struct Indices {
  i64 count, address[8], size[8], stride[8];
};
extern "C" __global__ void __launch_bounds__(256, 1)
join_indices(i64* out, i64 n, Indices all) {
  for (i64 i = global_thread(); i < n; i += global_threads()) {
    i64 sum = 0;
    for (int k = 0; k < all.count; k++)
      sum += place_of(((const i64*)all.address[k])[i], all.size[k], 1) * all.stride[k];
    out[i] = sum;
  }
}

// marks: 1 where bytes are not 0; numbers: their running sums.
extern "C" __global__ void __launch_bounds__(256, 1)
write_coordinates(const unsigned char* mask, const i64* numbers, i64* out, i64 n, Indices shape) {
  for (i64 i = global_thread(); i < n; i += global_threads()) {
    if (!mask[i]) continue;
    i64 rest = i, row = numbers[i] - 1;
    if (!shape.count) out[row] = i;
    for (int d = (int)shape.count - 1; d >= 0; d--) {
      out[row * shape.count + d] = rest % shape.size[d];
      rest /= shape.size[d];
    }
  }
}

// Marked elements take the values in order.
extern "C" __global__ void __launch_bounds__(256, 1)
spread_values(const T* x, const unsigned char* mask, const i64* numbers, const T* values, T* out,
              i64 n, i64 available, int units) {
  for (i64 i = global_thread(); i < n; i += global_threads())
    for (int u = 0; u < units; u++) {
      if (mask[i]) check_index(numbers[i] - 1, available);
      out[i * units + u] = mask[i] ? values[(numbers[i] - 1) * units + u] : x[i * units + u];
    }
}
