// CUDA's mathematical functions and intrinsics, by the C library.
#pragma once

using std::abs;
using std::ceil;
using std::cos;
using std::exp;
using std::fabs;
using std::floor;
using std::fma;
using std::fmax;
using std::fmin;
using std::fmod;
using std::isfinite;
using std::isinf;
using std::isnan;
using std::log;
using std::pow;
using std::round;
using std::signbit;
using std::sin;
using std::sqrt;
using std::tanh;
using std::trunc;

template <class A, class B>
static inline std::common_type_t<A, B> min(A a, B b) {
  using C = std::common_type_t<A, B>;
  return C(b) < C(a) ? C(b) : C(a);
}
template <class A, class B>
static inline std::common_type_t<A, B> max(A a, B b) {
  using C = std::common_type_t<A, B>;
  return C(a) < C(b) ? C(b) : C(a);
}

template <class T> static inline T __ldg(const T* p) { return *p; }
template <class T> static inline T __ldcs(const T* p) { return *p; }
template <class T> static inline T __ldcg(const T* p) { return *p; }
template <class T> static inline T __ldca(const T* p) { return *p; }
template <class T> static inline T __ldlu(const T* p) { return *p; }
template <class T> static inline T __ldcv(const T* p) { return *p; }
template <class T> static inline void __stcs(T* p, T v) { *p = v; }
template <class T> static inline void __stcg(T* p, T v) { *p = v; }
template <class T> static inline void __stwb(T* p, T v) { *p = v; }
template <class T> static inline void __stwt(T* p, T v) { *p = v; }

template <class R, class V>
static inline R emulated_bits(V v) {
  static_assert(sizeof(R) == sizeof(V), "same size");
  R r;
  memcpy(&r, &v, sizeof r);
  return r;
}
static inline int __float_as_int(float v) { return emulated_bits<int>(v); }
static inline unsigned __float_as_uint(float v) { return emulated_bits<unsigned>(v); }
static inline float __int_as_float(int v) { return emulated_bits<float>(v); }
static inline float __uint_as_float(unsigned v) { return emulated_bits<float>(v); }
static inline long long __double_as_longlong(double v) { return emulated_bits<long long>(v); }
static inline double __longlong_as_double(long long v) { return emulated_bits<double>(v); }
static inline int __double2hiint(double v) { return int(__double_as_longlong(v) >> 32); }
static inline int __double2loint(double v) { return int(__double_as_longlong(v)); }
static inline double __hiloint2double(int hi, int lo) {
  return __longlong_as_double((long long)(hi) << 32 | (unsigned)lo);
}

static inline unsigned __umulhi(unsigned a, unsigned b) { return (unsigned long long)a * b >> 32; }
static inline int __mulhi(int a, int b) { return (long long)a * b >> 32; }
static inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return (unsigned __int128)a * b >> 64;
}
static inline long long __mul64hi(long long a, long long b) { return (__int128)a * b >> 64; }
static inline int __mul24(int a, int b) { return a * b; }
static inline int __popc(unsigned v) { return __builtin_popcount(v); }
static inline int __popcll(unsigned long long v) { return __builtin_popcountll(v); }
static inline int __clz(int v) { return v ? __builtin_clz(v) : 32; }
static inline int __clzll(long long v) { return v ? __builtin_clzll(v) : 64; }
static inline int __ffs(int v) { return __builtin_ffs(v); }
static inline int __ffsll(long long v) { return __builtin_ffsll(v); }
static inline unsigned __brev(unsigned v) {
  unsigned r = 0;
  for (int i = 0; i < 32; i++) r |= (v >> i & 1) << (31 - i);
  return r;
}
static inline unsigned __byte_perm(unsigned a, unsigned b, unsigned s) {
  unsigned long long both = (unsigned long long)b << 32 | a;
  unsigned r = 0;
  for (int i = 0; i < 4; i++) r |= unsigned(both >> 8 * (s >> 4 * i & 7) & 255) << 8 * i;
  return r;
}
static inline unsigned __funnelshift_l(unsigned lo, unsigned hi, unsigned s) {
  return ((unsigned long long)hi << 32 | lo) << (s & 31) >> 32;
}
static inline unsigned __funnelshift_r(unsigned lo, unsigned hi, unsigned s) {
  return ((unsigned long long)hi << 32 | lo) >> (s & 31);
}

