"""Arithmetic on shapes and strides: what views are, as NumPy has them."""

from __future__ import annotations

from rushlight.machine import np

_INTEGERS = (int, np.integer)


def contiguous_strides(shape, itemsize) -> tuple:
    """Strides of a row-major array, in bytes."""
    strides, step = [0] * len(shape), itemsize
    for d in range(len(shape) - 1, -1, -1):
        strides[d] = step
        step *= shape[d] or 1
    return tuple(strides)


def is_contiguous(shape, strides, itemsize) -> bool:
    """Whether elements are in row-major order without gaps; empty arrays are."""
    step = itemsize
    for n, stride in zip(reversed(shape), reversed(strides), strict=True):
        if n == 0:
            return True
        if n != 1:
            if stride != step:
                return 0 in shape
            step *= n
    return True


def broadcast_strides(shape, strides, target) -> tuple:
    """Strides of a broadcast view; ValueError where the shape does not broadcast."""
    extra = len(target) - len(shape)
    found = [0] * max(extra, 0)
    if extra < 0:
        raise ValueError(f"shape {tuple(shape)} does not broadcast to {tuple(target)}")
    for n, stride, wanted in zip(shape, strides, target[extra:], strict=True):
        if n != wanted and n != 1:
            raise ValueError(f"shape {tuple(shape)} does not broadcast to {tuple(target)}")
        found.append(stride if n == wanted else 0)
    return tuple(found)


def reshaped_strides(shape, strides, target, itemsize):
    """Strides of the same memory in another shape of as many elements; None where no strides say
    it. Runs of dimensions that are behind one another are matched greedily."""
    if 0 in shape:
        return contiguous_strides(target, itemsize)
    old = [(n, s) for n, s in zip(shape, strides, strict=True) if n != 1]
    found, i, j = [0] * len(target), 0, 0
    while j < len(target):
        if target[j] == 1 and i >= len(old):
            found[j], j = itemsize, j + 1
            continue
        if i >= len(old):
            return None
        start_i, start_j = i, j
        wanted, have = target[j], old[i][0]
        while wanted != have:
            if wanted < have:
                j += 1
                wanted *= target[j]
            else:
                i += 1
                have *= old[i][0]
        for a, b in zip(old[start_i:i], old[start_i + 1 : i + 1], strict=True):
            if a[1] != b[0] * b[1]:
                return None
        step = old[i][1]
        for k in range(j, start_j - 1, -1):
            found[k] = step
            step *= target[k]
        i, j = i + 1, j + 1
    return tuple(found)


def step_through(array, index):
    """Shape, strides and offset of ``array[index]`` for integers, slices, None and ...; None where
    the index holds an array. Raises IndexError as NumPy does."""
    items = index if type(index) is tuple else (index,)
    used = 0
    for item in items:
        if isinstance(item, (bool, np.bool_)):
            return None
        if isinstance(item, _INTEGERS) or isinstance(item, slice):
            used += 1
        elif item is not None and item is not Ellipsis:
            return None
    ndim = len(array.shape)
    if used > ndim:
        raise IndexError(
            f"too many indices for array: array is {ndim}-dimensional, but {used} were indexed"
        )
    if not any(item is Ellipsis for item in items):
        items = (*items, Ellipsis)
    shape, strides, offset, d = [], [], 0, 0
    for item in items:
        if item is None:
            shape.append(1)
            strides.append(0)
        elif item is Ellipsis:
            rest = ndim - used
            shape += array.shape[d : d + rest]
            strides += array.strides[d : d + rest]
            d, used = d + rest, ndim
        elif isinstance(item, slice):
            start, stop, step = item.indices(array.shape[d])
            count = len(range(start, stop, step))
            shape.append(count)
            strides.append(array.strides[d] * step)
            offset += start * array.strides[d] if count else 0
            d += 1
        else:
            n, at = array.shape[d], int(item)
            if not -n <= at < n:
                raise IndexError(f"index {at} is out of bounds for axis {d} with size {n}")
            offset += (at + n if at < 0 else at) * array.strides[d]
            d += 1
    return tuple(shape), tuple(strides), offset
