"""Fast Fourier transforms of rows or columns of single precision, by compiled kernels.

Sizes are products of 2, 3, 5 and 7; other sizes and double precision are left to NumPy. Method:
T. G. Stockham, "High-speed convolution and correlation", 1966.
"""

from __future__ import annotations

import functools
import math

from rushlight.kernels.copying.assignment import by_rows
from rushlight.kernels.fft.long import complex_long, divided, real_long, real_long_back
from rushlight.kernels.fft.whole_rows import (
    MOST_ODD,
    factors,
    prepared_rows,
    size_inside,
    stages,
    takes,
)
from rushlight.kernels.launch.execution import REFERENCE, chunk
from rushlight.kernels.launch.prepared import Remembered, called
from rushlight.machine import np, threads
from rushlight.machine.memory import empty

__all__ = [
    "complex_back_of",
    "complex_of",
    "half_transposed",
    "half_transposed_back",
    "plane_back_of",
    "plane_of",
    "real_back_of",
    "real_of",
    "real_plane_back_of",
    "real_plane_of",
    "real_transform",
    "real_transform_back",
    "transform",
    "transform_back",
]

LEAST, MOST = 1, 8192  # sizes that kernels of whole rows or columns take
LEAST_COLUMNS = 4  # of a matrix; fewer are turned to rows
NORMS = "backward", "ortho", "forward"
COMPLEX, REAL = np.dtype(np.complex64), np.dtype(np.float32)


def complex_rows(x, forward, factor):
    """The transform of complex64 (..., n) along the last dimension, or the one back, times
    `factor`; None where that is left to NumPy."""
    n = x.shape[-1]
    if _is_long(x, COMPLEX, n):
        return complex_long(x, forward, factor)
    if not _fits(x, COMPLEX, n):
        return None
    return _rows("complex_rows", x, n, forward, factor)


