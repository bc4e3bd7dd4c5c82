"""Products of dense matrices with vectors, and conversions of dense arrays, each by one call (see
:mod:`rushlight.kernels.launch.prepared`).

A function gives a call for one layout, or None where it is left to others.
"""

from __future__ import annotations

import ctypes
import functools
import math

from rushlight.kernels.launch.execution import (
    COMPILED_DTYPES,
    REFERENCE,
    chunk,
    floating_types,
    is_floating,
    language_type,
)
from rushlight.kernels.launch.prepared import Remembered, prepared
from rushlight.machine import np, threads
from rushlight.machine.memory import empty

__all__ = [
    "added_at_mask",
    "among",
    "converted",
    "equal",
    "evenly_spaced",
    "kronecker",
    "nonzero",
    "one_hot",
    "product",
    "ramp",
    "selected",
    "small_product",
    "small_products",
    "spaced",
    "trace",
    "whole_steps",
]

FEW = 64  # elements that others are compared with one by one
SMALL_WORK = 4096  # multiply-adds of a product that is done by one call
_WIDE = 4  # columns of a matrix that are worth a loop
PART = 1 << 17  # elements of two arrays that one thread compares
CACHED = 1 << 19  # elements of a matrix from which OpenBLAS reads memory faster
_BOOL, _INT64 = np.dtype(np.bool_), np.dtype(np.int64)
_TYPES = {np.dtype(np.float32): "f32", np.dtype(np.float64): "f64", np.dtype(np.int64): "i64",
          np.dtype(np.int32): "i32", np.dtype(np.uint8): "u8", _BOOL: "u8"}  # fmt: skip


def product(input, vector):
    """``f(input, vector)``: a matrix (or, as one row, a vector) times a vector."""
    dtype = input.dtype
    if REFERENCE or dtype not in COMPILED_DTYPES or vector.dtype is not dtype or not input.size:
        return None
    if not input.flags.c_contiguous or not vector.flags.c_contiguous or vector.ndim != 1:
        return None
    n = vector.shape[0]
    if input.shape[-1:] != vector.shape or input.ndim > 2:
        return None
    if input.ndim == 2 and input.size > CACHED:
        return None
    from rushlight.kernels.gemm import vector_kernels as native

    code, rows = native.row_products.address(real=language_type(dtype)), input.size // n
    return prepared(code, rows, chunk(rows, n), [input, vector], [(input.shape[:-1], dtype)], [n])


def kronecker(a, b):
    """``f(a, b)``: the Kronecker product of two matrices; rows of the second one are dense."""
    dtype = a.dtype
    if REFERENCE or dtype not in COMPILED_DTYPES or b.dtype is not dtype or a.ndim != 2:
        return None
    if b.ndim != 2 or not a.size or not b.size or b.shape[1] < _WIDE:
        return None
    if b.strides[1] != b.itemsize:
        return None
    from rushlight.kernels.gemm import vector_kernels as native

    code, rows = native.kronecker.address(real=language_type(dtype)), len(a) * len(b)
    shape = rows, a.shape[1] * b.shape[1]
    words = [a.shape[1], *a.strides, *b.shape, b.strides[0]]
    return prepared(code, rows, chunk(rows, shape[1]), [a, b], [(shape, dtype)], words)


