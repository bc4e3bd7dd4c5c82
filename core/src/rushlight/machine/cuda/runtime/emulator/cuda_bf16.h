// bfloat16 for the emulator: CUDA's names, round to nearest even.
#pragma once

struct alignas(2) __nv_bfloat16_raw { unsigned short x; };

struct alignas(2) __nv_bfloat16 {
  unsigned short bits;
  __nv_bfloat16() = default;
  __nv_bfloat16(__nv_bfloat16_raw raw) : bits(raw.x) {}
  template <class V, class = std::enable_if_t<std::is_arithmetic<V>::value>>
  __nv_bfloat16(V value) : bits(rounded(float(value))) {}
  static unsigned short rounded(float value) {
    unsigned u = __float_as_uint(value);
    if ((u & 0x7fffffffu) > 0x7f800000u) return 0x7fff;
    return (u + 0x7fffu + (u >> 16 & 1)) >> 16;
  }
  operator float() const { return __uint_as_float(unsigned(bits) << 16); }
};
typedef __nv_bfloat16 nv_bfloat16;
struct alignas(4) __nv_bfloat162 { __nv_bfloat16 x, y; };
typedef __nv_bfloat162 nv_bfloat162;

#define EMU_BFLOAT16(op) \
  static inline __nv_bfloat16 operator op(__nv_bfloat16 a, __nv_bfloat16 b) { \
    return __nv_bfloat16(float(a) op float(b)); }
EMU_BFLOAT16(+)
EMU_BFLOAT16(-)
EMU_BFLOAT16(*)
EMU_BFLOAT16(/)
static inline __nv_bfloat16 __float2bfloat16(float v) { return __nv_bfloat16(v); }
static inline __nv_bfloat16 __float2bfloat16_rn(float v) { return __nv_bfloat16(v); }
static inline __nv_bfloat16 __double2bfloat16(double v) { return __nv_bfloat16(float(v)); }
static inline float __bfloat162float(__nv_bfloat16 v) { return float(v); }
static inline float2 __bfloat1622float2(__nv_bfloat162 v) { return {float(v.x), float(v.y)}; }
static inline __nv_bfloat162 __floats2bfloat162_rn(float a, float b) { return {a, b}; }
static inline unsigned short __bfloat16_as_ushort(__nv_bfloat16 v) { return v.bits; }
static inline __nv_bfloat16 __ushort_as_bfloat16(unsigned short v) {
  return __nv_bfloat16(__nv_bfloat16_raw{v});
}
