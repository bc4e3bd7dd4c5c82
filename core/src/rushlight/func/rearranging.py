"""`rearrange`: dimensions split, joined and reordered by a pattern of names."""

from __future__ import annotations

import math
import re

from rushlight.ops.shape.joining import stack
from rushlight.tensor.tensor import Tensor

__all__ = ["rearrange"]

_TOKEN = re.compile(r"\(|\)|\.\.\.|[^\W\d]\w*|\d+")


def rearrange(tensor, pattern, **axes_lengths):
    """`tensor` (or a sequence of tensors, stacked first) with its dimensions rearranged.

    The pattern names the dimensions before and after ``->``: parentheses join dimensions (or, on
    the left, split one, whose parts' extents may be given by keyword), ``...`` stands for any
    number of dimensions, and ``1`` for one of extent one. (Rogozhnikov, 2022.)

    >>> import rushlight
    >>> images = rushlight.zeros(32, 30, 40, 3)
    >>> rushlight.func.rearrange(images, "b (h1 h) w c -> b c h (w h1)", h1=2).shape
    rushlight.Size([32, 3, 15, 80])
    """
    if not isinstance(tensor, Tensor):
        tensor = stack(list(tensor))
    sides = pattern.split("->")
    if len(sides) != 2:
        raise ValueError(f"rearrange: the pattern {pattern!r} needs exactly one '->'")
    left, right = (_groups(side, pattern) for side in sides)
    _check_names(left, right, pattern, axes_lengths)
    left, rest = _expanded(left, tensor.dim(), pattern)
    lengths = _lengths(left, tensor, pattern, axes_lengths)
    right = [
        [name for axis in group for name in (rest if axis == "..." else [axis])] if joined else
        [rest if axis == "..." else [axis] for axis in group]
        for group, joined in right
    ]  # fmt: skip
    before = [name for group, _ in left for name in group if name != "1"]
    groups = []
    for group in right:
        if group and isinstance(group[0], list):  # a name or an ellipsis by itself
            groups += [[name] for name in group[0]]
        else:
            groups.append(group)
    after = [name for group in groups for name in group if name != "1"]
    split = tensor.reshape([lengths[name] for name in before])
    moved = split.permute([before.index(name) for name in after])
    return moved.reshape([math.prod(lengths.get(n, 1) for n in group) for group in groups])


def _groups(side, pattern):
    """``[(names, joined), ...]``, one for each dimension of a side."""
    if _TOKEN.sub("", side).strip():
        raise ValueError(f"rearrange: the pattern {pattern!r} has characters that mean nothing")
    found, inner = [], None
    for token in _TOKEN.findall(side):
        if token == "(":
            if inner is not None:
                raise ValueError(f"rearrange: nested parentheses in {pattern!r}")
            inner = []
        elif token == ")":
            if inner is None:
                raise ValueError(f"rearrange: unbalanced parentheses in {pattern!r}")
            found.append((inner, True))
            inner = None
        elif token.isdigit() and token != "1":
            raise ValueError(f"rearrange: the only number a pattern may have is 1: {pattern!r}")
        elif inner is not None:
            inner.append(token)
        else:
            found.append(([token], False))
    if inner is not None:
        raise ValueError(f"rearrange: unbalanced parentheses in {pattern!r}")
    return found


def _check_names(left, right, pattern, axes_lengths):
    sides = [[n for group, _ in side for n in group if n != "1"] for side in (left, right)]
    for names in sides:
        if len(set(names)) != len(names):
            raise ValueError(f"rearrange: a name stands twice on one side of {pattern!r}")
    if set(sides[0]) != set(sides[1]):
        odd = sorted(set(sides[0]) ^ set(sides[1]))
        raise ValueError(f"rearrange: {odd} must stand on both sides of {pattern!r}")
    unknown = sorted(set(axes_lengths) - set(sides[0]))
    if unknown:
        raise ValueError(f"rearrange: {unknown} are no names of {pattern!r}")


def _expanded(left, ndim, pattern):
    """The left side with its ellipsis as single names, and those names."""
    places = [i for i, (group, _) in enumerate(left) if "..." in group]
    if not places:
        if len(left) != ndim:
            raise ValueError(
                f"rearrange: the left side of {pattern!r} has {len(left)} dimensions, the tensor "
                f"{ndim}"
            )
        return left, []
    if left[places[0]][1]:
        raise ValueError(f"rearrange: '...' inside of parentheses on the left of {pattern!r}")
    count = ndim - len(left) + 1
    if count < 0:
        raise ValueError(
            f"rearrange: the left side of {pattern!r} has at least {len(left) - 1} dimensions, "
            f"the tensor {ndim}"
        )
    rest = [f"...{i}" for i in range(count)]
    at = places[0]
    return [*left[:at], *[([name], False) for name in rest], *left[at + 1 :]], rest


def _lengths(left, tensor, pattern, axes_lengths):
    """The extent of every name."""
    lengths = dict(axes_lengths)
    for (group, _), extent in zip(left, tensor.shape, strict=True):
        names = [n for n in group if n != "1"]
        unknown = [n for n in names if n not in lengths]
        known = math.prod(lengths[n] for n in names if n in lengths)
        if len(unknown) > 1:
            raise ValueError(f"rearrange: give all but one extent of {unknown} in {pattern!r}")
        if unknown and known and extent % known == 0:
            lengths[unknown[0]] = extent // known
        elif unknown or known != extent:
            raise ValueError(
                f"rearrange: a dimension of extent {extent} is no {' x '.join(group) or '1'} with "
                f"{axes_lengths} in {pattern!r}"
            )
    return lengths
