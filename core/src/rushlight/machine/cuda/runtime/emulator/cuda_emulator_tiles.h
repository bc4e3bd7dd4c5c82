// The product of tiles by a warp, mma.sync.m16n8k16 with float32 sums. Which lane holds what of the
// operands is stated in the PTX manual; lane = 4 * group + place.
#pragma once

namespace emu {

template <class T>
inline float half_of(unsigned word, int which) {
  unsigned short bits = which ? word >> 16 : word & 0xffff;
  T value;
  memcpy(&value, &bits, sizeof value);
  return float(value);
}

struct FourWords { unsigned w[4]; };
struct TwoWords { unsigned w[2]; };

// c (16 x 8) += a (16 x 16) * b (16 x 8).
template <class T>
inline void multiply_add(float* c, const unsigned* a, const unsigned* b, int line) {
  float rows[2][16], columns[2][16];
  int group = lane() >> 2, place = lane() & 3, first = current & ~31;
  give(FourWords{{a[0], a[1], a[2], a[3]}}, 0xffffffffu, line);
  for (int t = 0; t < 4; t++) {
    FourWords other;
    memcpy(&other, exchange[first + 4 * group + t], sizeof other);
    for (int r = 0; r < 2; r++)
      for (int half = 0; half < 2; half++)
        for (int i = 0; i < 2; i++)
          rows[r][8 * half + 2 * t + i] = half_of<T>(other.w[2 * half + r], i);
  }
  wait_warp(0xffffffffu, line);
  give(TwoWords{{b[0], b[1]}}, 0xffffffffu, line);
  for (int n = 0; n < 2; n++)
    for (int t = 0; t < 4; t++) {
      TwoWords other;
      memcpy(&other, exchange[first + 4 * (2 * place + n) + t], sizeof other);
      for (int half = 0; half < 2; half++)
        for (int i = 0; i < 2; i++)
          columns[n][8 * half + 2 * t + i] = half_of<T>(other.w[half], i);
    }
  wait_warp(0xffffffffu, line);
  participates[current] = false;
  for (int r = 0; r < 2; r++)
    for (int n = 0; n < 2; n++)
      for (int k = 0; k < 16; k++) c[2 * r + n] += rows[r][k] * columns[n][k];
}

}  // namespace emu
