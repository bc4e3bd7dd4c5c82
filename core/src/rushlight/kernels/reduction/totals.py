"""Sums, means and extremes of dense arrays over any dimensions, by one to three compiled calls.

Runs of 4096 elements are summed in vectors and added up in float64; columns are summed in groups of
four rows. Half-width floats are summed in float32 and rounded once, bools and integers in int64.
How the work is split depends on the shape only, and so do the bits of the result.
"""

from __future__ import annotations

import math

from rushlight.kernels.launch.execution import (
    FLOAT32,
    FLOAT64,
    HALF_DTYPES,
    ORDERED_TYPES,
    REFERENCE,
    chunk,
    floating_types,
)
from rushlight.kernels.launch.prepared import prepared, word_of
from rushlight.machine import np
from rushlight.machine.arrays import bfloat16

__all__ = ["selected", "totalled", "variance"]

KINDS = {"sum": 0, "mean": 0, "root": 0, "sizes": 0, "numbers": 0, "max": 1, "min": 2}
KINDS |= {"squares": 0, "rooted": 0}  # a first and a last pass of "root"
TAKEN = {
    "root": 1,
    "squares": 1,
    "sizes": 2,
    "numbers": 3,
}  # of elements: squares, sizes, those that are not NaN
ALONE = 1 << 17  # elements up to which rows are not divided
TOGETHER = 1 << 15  # elements that one thread adds up as fast as two
SELECTED = 1 << 13  # the same where it finds extremes and their positions
LONG_HALF = 1 << 20  # elements of half-width rows that are not widened as a whole
BLOCK = 1 << 16  # elements of a block of one long row
ROWS = 256  # rows of a block whose columns are reduced
NARROW, WIDE = 64, 512  # rows shorter than the first are taken together, up to the second
VECTORED = 256  # elements of rows of floats that are summed as many at once as vectors have lanes
SHORT = 16  # elements of rows that are summed without loops (longer ones: slower by half)
_INT64 = np.dtype(np.int64)
_NAMES = {"f4": "f32", "f8": "f64", "i8": "i64", "i4": "i32", "b1": "u8", "u1": "u8"}
_HALVES = {np.dtype(np.float16): 1, np.dtype(bfloat16): 0}


def _types(dtype, is_sum):
    """Names in the kernel language of elements and arithmetic; None for dtypes that are left."""
    if dtype in _HALVES:
        return "u16", "f32"
    name = _NAMES.get(dtype.str[1:])
    if name is None:
        return None
    if name == "u8" and not is_sum:
        return None
    return name, "i64" if is_sum and name in ("i64", "i32", "u8") else name


def _in_memory_order(input, axes):
    """Extents and reduced axes of an array in the order of its memory; None where that has gaps,
    or has what is kept in another order than the result's."""
    if input.flags.c_contiguous:
        return input.shape, axes
    order = [d for d in range(input.ndim) if input.shape[d] > 1]
    order.sort(key=lambda d: -input.strides[d])
    distance = input.itemsize
    for d in reversed(order):
        if input.strides[d] != distance:
            return None
        distance *= input.shape[d]
    kept = [d for d in order if d not in axes]
    if kept != sorted(kept):
        return None
    return [input.shape[d] for d in order], [i for i, d in enumerate(order) if d in axes]


def _runs(shape, axes):
    """Neighbouring dimensions of one kind taken together: [[extent, is reduced]]."""
    runs = []
    for d, n in enumerate(shape):
        reduced = d in axes
        if n == 1:
            continue
        if runs and runs[-1][1] == reduced:
            runs[-1][0] *= n
        else:
            runs.append([n, reduced])
    return runs


