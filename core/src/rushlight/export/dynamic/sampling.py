"""At which sizes a program is captured, and arguments of these sizes."""

from __future__ import annotations

import itertools
import math

import rushlight
from rushlight.tensor.tensor import Tensor
from rushlight.utils import _pytree as pytree

# A size divisible by what strides and patches usually are; those beside it are not. No larger one:
# programs may compute index tables of it while they are captured.
ROUND = 64 * 3
_STEPS = (1, 4, 2, 7, 5, 11, 3)  # by which sizes grow that keep their order
RUN, FURTHER = 6, 12  # sizes that follow each other, and others, that are tried in doubt
FEWEST = 2  # other sizes without which no expression can be told
LEAST = 2  # of sizes 0 and 1 programs often do something else: they are not looked at


def wide(free) -> list[dict[str, int]]:
    """The example's sizes, then others on both sides of round numbers, far apart."""
    return _rows(free, lambda one, turn: _around(one, ROUND * (turn + 1)))


def near(free) -> list[dict[str, int]]:
    """The same with sizes close to the example's: for programs that have tables of a length."""
    return _rows(free, lambda one, turn: [one.example + k for k in (1, 2, 3, 5, 8)])


def about(free) -> list[dict[str, int]]:
    """The same with sizes on both sides of the example's: for programs with sizes such as
    ``min(s, 7)``."""
    return _rows(free, lambda one, turn: [one.example + k for k in (-1, 1, -2, 2, -3)])


def ordered(free) -> list[dict[str, int]]:
    """Sizes near the example's, in its order: for programs that cut one argument to the size of
    another, which must not be larger."""
    rows = [{name: one.example for name, one in free.items()}]
    names = sorted(free, key=lambda name: free[name].example)
    for row in range(len(_STEPS)):
        sizes, grown = {}, 0
        for turn, name in enumerate(names):
            grown += _STEPS[(row + turn * turn) % len(_STEPS)]
            high = free[name].range.upper
            sizes[name] = int(min(free[name].example + grown, high))
        rows.append({name: sizes[name] for name in free})
    return rows


def multiples(free) -> list[dict[str, int]]:
    """The same with multiples of the example's sizes: for programs that divide them."""
    return _rows(free, lambda one, turn: [one.example * k for k in (2, 3, 4, 5, 7)])


def taken(free, takes) -> list[dict[str, int]] | None:
    """The example's sizes and others that a program takes, as ``takes(sample)`` says: such as
    multiples of a number, one size at a time and all together. None where a size has too few."""
    example = {name: one.example for name, one in free.items()}
    columns = {}
    for name, one in free.items():
        each = ({**example, name: size} for size in _candidates(one))
        columns[name] = list(itertools.islice(filter(takes, each), RUN))
        if len(columns[name]) < FEWEST:
            return None
    together = (
        {name: sample[name] for name, sample in zip(example, row, strict=True)}
        for row in zip(*columns.values(), strict=False)
    )
    rows = [example, *itertools.chain.from_iterable(columns.values()), *filter(takes, together)]
    return [row for i, row in enumerate(rows) if row not in rows[:i]]


def _candidates(one) -> list[int]:
    """Sizes of a range, few of which a program may take: multiples, and small ones."""
    low, high = max(one.range.lower, LEAST), one.range.upper
    sizes = [*(one.example * k for k in (2, 3, 4, 5)), *range(LEAST, 2 * FURTHER)]
    return [n for n in dict.fromkeys(sizes) if low <= n <= high and n != one.example]


def between(low, high, example) -> list[int]:
    """Sizes of a range from the example's on outwards: the least that follow each other, and others
    as far apart as `FURTHER` of them are."""
    step = max(1, int(high - low) // FURTHER)
    sizes = {*range(low, int(min(low + RUN, high + 1))), *range(low, int(high) + 1, step)}
    return sorted(sizes - {example}, key=lambda size: abs(size - example))


def _around(one, large):
    return [large - 1, large, large + 1, 4 * one.example + 3, 3 * one.example + 2]


def _rows(free, wanted):
    rows = [{name: one.example for name, one in free.items()}]
    columns = {
        name: _turned(_allowed(one, wanted(one, turn)), turn)
        for turn, (name, one) in enumerate(free.items())
    }
    count = max(map(len, columns.values()), default=0)
    for i in range(count):
        rows.append({name: column[i % len(column)] for name, column in columns.items()})
    return rows


def _turned(values, by):
    by %= len(values)
    return values[by:] + values[:by]


def _allowed(one, values):
    """Sizes in the range, others than the example's; where few of the wanted are, others."""
    low, high = max(one.range.lower, LEAST), one.range.upper
    kept = [v for v in dict.fromkeys(values) if low <= v <= high and v != one.example]
    if len(kept) < 4 and high != math.inf:
        middle = range(int(high), low - 1, -1)
        more = [v for v in (*middle[:3], *middle[-3:]) if v != one.example]
        kept += [v for v in dict.fromkeys(more) if v not in kept]
    return kept or [one.example]


def resized(leaves, sizes, sample):
    """The arguments' leaves with the sizes that a sample gives to some; these have no elements."""
    found = list(leaves)
    for (leaf, dim), expression in sizes.items():
        if dim is None:  # a number
            found[leaf] = expression.value(sample)
            continue
        shape = list(found[leaf].shape)
        shape[dim] = expression.value(sample)
        found[leaf] = _like(leaves[leaf], shape)
    return found


def _like(tensor, shape):
    """A tensor without elements, with dimensions in the same order in memory."""
    order = sorted(range(tensor.ndim), key=lambda d: (tensor.stride(d), -d))
    strides, step = [0] * len(shape), 1
    for dim in order:
        strides[dim], step = step, step * max(shape[dim], 1)
    made = rushlight.empty_strided(shape, strides, dtype=tensor.dtype, device="meta")
    return made.requires_grad_(tensor.requires_grad)


def arguments(args, kwargs, sizes, sample):
    """Arguments of the sizes of a sample, and the devices of their leaves."""
    leaves, spec = pytree.tree_flatten((args, kwargs))
    devices = [leaf.device if isinstance(leaf, Tensor) else None for leaf in leaves]
    return (*pytree.tree_unflatten(resized(leaves, sizes, sample), spec), devices)
