"""New tensors on the CPU as programs mostly ask for them: small ones by one call of machine code.

What is unusual gives None and is left to the general path.
"""

from __future__ import annotations

from rushlight import devices
from rushlight.dtypes import ALL
from rushlight.dtypes import dtype as DType
from rushlight.kernels.copying import blocks
from rushlight.machine import memory, np
from rushlight.machine.arrays import BY_CODE
from rushlight.ops._calls.direct import lies_plainly
from rushlight.tensor import construction
from rushlight.tensor.dispatch import STATE
from rushlight.tensor.shape import Size

_SEQUENCES = frozenset({tuple, list, Size})
_ones = [None] * len(ALL)  # by a dtype's code: an array of a 1


def _one(dtype):
    unit = _ones[dtype.code]
    if unit is None:
        unit = _ones[dtype.code] = np.ones(1, BY_CODE[dtype.code])
    return unit


def _unit(fill, dtype):
    """What machine code fills new memory with; numbers but 0 and 1 come later, which is for small
    tensors."""
    if type(fill) is not int:
        return None if fill is None else ...
    return _one(dtype) if fill else False


def _memory(shape, kind, fill, room):
    """A new array of so many bytes, of one number where `fill` is not None."""
    if not 0 < room < 1 << 63:
        memory.bytes_of(shape, kind.itemsize)  # which says so
    if room >= memory.ALIGNED_FROM:
        return memory.empty(shape, kind) if fill is None else blocks.filled(shape, kind, fill)
    if type(fill) is int and not fill:
        return np.zeros(shape, kind)
    array = np.empty(shape, kind)
    if fill is not None:
        array.fill(fill)
    return array


def plainly_made(size, fill, dtype, device=None):
    """A tensor of the sizes as given; `fill` is None, the integers 0 or 1, or a float."""
    if not devices.is_cpu(device):
        return None
    if len(size) == 1 and type(size[0]) is not int:
        (size,) = size
        if type(size) not in _SEQUENCES:
            return None
        size = tuple(size)
    kind = BY_CODE[dtype.code]
    made = construction.fresh(size, kind, dtype, _unit(fill, dtype))
    if made is NotImplemented:
        room = dtype.itemsize
        for n in size:
            if type(n) is not int or n < 0:
                return None
            room *= n
        made = construction.made(_memory(size, kind, fill, room), dtype)
    elif type(fill) is float:
        made._array.fill(fill)
    return construction.inferred(made)


def plainly_alike(input, fill, dtype=None):
    """A tensor with the sizes of another, and its dtype unless one is named."""
    if STATE.levels:
        return None
    made = NotImplemented
    if dtype is None:
        made = construction.alike(input, _unit(fill, input._dtype))
    if made is NotImplemented:
        if not lies_plainly(input) or dtype is not None and type(dtype) is not DType:
            return None
        array, dtype = input._array, input._dtype if dtype is None else dtype
        room = array.size * dtype.itemsize
        made = construction.made(_memory(array.shape, BY_CODE[dtype.code], fill, room), dtype)
    elif type(fill) is float:
        made._array.fill(fill)
    return construction.inferred(made)


def identity(rows, columns, dtype):
    """A matrix of zeros with ones on its diagonal."""
    if type(rows) is not int or type(columns) is not int or rows > columns:
        return None
    kind = BY_CODE[dtype.code]
    made = construction.fresh((rows, columns), kind, dtype, _one(dtype), columns + 1)
    if made is NotImplemented:
        if rows * columns * dtype.itemsize < memory.ALIGNED_FROM:
            return None
        array = blocks.filled((rows, columns), kind, 0)
        array.reshape(-1)[:: columns + 1] = 1
        made = construction.made(array, dtype)
    return construction.inferred(made)
