"""Elements moved by one call: copies of strided arrays, triangles, joining.

Each function prepares a call for one layout (see :mod:`rushlight.kernels.launch.prepared`), or
gives None where it is left to others: large arrays, many dimensions, elements of 16 bytes.
"""

from __future__ import annotations

import math

from rushlight.kernels.launch.execution import REFERENCE, chunk
from rushlight.kernels.launch.prepared import prepared
from rushlight.machine.processors import streams_from

__all__ = [
    "copied",
    "embedded",
    "flipped",
    "joined",
    "rolled",
    "triangle",
    "window",
]

LARGE = 1 << 20  # bytes from which wide loops of other kernels pay
MOST = 24  # arrays joined by one call
_LONG_ROW = 4096  # bytes of a row that is copied by the C library
_LEAST_TURN = 8  # extents from which transposing in registers pays
_NARROW = 8  # elements of rows that are copied without a loop
_WAYS = 4  # arrays whose elements are taken in turn without a loop
_OUTER = 3  # extents beside the rows that a kernel takes


def _kernel(name, dtype, **parameters):
    """The address of a kernel for elements of a dtype, or None."""
    from rushlight.kernels.copying import moving_kernels as native
    from rushlight.machine.language import functions as language

    names = {1: "u8", 2: "u16", 4: "i32", 8: "i64"}
    kind = parameters.pop("element", names.get(dtype.itemsize))
    if kind is None or REFERENCE:
        return None
    kind = getattr(language, kind)
    return getattr(native, name).address(element=kind, size=dtype.itemsize, **parameters)


def merged(shape, strides):
    """Extents and strides without those of one, neighbours joined where they are one run."""
    extents, steps = [], []
    for n, s in zip(shape, strides, strict=True):
        if n == 1:
            continue
        if extents and steps[-1] == n * s:
            extents[-1], steps[-1] = extents[-1] * n, s
        else:
            extents.append(n)
            steps.append(s)
    return extents, steps


def copied(input, shape, strides, offset, result):
    """``f(input)``: a dense array of shape `result` of what a window on `input` shows, the window
    given by its shape, its strides and the bytes before its first element."""
    count, width = math.prod(shape), input.itemsize
    extents, steps = merged(shape, strides)
    if not extents:
        extents, steps = [1], [width]
    outer = len(extents) - 1
    if count == 0 or outer > _OUTER:
        return None
    turned = width in (4, 8) and 1 <= outer <= 2 and steps[-2] == width and steps[-1] > 0
    if turned and min(extents[-2:]) >= _LEAST_TURN and not REFERENCE:
        return _turned(input, extents, steps, offset, result)
    dense = abs(steps[-1]) == width and extents[-1] * width >= 64
    narrow = extents[-1] if outer and 2 <= extents[-1] <= _NARROW else 0
    if count * width >= LARGE and not dense and not narrow:
        return None
    code = _kernel("copy_rows", input.dtype, narrow=narrow)
    if code is None:
        return None
    rows = count // extents[-1]
    lead = _OUTER - outer
    words = [offset, extents[-1], steps[-1], *[1] * lead, *extents[:-1], *[0] * lead, *steps[:-1]]
    return prepared(
        code, rows, chunk(rows, extents[-1]), [input], [(tuple(result), input.dtype)], words
    )


def _turned(input, extents, steps, offset, result):
    """:func:`copied` where columns are what is dense: transposed in registers."""
    from rushlight.kernels.copying import moving_kernels as native

    rows, columns = extents[-2:]
    tile = 64 if math.prod(extents) < LARGE else 128  # longer runs where memory is far
    items = math.prod(extents) // (rows * columns) * -(-rows // tile)
    words = [offset, rows, columns, steps[0] if len(extents) == 3 else 0, steps[-1]]
    grain = chunk(items, tile * columns)
    outputs = [(tuple(result), input.dtype)]
    code = native.turn_rows.address(size=input.itemsize, tile=tile)
    return prepared(code, items, grain, [input], outputs, words)


def flipped(input, dims):
    """``f(input)``: the elements in reverse order along `dims`."""
    strides, offset = list(input.strides), 0
    for d in dims:
        offset += strides[d] * (input.shape[d] - 1)
        strides[d] = -strides[d]
    return copied(input, input.shape, strides, offset, input.shape)


def rolled(input, shift, dim):
    """``f(input)``: the elements of a dense array moved along a dimension, in a circle; without one
    as a single row."""
    n, inner = input.size, 1
    if dim is not None:
        n, inner = input.shape[dim], math.prod(input.shape[dim + 1 :])
    code = _kernel("roll_rows", input.dtype) if input.size else None
    if code is None:
        return None
    rows, first = input.size // (n * inner), (n - shift % n) * inner % (n * inner)
    outputs = [(input.shape, input.dtype)]
    return prepared(code, rows, chunk(rows, n * inner), [input], outputs, [n * inner, first])


def triangle(input, diagonal, lower):
    """``f(input)``: matrices with zeros above (or below) a diagonal."""
    if input.size == 0 or input.ndim < 2 or not input.flags.c_contiguous:
        return None
    code = _kernel("triangle", input.dtype, lower=int(lower))
    if code is None or type(diagonal) is not int:
        return None
    rows, columns = input.shape[-2:]
    items = input.size // columns
    words = [rows, columns, diagonal]
    outputs = [(input.shape, input.dtype)]
    return prepared(code, items, chunk(items, columns), [input], outputs, words)


