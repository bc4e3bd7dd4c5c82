// CUDA's vector types, with the alignment a device demands.
#pragma once

#define EMU_VECTOR2(name, T, a) \
  struct alignas(a) name { T x, y; }; \
  static inline name make_##name(T x, T y) { return {x, y}; }
#define EMU_VECTOR3(name, T) \
  struct name { T x, y, z; }; \
  static inline name make_##name(T x, T y, T z) { return {x, y, z}; }
#define EMU_VECTOR4(name, T, a) \
  struct alignas(a) name { T x, y, z, w; }; \
  static inline name make_##name(T x, T y, T z, T w) { return {x, y, z, w}; }
#define EMU_VECTORS(name, T, a2, a4) \
  struct name##1 { T x; }; \
  EMU_VECTOR2(name##2, T, a2) EMU_VECTOR3(name##3, T) EMU_VECTOR4(name##4, T, a4)

EMU_VECTORS(char, signed char, 2, 4)
EMU_VECTORS(uchar, unsigned char, 2, 4)
EMU_VECTORS(short, short, 4, 8)
EMU_VECTORS(ushort, unsigned short, 4, 8)
EMU_VECTORS(int, int, 8, 16)
EMU_VECTORS(uint, unsigned, 8, 16)
EMU_VECTORS(long, long, 16, 16)
EMU_VECTORS(longlong, long long, 16, 16)
EMU_VECTORS(ulonglong, unsigned long long, 16, 16)
EMU_VECTORS(float, float, 8, 16)
EMU_VECTORS(double, double, 16, 16)

struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
};