def _spaced_runs(input, axes):
    """The runs of an array with gaps between its elements, from the widest step to the narrowest,
    and where its elements are: (position of the run to be reduced first, words for the kernel). No
    runs where no kernel knows its layout."""
    order = [d for d in range(input.ndim) if input.shape[d] > 1]
    order.sort(key=lambda d: -input.strides[d])
    kept = [d for d in order if d not in axes]
    if kept != sorted(kept) or any(input.strides[d] < 0 for d in order):
        return [], None
    runs, steps = [], []
    for d in order:
        n, step, reduced = input.shape[d], input.strides[d], d in axes
        if runs and runs[-1][1] == reduced and steps[-1] == n * step:
            runs[-1][0] *= n
            steps[-1] = step
        else:
            runs.append([n, reduced])
            steps.append(step)
    place = len(runs) - 1
    place -= place > 0 and not runs[place][1]  # columns
    if not 0 <= place <= 2 or not runs[place][1] or any(step % input.itemsize for step in steps):
        return [], None
    extent, near = (runs[place - 1][0], steps[place - 1]) if place else (1, 0)
    far = steps[0] if place == 2 else 0
    return runs, (place, [extent, near, far, steps[place], steps[-1] // input.itemsize])


def _split(outer, n, inner, spaced):
    """Blocks of the reduced rows, and how many short ones are taken as one."""
    size = outer * n * inner
    if inner == 1:
        return (1 if outer >= 16 or size <= ALONE else max(1, -(-n // BLOCK))), 1
    fold = max(1, min(n, WIDE // inner)) if inner < NARROW and not spaced else 1
    if size <= ALONE or outer * -(-inner // 1024) >= 16:
        return 1, fold
    return -(-n // max(ROWS, BLOCK // min(inner, 1024))), fold


def _stage(kind, view, blocks, fold, source, out, divisor, gaps=()):
    """A call of one pass; `out` is (shape, dtype) of its result. `gaps`: words for a source that
    has some."""
    from rushlight.kernels.reduction import total_kernels as native
    from rushlight.machine.language import functions as language
    from rushlight.machine.language import half_floats

    outer, n, inner = view
    half = _HALVES.get(source.dtype, _HALVES.get(out[1], 0))
    if half and not half_floats.is_fast():
        return None
    element, middle = _types(source.dtype, KINDS[kind] == 0)
    taken, rooted = TAKEN.get(kind, 0), kind in ("root", "rooted")
    kernel, more = native.total_columns, {}
    if inner == 1:
        kernel, few = native.total_rows, KINDS[kind] == 0 and blocks == 1
        few = few and not (gaps and (gaps[0] != outer or gaps[4] != 1))
        more = {"narrow": n if few and n <= SHORT and not gaps else 0}
        plain = source.dtype == out[1] in (FLOAT32, FLOAT64) and not taken and not rooted
        if few and plain and n <= VECTORED:
            more = {"narrow": native.IN_VECTORS}
    if gaps:
        if middle == "f32" and KINDS[kind] == 0 and 1 < inner < NARROW:
            middle = "f64"  # where rows are not taken together, columns are long
        more |= {"gaps": 1, "spread": gaps[4] if gaps[4] in (1, 2) else 0}
    code = kernel.address(
        element=getattr(language, element), middle=getattr(language, middle),
        result=getattr(language, _types(out[1], True)[0]), half=half, kind=KINDS[kind],
        largest=int(kind == "max"), taken=taken, rooted=int(rooted),
        **{"gaps": 0, "spread": 1, **more},
    )  # fmt: skip
    items = outer * blocks * -(-inner * fold // native.SEGMENT)
    words = [n, inner, blocks, fold, word_of(divisor), source.dtype.itemsize, *gaps]
    work = -(-outer * n * inner // items)
    grain = items if outer * n * inner <= TOGETHER else chunk(items, work)
    return prepared(code, items, grain, [source], [out], words)


def _sources(shape, dtype):
    """Stands for an array of a later pass: `prepared` asks for its dtype only."""
    return np.empty(shape if math.prod(shape) < 2 else (1,), dtype)


def totalled(kind, input, axes, keepdim, dtype, shape=None):
    """``f(input)``: the reduction `kind` over `axes` in `dtype` ("root", "sizes" and "numbers": the
    root of the sum of squares, the sum of sizes, and of what is not NaN), in the `shape` that
    follows unless one is given; None where it is left to others (empty arrays, few elements or
    integers with gaps in memory, complex numbers, the reference mode)."""
    if REFERENCE or not input.size or len(input.shape) > 8:
        return None
    if kind in ("max", "min") and dtype != input.dtype:
        return None
    found = _types(input.dtype, KINDS[kind] == 0)
    if found is None or found[1][0] != ("f" if dtype in _HALVES else dtype.kind):
        return None
    if shape is None:
        shape = tuple([1 if i in axes else n for i, n in enumerate(input.shape)
                       if keepdim or i not in axes])  # fmt: skip
    view, gaps = _in_memory_order(input, axes), None
    if view is not None:
        runs = _runs(*view)
    else:
        runs, gaps = _spaced_runs(input, axes)
    if not any(reduced for _, reduced in runs):
        return None
    divisor = float(math.prod(n for n, reduced in runs if reduced)) if kind == "mean" else 1.0
    calls = _passes(kind, input, runs, (shape, dtype), divisor, gaps)
    return None if calls is None else _chain(calls)


def _step(kind, first, last):
    """What a pass does: elements are only seen by the first, a root is taken by the last."""
    if kind not in TAKEN or first and last:
        return kind
    if kind == "root":
        return "squares" if first else "rooted" if last else "sum"
    return kind if first else "sum"


def _passes(kind, source, runs, final, divisor, gaps=None):
    """The calls for runs of dimensions, the longest reduced one first but where there are gaps."""
    is_sum, calls = KINDS[kind] == 0, []
    while any(reduced for _, reduced in runs):
        longest = max((n, i) for i, (n, reduced) in enumerate(runs) if reduced)[1]
        place, words = gaps or (longest, ())
        gaps = None
        outer = math.prod(n for n, _ in runs[:place])
        n, inner = runs[place][0], math.prod(n for n, _ in runs[place + 1 :])
        blocks, fold = _split(outer, n, inner, words)
        runs = runs[:place] + ([[blocks, True]] if blocks > 1 else []) + runs[place + 1 :]
        runs = _joined(runs)
        last = not any(reduced for _, reduced in runs)
        between = source.dtype
        if is_sum:
            between = FLOAT64 if final[1].kind != "i" else _INT64
            if between == FLOAT64 and inner > 1 and final[1] != FLOAT64:
                between = FLOAT32  # many of them
        elif source.dtype in _HALVES:
            between = FLOAT32
        out = final if last else ((outer * blocks, inner), between)
        divided = divisor if last else 1.0
        step, view = _step(kind, not calls, last), (outer, n, inner)
        call = _stage(step, view, blocks, fold, source, out, divided, words)
        if call is None:
            return None
        calls.append(call)
        source = _sources(out[0], out[1])
    return calls


def selected(largest, input, axis, keepdim, places_only):
    """``f(input)``: the largest (or smallest) elements along `axis` and where they first are, or
    these positions only; None for what is left to others, as in :func:`totalled`."""
    half = input.dtype in HALF_DTYPES
    name = "f32" if half else ORDERED_TYPES.get(input.dtype.str[1:])
    if REFERENCE or name is None or not input.size or not input.flags.c_contiguous:
        return None
    shape, n = input.shape, input.shape[axis]
    if len(shape) > 8 or n >= (LONG_HALF if half else 1 << 31):
        return None
    from rushlight.kernels.reduction import extreme_kernels as native
    from rushlight.machine.language import functions as language

    outer, inner = math.prod(shape[:axis]), math.prod(shape[axis + 1 :])
    items = outer if inner == 1 else outer * -(-inner // native.SIDE)
    element = getattr(language, name)
    held = floating_types(input.dtype)["stored"] if half else element
    code = native.select.address(
        element=element, stored=held, largest=int(largest), places_only=int(places_only)
    )
    found = (*shape[:axis], *((1,) if keepdim else ()), *shape[axis + 1 :])
    outputs = [(found, _INT64)] if places_only else [(found, input.dtype), (found, _INT64)]
    grain = items if input.size <= SELECTED else chunk(items, input.size // items)
    words = [n, inner, input.itemsize]
    return prepared(code, items, grain, [input], outputs, words, scratch=half)


def _joined(runs):
    joined = []
    for n, reduced in runs:
        if joined and joined[-1][1] == reduced:
            joined[-1][0] *= n
        else:
            joined.append([n, reduced])
    return joined


def _chain(calls):
    if len(calls) == 1:
        return calls[0]
    first, *others = calls

    def call(array):
        array = first(array)
        if array is not NotImplemented:
            for following in others:
                array = following(array)
        return array

    return call


def variance(input, axes, keepdim, divisor):
    """``f(input)``: variances over the last dimensions of few long rows of float32 or float64,
    with threads inside a row; None for what is left to others."""
    dims = input.ndim
    if input.dtype not in (FLOAT32, FLOAT64) or not input.flags.c_contiguous:
        return None
    if tuple(sorted(axes)) != tuple(range(dims - len(axes), dims)):
        return None
    mean = totalled("mean", input, axes, True, FLOAT64 if input.dtype == FLOAT64 else FLOAT32)
    if mean is None or not divisor:
        return None
    from rushlight.kernels.reduction import total_kernels as native
    from rushlight.machine.language import functions as language

    n = math.prod(input.shape[a] for a in axes)
    outer, blocks = input.size // n, -(-n // BLOCK)
    element = getattr(language, _NAMES[input.dtype.str[1:]])
    code = native.squares_rows.address(element=element, middle=element)
    centre, items = np.empty((outer, 1)), outer * blocks
    words = [n, 1, blocks, 1, 0, input.dtype.itemsize, items]
    sums = prepared(code, items, chunk(items, n // blocks), [input, centre],
                    [((2, outer, blocks), FLOAT64)], words)  # fmt: skip
    shape = tuple([1 if i in axes else n for i, n in enumerate(input.shape)
                   if keepdim or i not in axes])  # fmt: skip

    def call(array):
        centre = mean(array)
        if centre is NotImplemented:
            return centre
        squares, offsets = sums(array, centre.astype(FLOAT64, copy=False)).sum(-1)
        # The centre is rounded: numbers that differ by as little would show it.
        found = squares - offsets * offsets / n
        return (np.maximum(found, 0) / divisor).astype(input.dtype).reshape(shape)

    return call