def small_product(a, b):
    """``f(a, b)``: the product of two small matrices of any strides."""
    dtype = a.dtype
    if REFERENCE or dtype not in COMPILED_DTYPES or b.dtype is not dtype:
        return None
    if a.ndim != 2 or b.ndim != 2 or a.shape[1] != b.shape[0]:
        return None
    if not 0 < a.size * b.shape[1] <= SMALL_WORK:
        from rushlight.kernels.gemm import prepared as prepared_products

        return prepared_products.product(a, b)
    from rushlight.kernels.gemm import vector_kernels as native

    steps = [step // dtype.itemsize for step in (*a.strides, *b.strides)]
    if any(step * dtype.itemsize != s for step, s in zip(steps, (*a.strides, *b.strides))):  # noqa: B905
        return None
    code = native.small_product.address(real=language_type(dtype))
    outputs = [((a.shape[0], b.shape[1]), dtype)]
    return prepared(code, 1, 1, [a, b], outputs, [*a.shape, b.shape[1], *steps])


def trace(matrix):
    """``f(matrix)``: the sum of the diagonal, one element after the other in float64."""
    dtype, step = matrix.dtype, sum(matrix.strides)
    if REFERENCE or dtype not in COMPILED_DTYPES:
        return None
    from rushlight.kernels.gemm import vector_kernels as native

    code = native.strided_total.address(real=language_type(dtype))
    return prepared(code, 1, 1, [matrix], [((), dtype)], [min(matrix.shape), step])


def small_products(a, b):
    """``f(a, b)``: the products of two small batches of matrices."""
    dtype = a.dtype
    if REFERENCE or dtype not in COMPILED_DTYPES or b.dtype is not dtype:
        return None
    if a.ndim != 3 or b.ndim != 3 or a.shape[0] != b.shape[0] or a.shape[2] != b.shape[1]:
        return None
    from rushlight.kernels.gemm import prepared as prepared_products

    return prepared_products.batch(a, b)


def converted(input, target):
    """``f(input)``: the elements of a dense array in another dtype."""
    kinds = _TYPES.get(input.dtype), _TYPES.get(target)
    if REFERENCE or None in kinds or not input.flags.c_contiguous or not input.size:
        return None
    if input.dtype == target:
        return None
    from rushlight.kernels.gemm import vector_kernels as native
    from rushlight.machine.language import functions as language

    source, element = (getattr(language, kind) for kind in kinds)
    truth = int(target == _BOOL)
    code = native.convert.address(source=source, element=element, truth=truth)
    blocks = math.ceil(input.size / native.BLOCK)
    outputs = [(input.shape, target)]
    return prepared(code, blocks, chunk(blocks, native.BLOCK), [input], outputs, [input.size])


def equal(first, second):
    """``f(first, second)``: whether two dense arrays of one shape and dtype are equal: a bool, of
    long ones one for every part."""
    kind = _TYPES.get(first.dtype)
    if REFERENCE or kind is None or second.dtype != first.dtype or not first.size:
        return None
    if first.shape != second.shape or not (first.flags.c_contiguous and second.flags.c_contiguous):
        return None
    from rushlight.kernels.gemm import vector_kernels as native
    from rushlight.machine.language import functions as language

    code = native.same.address(element=getattr(language, kind))
    size = first.size
    if size <= PART:
        return prepared(code, 1, 1, [first, second], [((), _BOOL)], [size, size])
    parts = -(-size // PART)
    return prepared(code, parts, 1, [first, second], [((parts,), _BOOL)], [size, PART])


def among(elements, tests, invert):
    """``f(elements, tests)``: whether each element of an array is (or is not) one of a few others
    of the same dtype, both dense."""
    kind = _TYPES.get(elements.dtype)
    if REFERENCE or kind is None or tests.dtype != elements.dtype or not elements.size:
        return None
    if not 0 < tests.size <= FEW or not (elements.flags.c_contiguous and tests.flags.c_contiguous):
        return None
    from rushlight.kernels.gemm import vector_kernels as native
    from rushlight.machine.language import functions as language

    code = native.among.address(element=getattr(language, kind))
    blocks = math.ceil(elements.size / native.BLOCK)
    grain = chunk(blocks, native.BLOCK * tests.size)
    outputs, words = [(elements.shape, _BOOL)], [elements.size, tests.size, int(invert)]
    return prepared(code, blocks, grain, [elements, tests], outputs, words)


def one_hot(classes, count):
    """``f(classes)``: rows of `count` zeros with a one at each of the dense int64 `classes`; those
    out of range are counted in :data:`rushlight.kernels.indexing.indices.failures`."""
    if REFERENCE or not classes.flags.c_contiguous or not classes.size or count < 1:
        return None
    from rushlight.kernels.gemm import vector_kernels as native
    from rushlight.kernels.indexing import indices as places

    code, items = native.one_hot.address(), classes.size
    outputs = [((*classes.shape, count), np.dtype(np.int64))]
    words = [ctypes.addressof(places.failures), count]
    return prepared(code, items, chunk(items, count), [classes], outputs, words)


def ramp(count):
    """``f(start, step)``: so many int64 in equal steps; None where NumPy is as good."""
    if REFERENCE or count < 64:
        return None
    from rushlight.kernels.gemm import vector_kernels as native

    code, blocks = native.ramp.address(), math.ceil(count / native.BLOCK)
    outputs = [((count,), np.dtype(np.int64))]
    return prepared(code, blocks, chunk(blocks, native.BLOCK), [], outputs, [count], "ii")


def spaced(count, dtype):
    """``f(start, end)``: so many float32 or float64 in equal steps, the second half counted from
    its end; None for other dtypes."""
    if REFERENCE or dtype not in COMPILED_DTYPES:
        return None
    from rushlight.kernels.gemm import vector_kernels as native

    code = native.spaced.address(real=language_type(dtype))
    blocks = math.ceil(count / native.BLOCK)
    return prepared(code, blocks, chunk(blocks, native.BLOCK), [], [((count,), dtype)], [count],
                    "ff")  # fmt: skip


_steps = Remembered()


def whole_steps(count, start, step):
    """So many int64 from a start in equal steps."""
    call = _steps.get(count, _steps)
    if call is _steps:
        call = _steps.keep(count, ramp(count))
    return np.arange(count, dtype=_INT64) * step + start if call is None else call(start, step)


def _spaced_by_numpy(count, start, end, real):
    index, half, array = np.arange(count, dtype=real), count // 2, np.empty(count, real)
    step = (np.asarray(end, real) - np.asarray(start, real)) / np.asarray(count - 1, real)
    np.multiply(step, index[:half], out=array[:half])
    array[:half] += np.asarray(start, real)
    np.multiply(step, count - 1 - index[half:], out=array[half:])
    np.subtract(np.asarray(end, real), array[half:], out=array[half:])
    return array


def evenly_spaced(count, start, end, dtype):
    """So many (two at least) float32 or float64 from a start to an end, each half counted from its
    own end."""
    call = _steps.get((count, dtype), _steps)
    if call is _steps:
        call = _steps.keep((count, dtype), spaced(count, np.dtype(dtype)))
    if call is None or type(start) not in (int, float) or type(end) not in (int, float):
        return _spaced_by_numpy(count, start, end, dtype)
    return call(float(start), float(end))


@functools.lru_cache(maxsize=512)
def _selection(size, itemsize):
    from rushlight.kernels.gemm import vector_kernels as native
    from rushlight.machine.language import functions as language

    kind = {1: language.u8, 2: language.u16, 4: language.i32, 8: language.i64}.get(itemsize)
    if kind is None:
        return None
    return threads.plan(native.selected.address(element=kind), 1, 1, [0, 0, 0, 0, size])


def selected(input, mask):
    """``input[mask]`` for a dense array and a dense mask of its shape; None where that is left to
    NumPy."""
    if REFERENCE or mask.dtype != _BOOL or input.shape != mask.shape or input.size < 256:
        return None
    if not input.flags.c_contiguous or not mask.flags.c_contiguous:
        return None
    plan = _selection(input.size, input.itemsize)
    if plan is None:
        return None
    out = np.empty(int(np.count_nonzero(mask)), input.dtype)
    if out.size:
        threads.run(plan, 0, out, input, mask)
    return out


_mask_plans = Remembered()


def added_at_mask(input, mask, values):
    """A copy of a dense floating array with `values` added to the elements (or slices along the
    first dimensions) where a dense mask of bools is true; None where that is left to NumPy."""
    dims, dtype = mask.ndim, input.dtype
    if REFERENCE or mask.dtype != _BOOL or not is_floating(dtype) or not dims or not input.size:
        return None
    if input.shape[:dims] != mask.shape or values.dtype != dtype:
        return None
    count = int(np.count_nonzero(mask))
    if not count or values.shape != (count, *input.shape[dims:]):
        return None
    if not all(a.flags.c_contiguous and a.flags.aligned for a in (input, mask, values)):
        return None
    key = mask.size, input.size, dtype
    plan = _mask_plans.get(key)
    if plan is None:
        from rushlight.kernels.gemm import vector_kernels as native

        code = native.added_at_mask.address(**floating_types(dtype))
        words = [0] * 5 + [mask.size, input.size // mask.size, 0]
        plan = _mask_plans.keep(key, threads.plan(code, 1, 1, words))
    out = empty(input.shape, dtype)
    inner = input.size // mask.size
    threads.run(plan, 0, out, input, mask, values, mask.size, inner, count)
    return out


_nonzero_plans = Remembered()


def nonzero(input):
    """The coordinates of the nonzero elements of a dense array of bools, one row each; None where
    that is left to NumPy."""
    if REFERENCE or input.dtype != _BOOL or not input.flags.c_contiguous:
        return None
    if not input.size or not 1 <= input.ndim <= 4:
        return None
    shape = input.shape
    plan = _nonzero_plans.get(shape)
    if plan is None:
        from rushlight.kernels.gemm import vector_kernels as native

        before = [1] * (4 - len(shape)) + list(shape[:-1])
        words = [0, 0, 0, input.size // shape[-1], shape[-1], len(shape), *before]
        plan = _nonzero_plans.keep(shape, threads.plan(native.nonzero.address(), 1, 1, words))
    count = int(np.count_nonzero(input))
    out = np.empty((count, len(shape)), np.int64)
    if count:
        threads.run(plan, 0, out, input)
    return out
