"""PyTorch's CPU random numbers: MT19937 and the transforms from its 32-bit draws to samples.

Same seed, same draws, in the same order as PyTorch's generic (non-MKL) CPU path.
"""

from __future__ import annotations

import functools
import math
import struct
import threading

from rushlight.machine import np, threads
from rushlight.settings import kernels_mode

_STATE_BYTES = 5056
_WORDS = 624
_COMPILED = 1024  # draws from which on compiled code makes them, even if no kernel has run before


def fused(factor, other: float, shift: float):
    """``factor * other + shift``, rounded once. The errors of product and sum are found exactly
    (Dekker, 1971; Knuth) and added last. `factor` is a float64 array below 1."""
    splitter = 2.0**27 + 1.0
    if abs(other) > 2.0**990:  # splitting it would overflow
        return (factor.astype(np.longdouble) * other + shift).astype(np.float64)
    high, other_high = factor * splitter, other * splitter
    high, other_high = high - (high - factor), other_high - (other_high - other)
    low, other_low = factor - high, other - other_high
    product = factor * other
    missed = ((high * other_high - product) + high * other_low + low * other_high) + low * other_low
    out = product + shift
    back = out - product
    return out + (((product - (out - back)) + (shift - back)) + missed)


class MersenneTwister:
    """The engine and the cached second value of the double Box-Muller transform."""

    def __init__(self, seed: int):
        self.lock = threading.RLock()
        self.calls: dict = {}  # compiled calls that draw from it, by what they make
        self.seed(seed)

    @functools.cached_property
    def bits(self):
        """NumPy's engine, which holds the state. Made when it is first asked for: `numpy.random` is
        a tenth of the time that importing this package would take."""
        bits = np.random.MT19937()
        bits._legacy_seeding(self.initial_seed & 0xFFFFFFFF)
        return bits

    def seed(self, seed: int) -> None:
        """Start the stream of a 64-bit seed (its low 32 bits count)."""
        self.initial_seed = seed & 0xFFFFFFFFFFFFFFFF
        if "bits" in self.__dict__:
            self.bits._legacy_seeding(self.initial_seed & 0xFFFFFFFF)
        self.cached_normal: float | None = None
        self.fresh = True

    def raw(self, count: int):
        """The next `count` 32-bit draws, as uint64."""
        self.fresh = False
        if count < _COMPILED or kernels_mode() == "reference":
            return self.bits.random_raw(count)
        return self._filled(np.empty(count, np.uint64), 0)

    def _filled(self, out, way):
        from rushlight.kernels.random.mersenne_twister import fill

        self.fresh = False
        fill(self.bits, out, way)
        return out

    # ------------------------------------------------------------------ uniforms
    def uniform(self, count: int, double: bool):
        """Uniforms in [0, 1): 24 bits of one draw, or 53 bits of two."""
        compiled = count >= _COMPILED or count > 0 and not threads.is_cold()
        if compiled and kernels_mode() != "reference":
            out = np.empty(count, np.float64 if double else np.float32)
            return self._filled(out, 2 if double else 1)
        if not double:
            low = (self.raw(count) & np.uint64(0xFFFFFF)).astype(np.float32)
            return low * np.float32(2.0**-24)
        return (self.raw64(count) & np.uint64((1 << 53) - 1)).astype(np.float64) * 2.0**-53

    def raw64(self, count: int):
        """64-bit values, the first draw high."""
        pairs = self.raw(2 * count).reshape(count, 2)
        return (pairs[:, 0] << np.uint64(32)) | pairs[:, 1]

    def uniform_between(self, count: int, low: float, high: float, double: bool):
        """``u * (high - low) + low`` in the precision of the sample, as a fused multiply-add."""
        kind = np.float64 if double else np.float32
        u = self.uniform(count, double)
        start, end = kind(low), kind(high)
        if start == 0 and end == 1:
            return u
        if double:
            return fused(u, float(end - start), float(start))
        return (u.astype(np.float64) * np.float64(end - start) + np.float64(start)).astype(kind)

    # ------------------------------------------------------------------ normals
    def normal(self, count: int, mean: float, std: float, double: bool, half=False, transform=None):
        """Normals: Box-Muller on blocks of 16, or one by one below 16 values. The rest after the
        last whole block draws its uniforms too, except for half-width floats. `transform` may take
        the place of :func:`box_muller`."""
        transform = transform or box_muller
        if count < 16:
            return np.array([value * std + mean for value in self.few_normals(count)])
        kind = np.float64 if double else np.float32
        whole = count - count % 16
        data = self.uniform(whole if half else count, double)
        out = np.empty(count, kind)
        out[:whole] = transform(data[:whole], mean, std)
        if whole != count:
            out[-16:] = transform(self.uniform(16, double), mean, std)
        return out

    def few_normals(self, count: int, draw=None) -> list[float]:
        """Standard normals one by one, by the C library's functions. ``draw()`` may give the
        uniforms that are needed, two for each pair that is begun."""
        kept = self.cached_normal
        found = [] if kept is None or not count else [kept]
        pairs = (count - len(found) + 1) // 2
        uniforms: list[float] = []
        if pairs:
            uniforms = (self.uniform(2 * pairs, True) if draw is None else draw()).tolist()
        for u1, u2 in zip(uniforms[::2], uniforms[1::2], strict=True):
            radius = math.sqrt(-2.0 * math.log1p(-u2))
            theta = 2.0 * math.pi * u1
            found += radius * math.cos(theta), radius * math.sin(theta)
        if count:
            self.cached_normal = found.pop() if len(found) > count else None
        return found

    def serial_normals(self, count: int):
        """Standard normals one after the other, as double Box-Muller pairs, whatever the count."""
        out = np.empty(count)
        filled = 0
        if count and self.cached_normal is not None:
            out[0], self.cached_normal, filled = self.cached_normal, None, 1
        pairs = (count - filled + 1) // 2
        u = self.uniform(2 * pairs, True).reshape(pairs, 2) if pairs else np.empty((0, 2))
        radius, theta = np.sqrt(-2.0 * np.log1p(-u[:, 1])), 2.0 * math.pi * u[:, 0]
        both = np.stack([radius * np.cos(theta), radius * np.sin(theta)], 1).reshape(-1)
        out[filled:] = both[: count - filled]
        if len(both) > count - filled:
            self.cached_normal = float(both[-1])
        return out

    # ------------------------------------------------------------------ other distributions
    def cauchy(self, count: int, median: float, sigma: float):
        """Cauchy samples by inversion of a 53-bit uniform."""
        return median + sigma * np.tan(math.pi * (self.uniform(count, True) - 0.5))

    def geometric(self, count: int, p: float):
        """How many trials until one succeeds, by inversion of a 53-bit uniform."""
        with np.errstate(divide="ignore"):
            return np.ceil(np.log(self.uniform(count, True)) / math.log1p(-p))

    def one_by_one(self, sample, *columns):
        """``sample(next_uniform, *row)`` for each row, where a sample takes as many 53-bit uniforms
        as it needs. They are drawn in blocks; then the stream goes back to the last one used."""
        start, fresh, drawn, used = self.bits.state, self.fresh, [], 0

        def next_uniform():
            nonlocal used
            if used == len(drawn):
                drawn.extend(self.uniform(256, True).tolist())
            used += 1
            return drawn[used - 1]

        out = np.array([sample(next_uniform, *row) for row in zip(*columns, strict=True)], float)
        self.bits.state, self.fresh = start, fresh
        if used:
            self.raw(2 * used)
        return out

    # ------------------------------------------------------------------ integers
    def integers(self, count: int, low: int, high: int, wide: bool | None = None):
        """Integers in [low, high), of 64-bit values where the span is `wide`: 2^28 or more."""
        span = high - low
        wide = span >= 1 << 28 if wide is None else wide
        draws = self.raw64(count) if wide else self.raw(count)
        if span >= 1 << 64:
            return draws.astype(np.int64)
        return (draws % np.uint64(span)).astype(np.int64) + low

    def swap_steps(self, count: int):
        """How far ahead the one is that each of `count` positions swaps with to be shuffled; the
        last place has none."""
        spans = np.arange(count, 1, -1, dtype=np.uint64)
        return (self.raw(count - 1) % spans).astype(np.int64) if count > 1 else spans[:0]

    def bernoulli(self, count: int, probability):
        """0/1 with `probability` (a number or one per sample): a 53-bit uniform below it."""
        return self.uniform(count, True) < probability

    def exponential(self, count: int, rate: float):
        """Exponential samples by inversion of a 53-bit uniform."""
        return -1.0 / rate * np.log1p(-self.uniform(count, True))

    # ------------------------------------------------------------------ state
    def get_state(self) -> bytes:
        """The state in PyTorch's layout of 5,056 bytes."""
        inner = self.bits.state["state"]
        position = int(inner["pos"])
        left, following = (1, 0) if self.fresh else (_WORDS - position + 1, position)
        key = inner["key"].astype("<u8").tobytes()
        cached = self.cached_normal
        normal = struct.pack("<dddi4x", 0.0, cached or 0.0, 0.0, 0 if cached is None else 1)
        head = struct.pack("<QiiQ", self.initial_seed, left, 1, following)
        return (head + key + normal + struct.pack("<f?3x", 0.0, False)).ljust(_STATE_BYTES, b"\0")

    def set_state(self, data: bytes) -> None:
        """Continue from a state of :meth:`get_state`, or of PyTorch."""
        if len(data) != _STATE_BYTES:
            raise RuntimeError(
                f"RNG state is wrong size: expected {_STATE_BYTES} bytes, got {len(data)}"
            )
        seed, left, _, following = struct.unpack_from("<QiiQ", data)
        key = np.frombuffer(data, "<u8", _WORDS, 24).astype(np.uint32)
        self.initial_seed, self.fresh = seed, following == 0
        position = _WORDS if following == 0 and left == 1 else following
        self.bits.state = {"bit_generator": "MT19937", "state": {"key": key, "pos": position}}
        _, cached, _, valid = struct.unpack_from("<dddi", data, 24 + 8 * _WORDS)
        self.cached_normal = cached if valid else None


def box_muller(data, mean, std):
    """Blocks of 16 uniforms to normals: the first half gives radii, the second angles."""
    kind = data.dtype.type
    blocks = data.reshape(-1, 2, 8)
    radius = np.sqrt(kind(-2) * np.log(kind(1) - blocks[:, 0]))
    theta = kind(2 * math.pi) * blocks[:, 1]
    out = np.stack([radius * np.cos(theta), radius * np.sin(theta)], 1)
    return (out * kind(std) + kind(mean)).reshape(-1)
