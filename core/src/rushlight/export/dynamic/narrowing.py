"""Ranges of sizes as the parts say that a program takes: ``x[:3]`` has three rows of 3 and more.

PyTorch decides such comparisons by the example's sizes and keeps to what it found; so do the sizes
here whose ranges nobody gave. Comparisons that are no ``size >= number`` tell nothing of a range.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from rushlight.export.dynamic.expressions import Expression, ValueRanges, add, number, times
from rushlight.export.dynamic.number_functions import expression_of

_MINUS = number(-1)
ENDLESS = (1 << 63) - 1  # the end of a slice that has none


def narrowed(declaration, found):
    """The declaration without sizes for which the parts that the program `found` takes are
    others than for the example's."""
    sizes = _Sizes(declaration.copied())
    nodes, known = found.nodes, {}
    for i, node in enumerate(nodes.graph.nodes):
        known[node] = nodes.sizes[i]
        compared = _COMPARED.get(str(node.target)) if node.op == "call_function" else None
        args, kwargs = nodes.changed[i] or (node.args, node.kwargs)
        if compared is not None and not kwargs and known[args[0]] is not None:
            compared(sizes, known[args[0]], *args[1:])
    return sizes.declaration


class _Sizes:
    """Comparisons at the example's sizes, and the ranges in which they come out alike."""

    def __init__(self, declaration):
        self.declaration = declaration
        self.example = {name: one.example for name, one in declaration.free.items()}

    def at_least(self, value, other) -> bool:
        """Whether ``value >= other``, and for all sizes of the ranges from now on."""
        over = _less(expression_of(value), expression_of(other))
        if not over.symbols() <= self.example.keys():
            return True  # numbers that the program reads: nothing is known
        holds = over.value(self.example) >= 0
        if over.is_line() and abs(over.line()[1]) == 1:
            self._keep(*over.line(), holds)
        return holds

    def _keep(self, name, factor, offset, holds):
        """Keep ``factor * size + offset`` at or above 0, or below it; `factor` is 1 or -1."""
        one = self.declaration.free[name]
        if not one.inferred:
            return
        low, high = one.range.lower, one.range.upper
        if holds == (factor == 1):
            low = max(low, -offset if holds else offset + 1)
        else:
            high = min(high, offset if holds else -offset - 1)
        self.declaration.free[name] = replace(one, range=ValueRanges(low, high))


def _less(value, other) -> Expression:
    return add(value, times(_MINUS, other))


# ------------------------------------------------------------------------------------- comparisons
def _slice(sizes, shape, dim=0, start=None, end=None, step=1):
    """Both ends are counted from the front, then kept inside of the size."""
    size = shape[dim]
    start = _from_front(sizes, size, 0 if start is None else start)
    end = ENDLESS if end is None else _from_front(sizes, size, end)
    if not sizes.at_least(start, 0):
        start = 0
    elif not sizes.at_least(size, start):
        start = size
    if end != ENDLESS and sizes.at_least(end, start):
        sizes.at_least(size, end)


def _from_front(sizes, size, end):
    if sizes.at_least(end, 0):
        return end
    return _Made(add(expression_of(size), expression_of(end)))


class _Made:
    """A number of which the expression is known."""

    def __init__(self, expression):
        self.expression = expression


def _select(sizes, shape, dim, index):
    size = shape[dim]
    if sizes.at_least(index, 0):
        sizes.at_least(size, _Made(add(expression_of(index), number(1))))
    else:
        sizes.at_least(_from_front(sizes, size, index), 0)


def _narrow(sizes, shape, dim, start, length):
    end = add(expression_of(start), expression_of(length))
    sizes.at_least(shape[dim], _Made(end))


def _unfold(sizes, shape, dim, size, step):
    sizes.at_least(shape[dim], size)


def _largest(sizes, shape, count, dim=-1, *_):
    sizes.at_least(shape[dim], count)


def _parts(sizes, shape, indices, dim=0):
    """``tensor_split`` at indices: slices from each to the next."""
    for start, end in zip((0, *indices), (*indices, None), strict=True):
        _slice(sizes, shape, dim, start, end)


def _pad(sizes, shape, pads, *_):
    """Negative numbers take away from the ends of the last dimensions."""
    for i in range(0, len(pads), 2):
        both = add(expression_of(pads[i]), expression_of(pads[i + 1]))
        kept = _Made(add(expression_of(shape[-1 - i // 2]), both))
        sizes.at_least(kept, 0)


# By overloads: what compares their arguments with the sizes of the first.
_COMPARED: dict[str, Callable] = {
    "aten.slice.Tensor": _slice,
    "aten.select.int": _select,
    "aten.narrow.default": _narrow,
    "aten.unfold.default": _unfold,
    "aten.topk.default": _largest,
    "aten.kthvalue.default": _largest,
    "aten.pad.default": _pad,
    "aten.tensor_split.indices": _parts,
}