static inline float rsqrtf(float v) { return 1.0f / sqrtf(v); }
static inline double rsqrt(double v) { return 1.0 / ::sqrt(v); }
static inline float rcbrtf(float v) { return 1.0f / cbrtf(v); }
static inline double rcbrt(double v) { return 1.0 / cbrt(v); }
static inline float rhypotf(float a, float b) { return 1.0f / hypotf(a, b); }
static inline float sinpif(float v) { return float(::sin(M_PI * fmod(double(v), 2.0))); }
static inline float cospif(float v) { return float(::cos(M_PI * fmod(double(v), 2.0))); }
static inline double sinpi(double v) { return ::sin(M_PI * fmod(v, 2.0)); }
static inline double cospi(double v) { return ::cos(M_PI * fmod(v, 2.0)); }
static inline void sincospif(float v, float* s, float* c) { *s = sinpif(v); *c = cospif(v); }
static inline void sincospi(double v, double* s, double* c) { *s = sinpi(v); *c = cospi(v); }
static inline float normcdff(float v) { return float(0.5 * ::erfc(-double(v) * M_SQRT1_2)); }
static inline double normcdf(double v) { return 0.5 * ::erfc(-v * M_SQRT1_2); }
static inline float __saturatef(float v) { return v > 0 ? (v < 1 ? v : 1.0f) : 0.0f; }
// The C library keeps these names to itself.
#define __expf(v) expf(v)
#define __exp10f(v) powf(10.0f, v)
#define __logf(v) logf(v)
#define __log2f(v) log2f(v)
#define __log10f(v) log10f(v)
#define __sinf(v) sinf(v)
#define __cosf(v) cosf(v)
#define __tanf(v) tanf(v)
#define __powf(a, b) powf(a, b)
#define __sincosf(v, s, c) sincosf(v, s, c)
static inline float cyl_bessel_i0f(float v) { return float(std::cyl_bessel_i(0.0, fabs(double(v)))); }
static inline double cyl_bessel_i0(double v) { return std::cyl_bessel_i(0.0, fabs(v)); }
static inline float cyl_bessel_i1f(float v) { return float(copysign(std::cyl_bessel_i(1.0, fabs(double(v))), v)); }
static inline double cyl_bessel_i1(double v) { return copysign(std::cyl_bessel_i(1.0, fabs(v)), v); }
static inline float __fdividef(float a, float b) { return a / b; }
static inline float fdividef(float a, float b) { return a / b; }

#define EMU_ARITHMETIC(T, p) \
  static inline T __##p##add_rn(T a, T b) { return a + b; } \
  static inline T __##p##sub_rn(T a, T b) { return a - b; } \
  static inline T __##p##mul_rn(T a, T b) { return a * b; } \
  static inline T __##p##div_rn(T a, T b) { return a / b; }
EMU_ARITHMETIC(float, f)
EMU_ARITHMETIC(double, d)
static inline float __fmaf_rn(float a, float b, float c) { return fmaf(a, b, c); }
static inline double __fma_rn(double a, double b, double c) { return ::fma(a, b, c); }
static inline float __fsqrt_rn(float v) { return sqrtf(v); }
static inline double __dsqrt_rn(double v) { return ::sqrt(v); }
static inline float __frcp_rn(float v) { return 1.0f / v; }
static inline float __frsqrt_rn(float v) { return 1.0f / sqrtf(v); }

