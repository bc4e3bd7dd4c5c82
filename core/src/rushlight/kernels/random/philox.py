"""Random numbers on a device: Philox 4x32-10 (Salmon et al., 2011), counter-based.

The state, a seed and an offset, is in device memory and is advanced by a kernel: drawing waits
for nothing, and a captured graph draws new numbers at every replay.
"""

from __future__ import annotations

import functools
import importlib
import threading

from rushlight.compiler.cuda.device_array import DeviceArray, empty
from rushlight.machine import np
from rushlight.machine.cuda import runtime

_KINDS = {"f32": np.dtype(np.float32), "f64": np.dtype(np.float64), "i64": np.dtype(np.int64)}


@functools.cache
def _kernels():
    return importlib.import_module("rushlight.kernels.random.cuda")


class PhiloxEngine:
    """The generator of one device; the methods of the CPU's engine, with device arrays."""

    def __init__(self, seed: int, device: int):
        self.initial_seed, self.device = seed, device
        self.lock = threading.RLock()
        self._state: DeviceArray | None = None
        self._start = seed, 0

    def state(self) -> DeviceArray:
        """Seed and offset in device memory, there from the first draw on."""
        if self._state is None:
            self._state = empty((2,), np.dtype(np.uint64), self.device)
            self._write(*self._start)
        return self._state

    def _begin(self, seed, offset):
        """Start somewhere: now, since captured graphs read the state, or at the next draw."""
        self.initial_seed, self._start = seed, (seed, offset)
        if self._state is not None and runtime.available():
            self._write(seed, offset)
        else:
            self._state = None

    def _write(self, seed, offset):
        words = self._state.view(np.dtype(np.int64))
        for place, value in enumerate((seed, offset)):
            words[place] = (value + (1 << 63)) % (1 << 64) - (1 << 63)

    def seed(self, seed: int) -> None:
        """Start the stream of a seed."""
        self._begin(seed, 0)

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
        self._begin(seed, offset)

    # ---- draws
    def _draw(self, name, kind, count, *numbers) -> DeviceArray:
        out = empty((count,), _KINDS[kind], self.device)
        if count:
            getattr(_kernels(), name)(out, *numbers, self.state())
        return out

    def _real(self, name, count, double, *numbers):
        return self._draw(name, "f64" if double else "f32", count, *numbers)

    def uniform(self, count, double):
        """Samples from [0, 1)."""
        return self._real("uniform_", count, double, 0.0, 1.0)

    def uniform_between(self, count, low, high, double):
        """Samples from [low, high)."""
        return self._real("uniform_", count, double, low, high)

    def normal(self, count, mean, std, double, half=False, box_muller=None):
        """Normal samples."""
        return self._real("normal_", count, double, mean, std)

    def serial_normals(self, count):
        """Standard normal samples in float64."""
        return self._real("normal_", count, True, 0.0, 1.0)

    def bernoulli(self, count, p):
        """1 with probability `p`, else 0, in float32."""
        return self._real("bernoulli_", count, False, p)

    def exponential(self, count, rate):
        """Exponential samples in float64."""
        return self._real("exponential_", count, True, rate)

    def cauchy(self, count, median, sigma):
        """Cauchy samples in float64."""
        return np.tan((self.uniform(count, True) - 0.5) * np.pi) * sigma + median

    def geometric(self, count, p):
        """The number of trials until one of probability `p` succeeds, in float64."""
        return np.ceil(np.log1p(-self.uniform(count, True)) / np.log1p(-p)).clip(1)

    def integers(self, count, low, high, wide=None):
        """Integers from [low, high); draws have 64 bits, `wide` or not."""
        return self._draw("integers_", "i64", count, low, high)

    def permutation(self, count) -> DeviceArray:
        """The numbers 0 .. count-1 in random order: the order of random keys."""
        return self.integers(count, 0, 1 << 62).argsort(kind="stable")
