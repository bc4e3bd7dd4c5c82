"""Random numbers on a device: Philox 4x32-10 (Salmon et al., 2011), counter-based.

The state, a seed and an offset, lies in device memory and is advanced by a kernel: drawing waits
for nothing, and a captured graph draws new numbers at every replay. Thread `i` of a draw has
subsequence `i` and the generator's offset; four 32-bit words come of one step.
"""

from __future__ import annotations

import functools
import threading

from rushlight.backends import np
from rushlight.backends.cuda import runtime
from rushlight.backends.cuda.device_array import DeviceArray, empty

_TEXT = """
struct Words { unsigned x, y, z, w; };
static __device__ inline Words philox(const unsigned long long* state, unsigned long long thread) {
  unsigned long long seed = state[0], step = state[1] / 4;
  unsigned k0 = (unsigned)seed, k1 = (unsigned)(seed >> 32);
  Words c = {(unsigned)step, (unsigned)(step >> 32), (unsigned)thread, (unsigned)(thread >> 32)};
  for (int round = 0; round < 10; ++round) {
    unsigned high0 = __umulhi(0xD2511F53u, c.x), low0 = 0xD2511F53u * c.x;
    unsigned high1 = __umulhi(0xCD9E8D57u, c.z), low1 = 0xCD9E8D57u * c.z;
    c = {high1 ^ c.y ^ k0, low1, high0 ^ c.w ^ k1, low0};
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return c;
}
static __device__ inline unsigned word(const Words& c, int i) { return i == 0 ? c.x : i == 1 ? c.y : i == 2 ? c.z : c.w; }
static __device__ inline float unit(unsigned x) { return (float)(x >> 8) * 5.9604644775390625e-8f; }
static __device__ inline double unit(unsigned x, unsigned y) {
  unsigned long long bits = (((unsigned long long)x << 32) | y) >> 11;
  return (double)bits * 1.1102230246251565e-16;
}
#define THREAD ((unsigned long long)blockIdx.x * 256 + threadIdx.x)
#define RADIUS(u) sqrtf(-2.0f * logf(1.0f - (u)))
#define ANGLE(u) (6.283185307179586f * (u))
extern "C" __global__ void integers_i64(long long* out, long long n, const unsigned long long* state, long long low, unsigned long long span) {
  unsigned long long thread = THREAD;
  if ((long long)thread * 2 >= n) return;
  Words c = philox(state, thread);
  for (int i = 0; i < 2; ++i) {
    long long at = (long long)thread * 2 + i;
    unsigned long long bits = ((unsigned long long)word(c, 2 * i) << 32) | word(c, 2 * i + 1);
    if (at < n) out[at] = (long long)((unsigned long long)low + (span ? bits % span : bits));
  }
}
extern "C" __global__ void philox_advance(unsigned long long* state, unsigned long long by) { state[1] += by; }
extern "C" __global__ void philox_place(unsigned long long* state, unsigned long long seed, unsigned long long offset) { state[0] = seed; state[1] = offset; }
"""
# Name, type, elements of one step, what is computed once, and an element; a: low, mean, chance or
# rate; b: high or standard deviation. Normals by Box and Muller's transform of pairs.
_DRAWS = (
    ("uniform_f32", "float", 4, "float low = (float)a, span = (float)b - low;",
     "low + unit(word(c, i)) * span"),
    ("uniform_f64", "double", 2, "double low = a, span = b - a;",
     "low + unit(word(c, 2 * i), word(c, 2 * i + 1)) * span"),
    ("bernoulli_f32", "float", 4, "", "(double)unit(word(c, i)) < a ? 1.0f : 0.0f"),
    ("exponential_f32", "float", 4, "", "(float)(-log1p(-(double)unit(word(c, i))) / a)"),
    ("exponential_f64", "double", 2, "",
     "-log1p(-unit(word(c, 2 * i), word(c, 2 * i + 1))) / a"),
    ("normal_f32", "float", 4,
     "float r0 = RADIUS(unit(c.x)), t0 = ANGLE(unit(c.y));"
     "float r1 = RADIUS(unit(c.z)), t1 = ANGLE(unit(c.w));",
     "(float)a + (float)b * ((i < 2 ? r0 : r1) * "
     "(i % 2 ? sinf(i < 2 ? t0 : t1) : cosf(i < 2 ? t0 : t1)))"),
    ("normal_f64", "double", 2,
     "double r = sqrt(-2.0 * log(1.0 - unit(c.x, c.y))), t = 6.283185307179586 * unit(c.z, c.w);",
     "a + b * (r * (i ? sin(t) : cos(t)))"),
)  # fmt: skip