def complex_columns(x, axis, forward, factor):
    """:func:`complex_rows` along another dimension than the last one."""
    n, inner = x.shape[axis], math.prod(x.shape[axis + 1 :])
    if inner < LEAST_COLUMNS or not _fits(x, COMPLEX, n):
        return None
    out = empty(x.shape, COMPLEX)
    plan, *_ = _columns(x.size // n, n, forward, float(factor), inner)
    threads.run(plan, 0, out, x)
    return out


def real_rows(x, factor, whole=False, ends=1.0):
    """The transform of float32 (..., n), or its first half (..., n // 2 + 1), whose first element
    (and the last of an even size) is multiplied by `ends`; None as above."""
    n = x.shape[-1]
    if n % 2 == 0 and not whole and _is_long(x, REAL, n // 2):
        return real_long(x, factor, ends)
    if _fits_rows("real_rows", x, n):
        return _rows("real_rows", x, n, True, factor, whole, ends)
    if n % 2 == 0 or x.dtype != REAL:
        return None
    found = complex_rows(x.astype(COMPLEX), True, factor)
    if found is None or whole:
        return found
    found = by_rows(found[..., : n // 2 + 1])
    found[..., 0] *= ends
    return found


def rows_back(x, n, factor, ends=1.0):
    """The float32 (..., n) of which complex64 (..., n // 2 + 1), its first element (and the last
    of an even size) times `ends`, is the first half of the transform, times `factor`; None as
    above."""
    if x.shape[-1] != n // 2 + 1 or n % 2 and x.size > MOST_ODD * x.shape[-1]:
        return None
    if n % 2 == 0 and _is_long(x, COMPLEX, n // 2):
        return real_long_back(x, factor, ends)
    if not _fits_rows("rows_back", x, n):
        return None
    return _rows("rows_back", x, n, False, factor, False, ends)


def _factor(norm, n, forward):
    """The scale of a transform of n values by NumPy's name for the norm."""
    if norm == "ortho":
        return n**-0.5
    return 1.0 if forward is (norm == "backward") else 1.0 / n


def _over(x, axes, forward, norm):
    """Transforms of complex numbers over several axes, the last one first; None as above."""
    for axis in reversed(axes):
        dense, factor = by_rows(x), _factor(norm, x.shape[axis], forward)
        found = None if _is_last(x, axis) else complex_columns(dense, axis, forward, factor)
        if found is None:
            turned = by_rows(dense.swapaxes(axis, -1))
            found = complex_rows(turned, forward, factor)
            if found is None:
                return None
            found = found.swapaxes(axis, -1)
        x = found
    return x


def _is_last(x, axis):
    return axis in (-1, x.ndim - 1)


def transform(x, axes, norm):
    """:func:`numpy.fft.fftn`."""
    if type(x) is np.ndarray:
        found = None
        if x.dtype == REAL and axes and _is_last(x, axes[-1]):
            factor = _factor(norm, x.shape[-1], True)
            found = real_rows(by_rows(x), factor, whole=True)
            if found is not None:
                found = _over(found, axes[:-1], True, norm)
        if found is None:
            found = _over(x.astype(COMPLEX) if x.dtype == REAL else x, axes, True, norm)
        if found is not None:
            return found
    return np.fft.fftn(x, axes=axes, norm=norm)


def transform_back(x, axes, norm):
    """:func:`numpy.fft.ifftn`."""
    found = _over(x, axes, False, norm) if type(x) is np.ndarray else None
    return np.fft.ifftn(x, axes=axes, norm=norm) if found is None else found


def real_transform(x, axes, norm):
    """:func:`numpy.fft.rfftn`; the last axis is the last of all."""
    if type(x) is np.ndarray and x.dtype == REAL:
        found = real_rows(by_rows(x), _factor(norm, x.shape[-1], True))
        if found is not None:
            found = _over(found, axes[:-1], True, norm)
        if found is not None:
            return found
    return np.fft.rfftn(x, axes=axes, norm=norm)


def real_transform_back(x, axes, size, norm):
    """:func:`numpy.fft.irfftn` over one axis, the last one."""
    if type(x) is np.ndarray and x.dtype == COMPLEX:
        have, need = x.shape[-1], size // 2 + 1
        cut = x[..., :need] if have >= need else None
        found = None
        if cut is not None:
            found = rows_back(by_rows(cut), size, _factor(norm, size, False))
        if found is not None:
            return found
    return np.fft.irfftn(x, axes=axes, s=(size,), norm=norm)


def half_transposed(x, axes, norm):
    """What :func:`real_transform_back` over one axis transposes, of real numbers: the first half of
    their transform, all but its first element (and the last of an even size) doubled."""
    axis, found = axes[0] % x.ndim, None
    size = x.shape[axis]
    if type(x) is np.ndarray and x.dtype == REAL and _is_last(x, axis):
        factor = 2 * _factor(norm, size, True)
        found = real_rows(by_rows(x), factor, ends=0.5)
    if found is None:
        found = real_transform(x, axes, norm)
        found[_middle(axis, size)] *= 2
    return found


def half_transposed_back(x, axes, size, norm):
    """What :func:`real_transform` over one axis transposes: `size` real numbers from the first half
    of a transform, all but its first element (and the last of an even size) halved."""
    axis, found = axes[0] % x.ndim, None
    if type(x) is np.ndarray and x.dtype == COMPLEX and _is_last(x, axis):
        if x.shape[axis] == size // 2 + 1:
            factor = 0.5 * _factor(norm, size, False)
            found = rows_back(by_rows(x), size, factor, ends=2.0)
    if found is None:
        x = x.copy()
        x[_middle(axis, size)] *= 0.5
        found = real_transform_back(x, axes, size, norm)
    return found


def _middle(axis, size):
    """Those elements of the first half of a transform that stand for two."""
    return (*[slice(None)] * axis, slice(1, (size + 1) // 2))


def _is_long(x, dtype, n):
    """Whether rows of n complex numbers, or whose halves have n, are so long that several launches
    go through them."""
    return n > MOST and x.size > 0 and _serves(x, dtype, n) and divided(n) is not None


def _fits(x, dtype, n):
    return LEAST <= n <= MOST and x.size > 0 and _serves(x, dtype, n)


def _fits_rows(kind, x, n):
    dtype = REAL if kind == "real_rows" else COMPLEX
    few = x.size > 0 and takes(kind, x.size // x.shape[-1], n)
    return few and _fits(x, dtype, size_inside(kind, n))


def _serves(x, dtype, n):
    """Whether kernels read such an array, and go by transforms of n values."""
    return (
        not REFERENCE
        and type(x) is np.ndarray
        and x.dtype == dtype
        and x.flags.c_contiguous
        and factors(n) is not None
    )


@functools.lru_cache(maxsize=256)
def _columns(rows, n, forward, factor, inner):
    """The job, and what it points to."""
    from rushlight.kernels.fft import compiled as native
    from rushlight.kernels.gemm.microkernel import VL

    (table, kept), number = stages(n), np.array([factor], REAL)
    words = [0, 0, 0, rows, n, table.ctypes.data, len(table)]
    words += [0 if factor == 1 else number.ctypes.data, 0 if forward else 4 * VL, 0, inner]
    items = rows // inner * -(-inner // VL)
    code = native.complex_columns.address()
    return threads.plan(code, items, chunk(items, 20 * VL * n), words), kept, number


_known = Remembered()


def _rows(kind, x, n, forward, factor, whole=False, ends=1.0):
    """The result of one launch, whose call is remembered."""
    key = kind, x.shape, n, forward, factor, whole, ends
    found = _known.get(key)
    if found is None:
        found = _known.keep(key, prepared_rows(kind, x, *key[2:]))
    return called(found, (x,))


def _of_layout(kind, forward, real=None):
    """What :func:`rushlight.kernels.launch.prepared.by_layout` takes, of a dimension and a norm's
    position in `NORMS`: None but for dense rows of sizes that kernels take. `real`: the kind of
    real rows."""

    def prepare(x, dim, norm):
        if not x.ndim or not _is_last(x, dim):
            return None
        chosen = real if real is not None and x.dtype == REAL else kind
        n = 2 * (x.shape[-1] - 1) if chosen == "rows_back" else x.shape[-1]
        if not _fits_rows(chosen, x, n):
            return None
        whole = chosen is real
        return prepared_rows(chosen, x, n, forward, _factor(NORMS[norm], n, forward), whole, 1.0)

    return prepare


complex_of = _of_layout("complex_rows", True, real="real_rows")
complex_back_of = _of_layout("complex_rows", False)
real_of = _of_layout("real_rows", True)
real_back_of = _of_layout("rows_back", False)


def _plane_of_layout(kind, forward, real=None):
    """:func:`_of_layout` of the last two dimensions: rows, then columns (columns first where rows
    become real numbers)."""

    def prepare(x, norm):
        if x.ndim < 2 or x.size == 0:
            return None
        rows = prepared_rows_of(x, -1, norm)
        n = x.shape[-2]
        width = x.shape[-1] // 2 + 1 if kind == "real_rows" else x.shape[-1]
        if rows is None or factors(n) is None or not LEAST <= n <= MOST or width < LEAST_COLUMNS:
            return None
        shape, columns = (*x.shape[:-1], width), math.prod(x.shape[:-2]) * width
        job = _columns(columns, n, forward, float(_factor(NORMS[norm], n, forward)), width)

        def run(array):
            first = array if kind == "rows_back" else rows(array)
            if first is NotImplemented:
                return first
            out = empty(shape, COMPLEX)
            threads.run(job[0], 0, out, first)  # the rest of the job is what it points to
            return rows(out) if kind == "rows_back" else out

        return run

    prepared_rows_of = _of_layout(kind, forward, real)
    return prepare


plane_of = _plane_of_layout("complex_rows", True, real="real_rows")
plane_back_of = _plane_of_layout("complex_rows", False)
real_plane_of = _plane_of_layout("real_rows", True)
real_plane_back_of = _plane_of_layout("rows_back", False)
