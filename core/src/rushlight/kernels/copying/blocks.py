"""Dense memory filled with a number or copied, by one compiled call.

From 32 KB a call of the native calls takes a third of the time that NumPy takes into aligned
memory, and threads share what is larger. What the caches cannot hold is stored past them.
Before the first kernel has run, NumPy does it all: compiling would cost more (0.2 s, 45 MiB).
"""

from __future__ import annotations

import functools
import math

from rushlight.kernels.launch.execution import REFERENCE, chunk
from rushlight.kernels.launch.prepared import Remembered, prepared
from rushlight.machine import memory, threads
from rushlight.machine.processors import streams_from

__all__ = ["copied", "copy", "fill", "filled"]

LEAST = memory.ALIGNED_FROM  # bytes below which NumPy is as fast
HUGE = 1 << 22  # bytes from which NumPy makes memory: it asks for huge pages then
SHARED = 1 << 18  # bytes from which threads share the work
_OTHER_NUMBERS = 4  # times as many bytes: processors store lines of zeros faster than others
_LARGE = 3e38  # floats from which narrower ones may overflow
_TYPES = {"f4": "f32", "f8": "f64", "i8": "i64", "i4": "i32", "u1": "u8", "b1": "u8"}


def _fill_code(dtype, room, zero):
    """For so many bytes: address of the kernel, letter of its number, elements and bytes of one;
    None where there is no kernel. Zeros of all dtypes are bytes."""
    name, width = ("u8", 1) if zero else (_TYPES.get(dtype.str[1:]), dtype.itemsize)
    if name is None or REFERENCE:
        return None
    from rushlight.kernels.copying import block_kernels as native
    from rushlight.machine.language import functions as language

    kind = getattr(language, name)
    past = room >= streams_from() * (1 if zero else _OTHER_NUMBERS)
    code = native.fill_blocks.address(element=kind, streams=int(past))
    return code, "f" if name[0] == "f" else "i", room // width, width


def _blocks(size):
    """Items and grain of so many bytes."""
    from rushlight.kernels.copying.block_kernels import BLOCK

    items = -(-size // BLOCK)
    return items, items if size < SHARED else chunk(items, BLOCK, 3 << 16)


_filled, _copied = Remembered(), Remembered()


def is_zero(value):
    """Whether all bits of a number are zero: not those of -0.0."""
    kind = type(value)
    return not value and (kind is int or kind is float and math.copysign(1, value) > 0)


def filled(shape, dtype, value):
    """A new array of one number."""
    zero = is_zero(value)
    if not threads.is_cold():
        key = shape, dtype, zero
        try:
            call = _filled[key]
        except KeyError:
            call = _filled.keep(key, _prepared_fill(shape, dtype, zero))
        number = None if call is None else 0 if zero else _plain(value, dtype)
        if number is not None:
            return call(number)
    if zero:
        return memory.zeros(shape, dtype)
    array = memory.empty(shape, dtype)
    array.fill(value)
    return array


def _plain(value, dtype):
    """The number as a kernel takes it; None where NumPy's rules ask for more, as out of range."""
    kind = type(value)
    if dtype.kind == "f":
        if kind is not float and kind is not int and kind is not bool:
            return None
        return float(value) if -_LARGE < value < _LARGE or value != value else None
    if dtype.kind == "b":
        return bool(value) if kind in (int, float, bool) else None
    if kind is float or kind is not int and kind is not bool or dtype.itemsize == 1:
        return int(value) if kind is bool else None
    return value if -(1 << 31) <= value < 1 << 31 else None


def _prepared_fill(shape, dtype, zero):
    room = math.prod(shape) * dtype.itemsize
    found = _fill_code(dtype, room, zero) if room >= LEAST else None
    if found is None:
        return None
    code, letter, *words = found
    return prepared(code, *_blocks(room), [], [(shape, dtype)], words, letter)


@functools.lru_cache(maxsize=512)
def _fill_plan(count, dtype, zero):
    room = count * dtype.itemsize
    found = _fill_code(dtype, room, zero)
    if found is None:
        return None
    code, _, *words = found
    return threads.plan(code, *_blocks(room), [0, 0, 0, *words])


def fill(array, value):
    """Write one number everywhere; False where that is left to NumPy."""
    if threads.is_cold() or array.nbytes < LEAST:
        return False
    if not array.flags.c_contiguous or not array.flags.writeable:
        return False
    zero = is_zero(value)
    plan = _fill_plan(array.size, array.dtype, zero)
    number = 0 if zero else _plain(value, array.dtype)
    if number is None or plan is None:
        return False
    threads.run(plan, 0, array, number)
    return True


def copied(array):
    """A copy of a dense array of some size; None where that is left to NumPy."""
    if REFERENCE or threads.is_cold() or not array.flags.c_contiguous or array.nbytes < LEAST:
        return None
    key = array.shape, array.dtype
    try:
        call = _copied[key]
    except KeyError:
        call = _copied.keep(key, _prepared_copy(array))
    found = call(array)
    return None if found is NotImplemented else found


def _copy_code(size):
    from rushlight.kernels.copying import block_kernels as native

    return native.copy_blocks.address(streams=int(size >= streams_from()))


def _prepared_copy(array):
    items, grain = _blocks(array.nbytes)
    outputs = [(array.shape, array.dtype)]
    return prepared(_copy_code(array.nbytes), items, grain, [array], outputs, [array.nbytes])


@functools.lru_cache(maxsize=512)
def _copy_plan(size):
    return threads.plan(_copy_code(size), *_blocks(size), [0, 0, 0, size])


def copy(target, source):
    """Write the elements of a dense array to another of its shape and dtype; False where that is
    left to NumPy (little or strided memory, memory that both share)."""
    size = target.nbytes
    if size < LEAST or REFERENCE or threads.is_cold():
        return False
    if source.dtype != target.dtype or source.shape != target.shape:
        return False
    if not (target.flags.c_contiguous and source.flags.c_contiguous):
        return False
    first, second = memory.address(target), memory.address(source)
    if first < second + size and second < first + size:
        return first == second
    threads.run(_copy_plan(size), 0, target, source)
    return True
