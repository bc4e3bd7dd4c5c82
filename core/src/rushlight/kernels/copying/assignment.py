"""Elements written to arrays of any strides, and converted on the way, by all threads.

What is small, or of other dtypes than kernels know, or is in more than four runs, is left to
NumPy, whose one thread took up to forty times as long for what is large.
"""

from __future__ import annotations

import math

from rushlight.kernels.copying import moving
from rushlight.kernels.copying.blocks import LEAST
from rushlight.kernels.launch.execution import REFERENCE, chunk
from rushlight.kernels.launch.prepared import Remembered, prepared
from rushlight.machine import memory, np, threads
from rushlight.machine.arrays import bfloat16

__all__ = ["by_rows", "converted", "copied", "write", "written"]

_OUTER = 3  # runs beside the innermost
_LOOK = 10_000  # steps of the search for elements that two arrays share
_SIZES = {1: "u8", 2: "u16", 4: "i32", 8: "i64"}
_NUMBERS = {"f4": "f32", "f8": "f64", "i8": "i64", "i4": "i32", "u1": "u8", "b1": "u8"}
_HALVES = {np.dtype(np.float16): 1, np.dtype(bfloat16): 0}
_BOOL, _FLOAT32 = np.dtype(np.bool_), np.dtype(np.float32)
# Steps within rows that the kernel has loops for, and what stands for all others.
_INTO, _OUT_OF, _ANY = frozenset({1}), frozenset({0, 1, 2}), -1
_PIECE = 1 << 14  # elements of a row that are one item, about
_plans = Remembered()


def _types(source, target):
    """Parameters of the kernel: the types of the elements, what is half-width (0: nothing, 1: the
    source, 2: the target) and of which kind, and whether the target is a bool; or None."""
    if source == target:
        name = _SIZES.get(min(source.itemsize, 8))
        return None if name is None else (name, name, 0, 0, 0)
    if _FLOAT32 in (source, target) and (source in _HALVES or target in _HALVES):
        if source in _HALVES:
            return "u16", "f32", 1, _HALVES[source], 0
        return "f32", "u16", 2, _HALVES[target], 0
    names = _NUMBERS.get(source.str[1:]), _NUMBERS.get(target.str[1:])
    return None if None in names else (*names, 0, 0, int(target == _BOOL))


def _runs(target, source):
    """(extent, step of the target, step of the source) of each run of dimensions that both arrays
    walk through evenly, in bytes, from the widest steps of the target to the narrowest; None where
    elements of the target overlap."""
    triples = zip(target.shape, target.strides, source.strides, strict=True)
    triples = sorted((t for t in triples if t[0] != 1), key=lambda t: -abs(t[1]))
    found, reach = [], 0
    for n, to, step in triples:
        if found and found[-1][1] == n * to and found[-1][2] == n * step:
            found[-1] = (found[-1][0] * n, to, step)
        else:
            found.append((n, to, step))
    for n, to, _ in reversed(found):
        if abs(to) <= reach:
            return None
        reach += (n - 1) * abs(to)
    if target.itemsize == 16:
        found.append((2, 8, 8 if source.itemsize == 16 else 0))
    return found or [(1, target.itemsize, source.itemsize)]


def _job(target, source):
    """The kernel, its items, their grain and its constants for arrays of one layout; None where
    that is left to NumPy."""
    types, runs = _types(source.dtype, target.dtype), _runs(target, source)
    if types is None or runs is None or len(runs) > _OUTER + 1:
        return None
    width, wide = min(target.itemsize, 8), min(source.itemsize, 8)
    if any(to % width or step % wide for _, to, step in runs):
        return None
    from rushlight.kernels.copying import assignment_kernels as native
    from rushlight.machine.language import functions as language
    from rushlight.machine.language import half_floats

    origin, element, half, kind, truth = types
    kind = 2 if half and kind and half_floats.is_fast() else kind
    *outer, (n, to, step) = runs
    to, step = to // width, step // wide
    code = native.write_rows.address(
        origin=getattr(language, origin), element=getattr(language, element), narrowed=half,
        half=kind, truth=truth, to_step=to if to in _INTO else _ANY,
        from_step=step if step in _OUT_OF else _ANY,
    )  # fmt: skip
    outer = [(1, 0, 0)] * (_OUTER - len(outer)) + outer
    extents, into, out_of = zip(*outer, strict=True)
    pieces = -(-n // _PIECE)
    words = [n, to, step, *extents[1:], *into, *out_of, pieces]
    items = math.prod(extents) * pieces
    return (code, items, chunk(items, n // pieces)), words


def _plan(target, source):
    found = _job(target, source)
    if found is None:
        return None
    job, words = found
    return threads.plan(*job, [0, 0, 0, *words])


def converted(input, dtype):
    """``f(input)``: a copy that is row-major, in a dtype, by one call (see :mod:`.prepared`)."""
    if REFERENCE or not input.size or input.ndim > 8:
        return None
    found = _job(np.empty(input.shape, dtype), input)
    if found is None:
        return None
    job, words = found
    return prepared(*job, [input], [(input.shape, dtype)], words)


def copied(input):
    """``f(input)``: a copy that is row-major, by one call; or None."""
    found = moving.copied(input, input.shape, input.strides, 0, input.shape)
    return converted(input, input.dtype) if found is None else found


def _meet(target, source):
    """Whether two arrays may have elements in common."""
    if not np.may_share_memory(target, source):
        return False
    try:
        return np.shares_memory(target, source, _LOOK)
    except (np.exceptions.TooHardError, OverflowError):
        return True


def written(target, source):
    """``target[...] = source`` of an array that broadcasts to the target, or of a number that its
    dtype holds; False, and nothing written, where that is left to NumPy."""
    if target.nbytes < LEAST or REFERENCE or threads.is_cold() or not target.flags.writeable:
        return False
    if type(source) is not np.ndarray:
        source = np.array(source, target.dtype)
    if source.ndim and source.shape != target.shape:
        source = np.broadcast_to(source, target.shape)
    key = target.shape, target.strides, target.dtype, source.strides, source.dtype
    try:
        plan = _plans[key]
    except KeyError:
        plan = _plans.keep(key, _plan(target, np.broadcast_to(source, target.shape)))
    if plan is None or not target.flags.aligned or not source.flags.aligned:
        return False
    if _meet(target, source):
        return False
    threads.run(plan, 0, target, source)
    return True


def by_rows(array):
    """The array (or None), copied where its elements are not row-major: results of NumPy follow
    the order of their inputs' memory, those of PyTorch's reductions do not."""
    if type(array) is not np.ndarray or array.flags.c_contiguous:
        return array
    out = memory.empty(array.shape, array.dtype)
    write(out, array)
    return out


def write(target, source):
    """``target[...] = source``, by whoever does it best."""
    if not written(target, source):
        target[...] = source
