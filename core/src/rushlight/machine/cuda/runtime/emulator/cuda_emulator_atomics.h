// Atomic functions: one fiber runs at a time, so plain read and write are atomic here.
#pragma once

template <class T, class V>
static inline T atomicAdd(T* p, V v) { T old = *p; *p = T(old + T(v)); return old; }
template <class T, class V>
static inline T atomicSub(T* p, V v) { T old = *p; *p = T(old - T(v)); return old; }
template <class T, class V>
static inline T atomicMax(T* p, V v) { T old = *p; if (T(v) > old) *p = T(v); return old; }
template <class T, class V>
static inline T atomicMin(T* p, V v) { T old = *p; if (T(v) < old) *p = T(v); return old; }
template <class T, class V>
static inline T atomicExch(T* p, V v) { T old = *p; *p = T(v); return old; }
template <class T, class V>
static inline T atomicAnd(T* p, V v) { T old = *p; *p = T(old & T(v)); return old; }
template <class T, class V>
static inline T atomicOr(T* p, V v) { T old = *p; *p = T(old | T(v)); return old; }
template <class T, class V>
static inline T atomicXor(T* p, V v) { T old = *p; *p = T(old ^ T(v)); return old; }
template <class T, class C, class V>
static inline T atomicCAS(T* p, C compare, V v) {
  T old = *p;
  if (old == T(compare)) *p = T(v);
  return old;
}
static inline unsigned atomicInc(unsigned* p, unsigned limit) {
  unsigned old = *p;
  *p = old >= limit ? 0 : old + 1;
  return old;
}
static inline unsigned atomicDec(unsigned* p, unsigned limit) {
  unsigned old = *p;
  *p = old == 0 || old > limit ? limit : old - 1;
  return old;
}
#define atomicAdd_block atomicAdd
#define atomicMax_block atomicMax
#define atomicAdd_system atomicAdd
