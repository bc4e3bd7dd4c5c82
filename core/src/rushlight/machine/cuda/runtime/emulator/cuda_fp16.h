// float16 for the emulator: CUDA's names, round to nearest even, subnormals kept.
#pragma once

struct alignas(2) __half_raw { unsigned short x; };

struct alignas(2) __half {
  unsigned short bits;
  __half() = default;
  __half(__half_raw raw) : bits(raw.x) {}
  template <class V, class = std::enable_if_t<std::is_arithmetic<V>::value>>
  __half(V value) : bits(rounded(float(value))) {}
  static unsigned short rounded(float value) {
    unsigned u = __float_as_uint(value), sign = u >> 16 & 0x8000u, magnitude = u & 0x7fffffffu;
    if (magnitude > 0x7f800000u) return 0x7fff;
    if (magnitude >= 0x477ff000u) return sign | 0x7c00u;
    if (magnitude < 0x38800000u)  // subnormal: units of 2^-24, by the FPU's own rounding
      return sign | unsigned(std::nearbyint(__uint_as_float(magnitude) * 16777216.0f));
    unsigned r = magnitude - 0x38000000u;
    return sign | ((r + 0xfffu + (r >> 13 & 1)) >> 13);
  }
  operator float() const {
    unsigned sign = unsigned(bits & 0x8000u) << 16, exponent = bits >> 10 & 31, part = bits & 1023;
    if (exponent == 31) return __uint_as_float(sign | 0x7f800000u | part << 13);
    if (exponent == 0) {
      float value = part * (1.0f / 16777216.0f);
      return sign ? -value : value;
    }
    return __uint_as_float(sign | (exponent + 112) << 23 | part << 13);
  }
};
typedef __half half;
struct alignas(4) __half2 { __half x, y; };
typedef __half2 half2;

#define EMU_HALF(op) \
  static inline __half operator op(__half a, __half b) { return __half(float(a) op float(b)); }
EMU_HALF(+)
EMU_HALF(-)
EMU_HALF(*)
EMU_HALF(/)
static inline __half __float2half(float v) { return __half(v); }
static inline __half __float2half_rn(float v) { return __half(v); }
static inline __half __double2half(double v) { return __half(float(v)); }
static inline float __half2float(__half v) { return float(v); }
static inline float2 __half22float2(__half2 v) { return {float(v.x), float(v.y)}; }
static inline __half2 __floats2half2_rn(float a, float b) { return {a, b}; }
static inline unsigned short __half_as_ushort(__half v) { return v.bits; }
static inline __half __ushort_as_half(unsigned short v) { return __half(__half_raw{v}); }
