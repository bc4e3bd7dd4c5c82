"""Linear maps along dimensions, each given by a few taps: what interpolation consists of.

Every mode of ``interpolate`` but ``area`` is separable: along each dimension an output element is
a weighted sum of a few input elements. :class:`Taps` holds positions and weights of one dimension;
its transpose is the gradient. Source positions follow PyTorch's rules, in the precision it uses
(float32 for all but float64).
"""

from __future__ import annotations

from functools import lru_cache

from rushlight.kernels.copying.assignment import by_rows
from rushlight.kernels.launch.execution import COMPILED_DTYPES, REFERENCE, chunk
from rushlight.kernels.resampling.byte_taps import resample_bytes
from rushlight.machine import np, threads
from rushlight.machine.memory import empty
from rushlight.machine.quiet import quietly

_SMALL = 2048  # elements of a result below which NumPy is as fast
_BLOCK = 16_384  # elements of a block of rows
_SUMMED = 16  # elements of the largest blocks whose sums have loops of their own
_SUMS = 4096  # elements of the rows that are added up before neighbours are
_MOVED_TYPES = {1: "u8", 2: "u16", 4: "i32", 8: "i64"}


class Taps:
    """``result[o] = sum_k weight[o, k] * input[index[o, k]]`` for an input of `size` elements.

    `weight` None stands for ones (then there is one tap): elements are only moved. `first`: where
    the taps of each element begin, if they are neighbours that follow each other.
    """

    __slots__ = ("_tables", "_transposed", "first", "index", "size", "weight")

    def __init__(self, index, weight, size, first=None):
        self.first, self.index, self.weight, self.size = first, index, weight, size
        self._transposed = None
        self._tables = {}

    def __len__(self):
        return len(self.index)

    def tables(self, dtype):
        """Positions and weights as compiled kernels take them: one tap after the other."""
        found = self._tables.get(dtype)
        if found is None:
            places = np.ascontiguousarray(self.index.T, np.int32)
            weights = None if self.weight is None else np.ascontiguousarray(self.weight.T, dtype)
            found = self._tables[dtype] = places, weights
        return found

    def doubles(self):
        """Whether every element is taken twice."""
        return (
            self.weight is None
            and len(self) == 2 * self.size
            and np.array_equal(self.index[:, 0], np.arange(len(self)) // 2)
        )

    def between(self):
        """Whether there are two elements between each two, a quarter and three quarters away."""
        if self.weight is None or self.index.shape != (2 * self.size, 2) or self.size < 2:
            return False
        low, inner = (np.arange(2 * self.size) - 1) // 2, slice(2, -2)
        near = np.where(np.arange(2 * self.size) % 2, 0.75, 0.25)
        return (
            np.array_equal(self.index[inner], np.stack([low, low + 1], 1)[inner])
            and np.array_equal(self.weight[inner], np.stack([near, 1 - near], 1)[inner])
        )  # fmt: skip

    def summed(self):
        """How many neighbours each element is the sum of, all elements in turn; else 0."""
        count, taps = self.index.shape
        whole = self.weight is not None and self.size == count * taps and (self.weight == 1).all()
        return taps if whole and (self.index.ravel() == np.arange(self.size)).all() else 0

    def transposed(self):
        """The transposed map."""
        if self._transposed is None:
            self._transposed = self._transpose()
            self._transposed._transposed = self
        return self._transposed

    def _transpose(self):
        taps = self.index.shape[1]
        weight = np.ones(self.index.shape) if self.weight is None else self.weight
        flat, values = self.index.ravel(), weight.ravel()
        used = np.flatnonzero(values)
        order = used[np.argsort(flat[used], kind="stable")]
        rows = flat[order]
        counts = np.bincount(rows, minlength=self.size)
        rank = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
        width = max(int(counts.max(initial=0)), 1)
        index = np.zeros((self.size, width), np.int64)
        transposed = np.zeros((self.size, width))
        index[rows, rank] = order // taps
        transposed[rows, rank] = values[order]
        return Taps(index, transposed, len(self.index))


def resample(input, maps):
    """(N, C, ...) with each spatial dimension mapped by its taps (None keeps a dimension).

    Low precision is computed in float32 and rounded once, bytes of images in whole numbers.
    """
    dtype, moved = input.dtype, all(m is None or m.weight is None for m in maps)
    if dtype == np.uint8 and not moved and len(maps) == 2:
        return resample_bytes(input, *maps)
    array = input
    if not moved:
        kind = np.float64 if dtype == np.float64 or dtype.kind == "u" else np.float32
        array = array.astype(dtype if dtype.kind == "c" else kind, copy=False)
    array = _planes(array, maps)
    if dtype.kind == "u" and not moved:
        array = np.clip(np.floor(array + 0.5), 0, 255)
    return by_rows(array.astype(dtype, copy=False))


def _planes(array, maps):
    """Rows and columns by a compiled kernel, other dimensions by NumPy."""
    down, across = (None, *maps)[-2:]
    ahead = [(axis, taps) for axis, taps in enumerate(maps[:-2], 2) if taps is not None]
    for axis, taps in ahead:
        array = _along(array, taps, axis)
    found = None if REFERENCE else _compiled(array, down, across)
    if found is not None:
        return found
    for axis, taps in zip((-2, -1), (down, across), strict=True):
        if taps is not None:
            array = _along(array, taps, array.ndim + axis)
    return array


def _compiled(array, down, across):
    """The last two dimensions mapped; None where that is left to NumPy."""
    height, width = (1, *array.shape[2:])[-2:]
    planes = array.size // max(height * width, 1)
    plan = _plan(array.dtype, planes, height, width, down, across)
    if plan is None:
        return None
    rows, columns = (n if m is None else len(m) for n, m in ((height, down), (width, across)))
    own = (*array.shape[:-2], rows, columns) if array.ndim > 3 else (*array.shape[:-1], columns)
    out = empty(own, array.dtype)
    threads.run(plan, by_rows(array), out)
    return out


@lru_cache(256)
def _plan(dtype, planes, height, width, down, across):
    """The job for planes of a size, or None. Who remembers it keeps the taps, whose tables it
    knows by their addresses."""
    weighted = any(m is not None and m.weight is not None for m in (down, across))
    name = {"f4": "f32", "f8": "f64"}.get(dtype.str[1:])
    if not weighted:
        name = _MOVED_TYPES.get(dtype.itemsize)
    rows, columns = (n if m is None else len(m) for n, m in ((height, down), (width, across)))
    if name is None or planes * rows * columns < _SMALL or down is across is None:
        return None
    if weighted and dtype not in COMPILED_DTYPES or max(height, width) >= 1 << 31:
        return None
    from rushlight.kernels.resampling import compiled as native
    from rushlight.machine.language import functions as language

    block = max(1, min(rows, _BLOCK // columns))
    blocks = -(-rows // block)
    words = [0, 0, height, width, rows, columns, block, blocks]
    high, wide = (1 if m is None else m.summed() for m in (down, across))
    if 0 < high * wide <= _SUMMED:
        code = native.sum_blocks.address(
            element=getattr(language, name), size=dtype.itemsize, high=high, wide=wide
        )
        together = max(1, min(planes * rows, _SUMS // width))
        words[4], words[6] = planes * rows, together
        items = -(-planes * rows // together)
        return threads.plan(code, items, chunk(items, together * width * high), words)
    kinds, tables = [], []
    for taps in (down, across):
        places, weights = (None, None) if taps is None else taps.tables(dtype)
        kinds.append(native.KEPT if taps is None else native.MOVED if weights is None
                     else native.WEIGHTED)  # fmt: skip
        tables += [0 if t is None else t.ctypes.data for t in (places, weights)]
        tables.append(0 if taps is None else places.shape[0])
    if kinds[1] == native.MOVED and across.doubles():
        kinds[1] = native.DOUBLED
    elif kinds[1] == native.WEIGHTED and across.between():
        kinds[1] = native.BETWEEN
    code = native.resample_rows.address(
        element=getattr(language, name), size=dtype.itemsize, down=kinds[0], across=kinds[1]
    )
    grain = chunk(planes * blocks, block * columns)
    return threads.plan(code, planes * blocks, grain, [*words, *tables])


def _along(array, taps, axis):
    if taps.weight is None:
        return np.take(array, taps.index[:, 0], axis=axis)
    shape = (-1, *(1,) * (array.ndim - axis - 1))
    weights = taps.weight.astype(array.dtype)
    total = None
    for k in range(taps.index.shape[1]):
        term = np.take(array, taps.index[:, k], axis=axis)
        column = weights[:, k]
        with np.errstate(invalid="ignore"):
            term *= column.reshape(shape)
        if not column.all():  # a padded tap must not bring in an infinity times zero
            term[(*(slice(None),) * axis, column == 0)] = 0
        total = term if total is None else quietly(np.add, total, term, out=total)
    return total


def _scale(size, out, align_corners, factor, real):
    """Input elements per output element."""
    if align_corners:
        return real(size - 1) / real(out - 1) if out > 1 else real(0)
    return real(1.0 / factor) if factor else real(size) / real(out)


@lru_cache(256)
def nearest(size, out, factor, exact, whole=False, real=np.float32):
    """Taps that pick the nearest element; `exact` measures from the centres of the elements.
    `whole`: what is as large as the input or twice as large goes by whole elements, whatever the
    factor, but for `exact`. `real`: what a factor is kept in; positions are rounded to float32."""
    places, whole = np.arange(out), whole and not exact
    if whole and out == size:
        index = places
    elif whole and out == 2 * size:
        index = places // 2
    else:
        scale = np.float64(_scale(size, out, False, factor, real))
        source = ((places + 0.5 * exact) * scale).astype(np.float32)
        index = np.minimum(np.floor(source).astype(np.int64), size - 1)
    return Taps(index[:, None], None, size)


def _sources(size, out, align_corners, factor, double, clamp):
    real = np.float64 if double else np.float32
    scale, places = _scale(size, out, align_corners, factor, real), np.arange(out, dtype=real)
    if align_corners:
        return scale * places
    source = scale * (places + real(0.5)) - real(0.5)
    return np.maximum(source, real(0)) if clamp else source


@lru_cache(256)
def linear(size, out, align_corners, factor, double):
    """Two taps: the neighbours, weighted by nearness."""
    if size == out:
        return None
    source = _sources(size, out, align_corners, factor, double, True)
    low = np.minimum(source.astype(np.int64), size - 1)
    high = np.minimum(low + 1, size - 1)
    share = np.clip(source - low.astype(source.dtype), 0, 1)
    return Taps(np.stack([low, high], 1), np.stack([1 - share, share], 1), size)


@lru_cache(256)
def cubic(size, out, align_corners, factor, double):
    """Four taps of the cubic convolution kernel with a = -0.75. (Keys, 1981.)"""
    source = _sources(size, out, align_corners, factor, double, False)
    floor = np.floor(source)
    share = source - floor
    index = np.clip(floor.astype(np.int64)[:, None] + np.arange(-1, 3), 0, size - 1)
    distance = np.stack([share + 1, share, 1 - share, 2 - share], 1)
    return Taps(index, _cubic_kernel(distance, -0.75), size)


def _cubic_kernel(x, a):
    """Weights at distances. Terms up to 12 that cancel out: in float64, whatever positions are."""
    x = np.abs(x, dtype=np.float64)
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
    return np.where(x < 1, near, np.where(x < 2, far, 0))


@lru_cache(1024)
def antialiased(size, out, align_corners, factor, double, degree):
    """Taps of a triangle (`degree` 1) or cubic (3, a = -0.5) filter, widened when shrinking."""
    real = np.float64 if double else np.float32
    scale = _scale(size, out, align_corners, factor, real)
    radius = real(1 if degree == 1 else 2)
    support = radius * scale if scale >= 1 else radius
    inverse = real(1) / scale if scale >= 1 else real(1)
    centre = scale * (np.arange(out, dtype=real) + real(0.5))
    start = np.maximum((centre - support + real(0.5)).astype(np.int64), 0)
    stop = np.minimum((centre + support + real(0.5)).astype(np.int64), size)
    offsets = np.arange(max(int((stop - start).max(initial=1)), 1))
    index = start[:, None] + offsets
    inside = index < stop[:, None]
    x = (index.astype(real) - centre[:, None] + real(0.5)) * inverse
    weight = np.maximum(1 - np.abs(x), 0) if degree == 1 else _cubic_kernel(x, -0.5)
    weight = np.where(inside, weight, 0)
    total = weight.sum(1, keepdims=True)
    weight = weight / np.where(total == 0, 1, total)
    return Taps(np.where(inside, index, 0), weight, size, start)
