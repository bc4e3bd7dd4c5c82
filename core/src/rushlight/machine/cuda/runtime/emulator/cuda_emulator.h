// CUDA C++ on the CPU: what kernel text needs of the language, for g++.
//
// Every CUDA thread of a block is a fiber; blocks run one after another. A thread that waits at a
// barrier parks its fiber; cuda_emulator.cpp releases warps and blocks when all of them wait and
// reports what would hang or be undefined on a device. Included before any kernel text.
#pragma once
#define RUSHLIGHT_EMULATOR 1
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <type_traits>
#include <utility>

// NVRTC has neither; text that uses them must not pass here.
#undef INFINITY
#undef NAN
#undef assert

#define __global__
#define __device__
#define __host__
#define __constant__ static
#define __shared__ static
#define __managed__ static
#define __forceinline__ inline
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __grid_constant__
#define __align__(n) __attribute__((aligned(n)))
#define __CUDA_ARCH__ 900

#include "cuda_emulator_types.h"

namespace emu {

enum Wait : unsigned char { NEW, READY, AT_WARP, AT_BLOCK, DONE };

// What a thread sees of itself; written by the scheduler whenever a fiber resumes.
extern uint3 thread_index, block_index;
extern dim3 block_size, grid_size;
extern int current;                  // linear number of the running thread in its block
extern unsigned char* shared_bytes;  // dynamic shared memory of the running block
extern uint64_t exchange[1024][2];   // what each thread gave to the running warp operation
extern bool participates[1024];
extern int votes[1024];

void start_shared(void* variable, size_t size);  // poisons it when its block starts
void wait_warp(unsigned mask, int line);
void wait_block(int line);
int vote_block(int predicate, int line);  // number of threads with a true predicate
unsigned live_lanes();
[[noreturn]] void fail(const char* reason, int line);

struct Launch {
  unsigned grid[3];
  unsigned block[3];
  unsigned shared;
  int order;  // 0 forward, 1 reverse, 2 scattered
};
int run_grid(void (*body)(void*), void* closure, const Launch* launch);

template <class... A>
struct Call {
  void (*kernel)(A...);
  void** arguments;
  template <size_t... i>
  void unpack(std::index_sequence<i...>) {
    kernel(*static_cast<std::remove_const_t<A>*>(arguments[i])...);
  }
  static void body(void* self) {
    static_cast<Call*>(self)->unpack(std::make_index_sequence<sizeof...(A)>{});
  }
};

template <class... A>
int run(void (*kernel)(A...), void** arguments, const Launch* launch) {
  Call<A...> call{kernel, arguments};
  return run_grid(&Call<A...>::body, &call, launch);
}

template <class A>
constexpr char kind() {
  return std::is_pointer<A>::value ? 'p' : std::is_floating_point<A>::value ? 'f'
       : std::is_integral<A>::value || std::is_enum<A>::value ? 'i' : 's';
}

// Sizes and kinds of a kernel's parameters: the runtime refuses arguments that do not fit.
template <class... A>
int parameters(void (*)(A...), int* sizes, char* kinds) {
  int n = 0;
  ((sizes[n] = sizeof(A), kinds[n] = kind<A>(), n++), ...);
  return n;
}

inline int lane() { return current & 31; }

template <class T>
inline void give(T value, unsigned mask, int line) {
  static_assert(sizeof(T) <= 16, "a warp exchanges at most 16 bytes");
  if (!(mask >> lane() & 1)) fail("a thread takes part in a warp operation whose mask leaves it out", line);
  memcpy(exchange[current], &value, sizeof value);
  participates[current] = true;
  wait_warp(mask, line);
}

template <class T>
inline T take(int source, unsigned mask, int line) {
  T result;
  int from = (current & ~31) | source;
  if (participates[from] && (mask >> source & 1)) memcpy(&result, exchange[from], sizeof result);
  else memset(&result, 0xCB, sizeof result);  // undefined on a device
  wait_warp(mask, line);
  participates[current] = false;
  return result;
}

template <class T>
inline T shuffle(unsigned mask, T value, int source, int line) {
  give(value, mask, line);
  return take<T>(source, mask, line);
}

template <class T>
inline T shuffle_index(unsigned mask, T value, int source, int width, int line) {
  return shuffle(mask, value, (lane() & ~(width - 1)) | (source & (width - 1)), line);
}

template <class T>
inline T shuffle_up(unsigned mask, T value, unsigned delta, int width, int line) {
  int source = lane() - int(delta);
  return shuffle(mask, value, source < (lane() & ~(width - 1)) ? lane() : source, line);
}

template <class T>
inline T shuffle_down(unsigned mask, T value, unsigned delta, int width, int line) {
  int source = lane() + int(delta);
  return shuffle(mask, value, source > (lane() | (width - 1)) ? lane() : source, line);
}

template <class T>
inline T shuffle_xor(unsigned mask, T value, int bits, int width, int line) {
  int source = lane() ^ bits;
  return shuffle(mask, value, source > (lane() | (width - 1)) ? lane() : source, line);
}

inline unsigned ballot(unsigned mask, int predicate, int line) {
  give(int(predicate != 0), mask, line);
  unsigned result = 0;
  for (int i = 0; i < 32; i++) {
    int from = (current & ~31) | i, value = 0;
    if (!(mask >> i & 1) || !participates[from]) continue;
    memcpy(&value, exchange[from], sizeof value);
    if (value) result |= 1u << i;
  }
  wait_warp(mask, line);
  participates[current] = false;
  return result;
}

template <class T>
inline unsigned match_any(unsigned mask, T value, int line) {
  give(value, mask, line);
  unsigned result = 0;
  for (int i = 0; i < 32; i++) {
    int from = (current & ~31) | i;
    if ((mask >> i & 1) && participates[from] && !memcmp(exchange[from], &value, sizeof value))
      result |= 1u << i;
  }
  wait_warp(mask, line);
  participates[current] = false;
  return result;
}

template <class A, class... Rest>
inline int width_of(A width, Rest...) { return width; }
inline int width_of() { return 32; }

}  // namespace emu