def _kernel(name, kind, many, once, element):
    return f"""
extern "C" __global__ void {name}({kind}* out, long long n, const unsigned long long* state, double a, double b) {{
  unsigned long long thread = THREAD;
  if ((long long)thread * {many} >= n) return;
  Words c = philox(state, thread);
  {once}
  for (int i = 0; i < {many}; ++i) {{
    long long at = (long long)thread * {many} + i;
    if (at < n) out[at] = {element};
  }}
}}
"""


_SOURCE = _TEXT + "".join(_kernel(*draw) for draw in _DRAWS)
_MANY = {"f32": 4, "f64": 2, "i64": 2}
_KINDS = {"f32": np.dtype(np.float32), "f64": np.dtype(np.float64), "i64": np.dtype(np.int64)}


def source():
    """(name, text, options), for those who compile all kernels."""
    return "philox", _SOURCE, ()


@functools.cache
def _module(name, device):
    return runtime.current().load(_SOURCE, ())


def _launch(name, items, arguments, device):
    current = runtime.current()
    kernel = _module(current.name, device).kernel(name)
    grid, block = (-(-items // 256), 1, 1), (256 if items > 1 else 1, 1, 1)
    current.launch(kernel, grid, block, 0, current.streams.current(device), arguments)


class PhiloxEngine:
    """The generator of one device; the methods of the CPU's engine, with device arrays."""

    def __init__(self, seed: int, device: int):
        self.initial_seed, self.device = seed, device
        self.lock = threading.RLock()
        self._state, self._start = None, (seed, 0)

    def _place(self):
        """The state in device memory, made at the first draw."""
        if self._state is None:
            self._state = empty((2,), np.dtype(np.uint64), self.device)
            self._write(*self._start)
        return self._state.address

    def _write(self, seed, offset):
        mask = (1 << 64) - 1
        arguments = (self._state.address, np.uint64(seed & mask), np.uint64(offset & mask))
        _launch("philox_place", 1, arguments, self.device)

    def seed(self, seed: int) -> None:
        """Start the stream of a seed."""
        self.initial_seed, self._start = seed, (seed, 0)
        if self._state is not None:
            self._write(seed, 0)

    def get_state(self) -> bytes:
        """Seed and offset, 8 bytes each. Waits for the device."""
        if self._state is None:
            words = np.array([v & (1 << 64) - 1 for v in self._start], np.uint64)
        else:
            words = self._state.get()
        return words.tobytes()

    def set_state(self, state: bytes) -> None:
        """Continue from a state."""
        if len(state) != 16:
            raise RuntimeError(
                f"RNG state is wrong size: a CUDA generator's has 16 bytes, got {len(state)}"
            )
        seed, offset = np.frombuffer(state, np.uint64).tolist()
        self.initial_seed, self._start = seed, (seed, offset)
        if self._state is not None:
            self._write(seed, offset)

    # ---- draws
    def _draw(self, name, kind, count, a, b) -> DeviceArray:
        out = empty((count,), _KINDS[kind], self.device)
        if count:
            arguments = (out.address, np.int64(count), self._place(), a, b)
            _launch(f"{name}_{kind}", -(-count // _MANY[kind]), arguments, self.device)
            _launch("philox_advance", 1, (self._place(), np.uint64(4)), self.device)
        return out

    def _real(self, name, count, double, a, b=0.0):
        kind = "f64" if double else "f32"
        return self._draw(name, kind, count, np.float64(a), np.float64(b))

    def uniform(self, count, double):
        """Samples from [0, 1)."""
        return self._real("uniform", count, double, 0.0, 1.0)

    def uniform_between(self, count, low, high, double):
        """Samples from [low, high)."""
        return self._real("uniform", count, double, low, high)

    def normal(self, count, mean, std, double, half=False, box_muller=None):
        """Normal samples."""
        return self._real("normal", count, double, mean, std)

    def serial_normals(self, count):
        """Standard normal samples in float64."""
        return self._real("normal", count, True, 0.0, 1.0)

    def bernoulli(self, count, p):
        """1 with probability `p`, else 0, in float32."""
        return self._real("bernoulli", count, False, p)

    def exponential(self, count, rate):
        """Exponential samples in float64."""
        return self._real("exponential", count, True, rate)

    def integers(self, count, low, high):
        """Integers from [low, high)."""
        span = (high - low) & (1 << 64) - 1
        return self._draw("integers", "i64", count, np.int64(low), np.uint64(span))

    def permutation(self, count) -> DeviceArray:
        """The numbers 0 .. count-1 in random order: the order of random keys."""
        return self.integers(count, -(1 << 63), 1 << 63).argsort(kind="stable")