// Conversions to integers saturate on a device and give 0 for NaN; C++ leaves that undefined.
template <class R, class V>
static inline R emulated_saturate(V v) {
  if (v != v) return 0;
  constexpr V low = V(std::is_signed<R>::value ? -(V(1) * (1ull << (8 * sizeof(R) - 1))) : 0);
  constexpr V high = V(2) * V(1ull << (8 * sizeof(R) - 1 - std::is_signed<R>::value));
  if (v >= high) return std::is_signed<R>::value ? R(~(1ull << (8 * sizeof(R) - 1))) : R(~0ull);
  return v <= low ? R(std::is_signed<R>::value ? 1ull << (8 * sizeof(R) - 1) : 0) : R(v);
}
#define EMU_ROUNDINGS(from, F, to, R) \
  static inline R __##from##2##to##_rn(F v) { return emulated_saturate<R>(std::nearbyint(v)); } \
  static inline R __##from##2##to##_rz(F v) { return emulated_saturate<R>(std::trunc(v)); } \
  static inline R __##from##2##to##_rd(F v) { return emulated_saturate<R>(std::floor(v)); } \
  static inline R __##from##2##to##_ru(F v) { return emulated_saturate<R>(std::ceil(v)); }
EMU_ROUNDINGS(float, float, int, int)
EMU_ROUNDINGS(float, float, uint, unsigned)
EMU_ROUNDINGS(float, float, ll, long long)
EMU_ROUNDINGS(float, float, ull, unsigned long long)
EMU_ROUNDINGS(double, double, int, int)
EMU_ROUNDINGS(double, double, uint, unsigned)
EMU_ROUNDINGS(double, double, ll, long long)
EMU_ROUNDINGS(double, double, ull, unsigned long long)
static inline float __int2float_rn(int v) { return float(v); }
static inline float __uint2float_rn(unsigned v) { return float(v); }
static inline float __ll2float_rn(long long v) { return float(v); }
static inline double __int2double_rn(int v) { return double(v); }
static inline double __uint2double_rn(unsigned v) { return double(v); }
static inline double __ll2double_rn(long long v) { return double(v); }
static inline float __double2float_rn(double v) { return float(v); }

// The rest of CUDA's special functions, in double precision through the C library.
static inline double emulated_erfinv(double p) {
  if (p <= -1 || p >= 1) return p == 1 ? HUGE_VAL : p == -1 ? -HUGE_VAL : std::nan("");
  double w = -std::log((1 - p) * (1 + p)), s = std::sqrt(w), x;
  x = w < 5 ? p * (1.501409 + (w - 2.5) * (0.246641 + (w - 2.5) * -0.004178))
            : (p < 0 ? -1 : 1) * (2.832977 + (s - 3) * (1.001674 + (s - 3) * 0.009439));
  for (int i = 0; i < 4; i++) {  // Newton with Halley's correction
    double e = x < 0 ? -(std::erfc(-x) - (1 + p)) : -(std::erfc(x) - (1 - p));
    double d = e / (M_2_SQRTPI * std::exp(-x * x));
    x -= d / (1 + x * d);
  }
  return x;
}
static inline double erfinv(double v) { return emulated_erfinv(v); }
static inline float erfinvf(float v) { return float(emulated_erfinv(v)); }
static inline double erfcinv(double v) { return emulated_erfinv(1 - v); }
static inline float erfcinvf(float v) { return float(emulated_erfinv(1 - double(v))); }
static inline double normcdfinv(double v) { return M_SQRT2 * emulated_erfinv(2 * v - 1); }
static inline float normcdfinvf(float v) { return float(normcdfinv(double(v))); }
static inline double erfcx(double v) {
  if (v < 25) return std::exp(v * v) * std::erfc(v);
  double q = 1 / (v * v);
  return 0.5641895835477562869 / v * (1 - 0.5 * q * (1 - 1.5 * q * (1 - 2.5 * q)));
}
static inline float erfcxf(float v) { return float(erfcx(double(v))); }