#define threadIdx emu::thread_index
#define blockIdx emu::block_index
#define blockDim emu::block_size
#define gridDim emu::grid_size
constexpr int warpSize = 32;

#define __syncthreads() emu::wait_block(__LINE__)
#define __syncthreads_count(p) emu::vote_block((p) != 0, __LINE__)
#define __syncthreads_or(p) (emu::vote_block((p) != 0, __LINE__) != 0)
#define __syncthreads_and(p) (emu::vote_block(!(p), __LINE__) == 0)
static inline void emulated_syncwarp(int line, unsigned mask = 0xffffffffu) { emu::wait_warp(mask, line); }
#define __syncwarp(...) emulated_syncwarp(__LINE__ __VA_OPT__(, ) __VA_ARGS__)
#define __shfl_sync(mask, value, source, ...) \
  emu::shuffle_index(mask, value, source, emu::width_of(__VA_ARGS__), __LINE__)
#define __shfl_up_sync(mask, value, delta, ...) \
  emu::shuffle_up(mask, value, delta, emu::width_of(__VA_ARGS__), __LINE__)
#define __shfl_down_sync(mask, value, delta, ...) \
  emu::shuffle_down(mask, value, delta, emu::width_of(__VA_ARGS__), __LINE__)
#define __shfl_xor_sync(mask, value, bits, ...) \
  emu::shuffle_xor(mask, value, bits, emu::width_of(__VA_ARGS__), __LINE__)
#define __ballot_sync(mask, predicate) emu::ballot(mask, predicate, __LINE__)
#define __any_sync(mask, predicate) (emu::ballot(mask, predicate, __LINE__) != 0)
#define __all_sync(mask, predicate) (emu::ballot(mask, !(predicate), __LINE__) == 0)
#define __match_any_sync(mask, value) emu::match_any(mask, value, __LINE__)
#define __activemask() emu::live_lanes()
#define __trap() emu::fail("__trap", __LINE__)
#define assert(condition) ((condition) ? (void)0 : emu::fail("assertion " #condition, __LINE__))

static inline void __threadfence() {}
static inline void __threadfence_block() {}
static inline void __threadfence_system() {}
static inline void __nanosleep(unsigned) {}
static inline long long clock64() { return 0; }

#include "cuda_emulator_atomics.h"
#include "cuda_emulator_tiles.h"
#include "cuda_emulator_math.h"