def embedded(input, offset):
    """``f(input)``: a matrix of zeros with a vector on a diagonal."""
    n = input.size
    code = _kernel("diagonal_rows", input.dtype) if n else None
    if code is None:
        return None
    extent = n + abs(offset)
    words = [extent, n, max(-offset, 0), max(offset, 0), input.strides[0]]
    outputs = [((extent, extent), input.dtype)]
    return prepared(code, extent, chunk(extent, extent), [input], outputs, words)


def window(shape, index):
    """``(extents, starts, counts)`` of what a basic index with steps of one shows of an array of a
    shape, neighbouring dimensions shown whole being one; None for other steps or nothing."""
    rest = len(shape) - sum(item is not None and item is not Ellipsis for item in index)
    found, d = [], 0
    for item in (*index, *(() if Ellipsis in index else (Ellipsis,))):
        if item is None:
            continue
        if item is Ellipsis:
            found += [(n, 0, n) for n in shape[d : d + rest]]
            d += rest
        elif type(item) is slice:
            start, stop, step = item.indices(shape[d])
            if step != 1 or stop <= start:
                return None
            found.append((shape[d], start, stop - start))
            d += 1
        else:
            found.append((shape[d], item % shape[d], 1))
            d += 1
    joined = []
    for n, start, count in found:
        if joined and count == n and start == 0:
            joined[-1] = tuple(n * value for value in joined[-1])
        else:
            joined.append((n, start, count))
    return tuple(joined)


def _row_step(array, dim):
    """Bytes from row to row, a row being dense and of the dimensions from `dim` on; None where
    they do not follow each other so."""
    dense = array.itemsize
    for n, step in zip(reversed(array.shape[dim:]), reversed(array.strides[dim:]), strict=True):
        if n != 1 and step != dense:
            return None
        dense *= n
    extents, steps = merged(array.shape[:dim], array.strides[:dim])
    if len(extents) > 1:
        return None
    return steps[0] if extents else dense


def _joined_blocks(arrays, outer, shape, steps):
    """The same where rows are long: threads share them, and large results go past the caches."""
    from rushlight.kernels.copying import block_kernels as native
    from rushlight.kernels.copying import blocks

    size = sum(a.nbytes for a in arrays)
    code = native.join_blocks.address(streams=int(size >= streams_from()))
    items = outer * -(-(size // outer) // native.BLOCK)
    grain = (
        items if size < blocks.SHARED else chunk(items, min(size // outer, native.BLOCK), 3 << 16)
    )
    words = [size // outer, *[a.nbytes // outer for a in arrays], *steps]
    outputs = [(tuple(shape), arrays[0].dtype)]
    return prepared(code, items, grain, arrays, outputs, words, head=len(arrays))


def _woven(arrays, count, shape):
    """The same where every array gives one element in turn; None for elements of 16 bytes."""
    from rushlight.kernels.copying import moving_kernels as native

    first = arrays[0]
    code = _kernel("weave", first.dtype, ways=len(arrays))
    if code is None:
        return None
    items = -(-count // native.WOVEN)
    grain = chunk(items, native.WOVEN * len(arrays))
    return prepared(code, items, grain, arrays, [(tuple(shape), first.dtype)], [count])


def _joined_rows(arrays, shape):
    """``f(*arrays)``: arrays of one shape, one after the other, each of dense rows in equal steps;
    None for others."""
    first = arrays[0]
    if any(a.shape != first.shape for a in arrays):
        return None
    width, steps = first.itemsize, []
    for a in arrays:
        extents, strides = merged(a.shape, a.strides)
        if len(extents) != 2 or strides[1] != width:
            return None
        steps.append(strides[0])
        rows, columns = extents
    code = _kernel("join_rows", first.dtype)
    if code is None:
        return None
    items, words = rows * len(arrays), [rows, columns, *steps]
    outputs, grain = [(tuple(shape), first.dtype)], chunk(items, columns)
    return prepared(code, items, grain, arrays, outputs, words, head=len(arrays))


def joined(arrays, dim, shape):
    """``f(*arrays)``: arrays of one dtype, whose rows from the dimension on are dense, joined along
    it to `shape`."""
    first = arrays[0]
    size = math.prod(shape) * first.itemsize
    if not size or REFERENCE or len(arrays) > MOST:
        return None
    if any(a.dtype is not first.dtype for a in arrays):
        return None
    steps = [_row_step(a, dim) for a in arrays]
    outer = math.prod(shape[:dim])
    if None in steps:
        return _joined_rows(arrays, shape) if outer == 1 else None
    if size // outer >= _LONG_ROW:
        return _joined_blocks(arrays, outer, shape, steps)
    dense = all(a.flags.c_contiguous for a in arrays)
    if dense and 2 <= len(arrays) <= _WAYS and all(a.size == outer for a in arrays):
        return _woven(arrays, outer, shape)
    code = _kernel("join", first.dtype)
    if code is None:
        return None
    widths = [a.size // outer for a in arrays]
    words = [sum(widths), *widths, *steps]
    outputs = [(tuple(shape), first.dtype)]
    grain = chunk(outer, sum(widths))
    return prepared(code, outer, grain, arrays, outputs, words, head=len(arrays))
