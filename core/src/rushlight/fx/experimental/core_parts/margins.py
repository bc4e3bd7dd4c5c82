"""Padding, and convolutions that pad otherwise before than behind, as core ATen graphs have
them."""

from __future__ import annotations

from rushlight.fx.experimental.core_parts.exact_calls import exact
from rushlight.fx.experimental.core_parts.numbers import below
from rushlight.fx.experimental.core_parts.shapes import range_of, sliced
from rushlight.library.operators import lookup


def _pad(input, pad, mode="constant", value=None):
    if mode == "constant":
        return lookup("aten").constant_pad_nd.default(input, list(pad), value or 0.0)
    if mode == "circular":
        return _circular(input, pad)
    count = len(pad) // 2
    for dim in range(input.dim() - count, input.dim()):
        before, behind = pad[2 * (input.dim() - 1 - dim) :][:2]
        size = input.shape[dim]
        index = range_of(-before, size + behind, input)
        if mode == "replicate":
            index = index.clamp(0, size - 1)
        else:
            index = below(size - 1, below(size - 1, index.abs()).abs())
        input = at(input, dim, index)
    return input


def at(input, *places):
    """Elements by dimensions and their indices, in turn: ``at(input, 2, rows, 3, columns)``."""
    indices = [None] * input.dim()
    for dim, index in zip(places[::2], places[1::2], strict=True):
        indices[dim] = index
    return exact(lookup("aten").index.Tensor, input, indices)


def _circular(input, pad):
    ndim = input.dim()
    sides = {ndim - 1 - i: tuple(pad[2 * i : 2 * i + 2]) for i in range(len(pad) // 2)}
    shape = [size + sum(sides.get(dim, ())) for dim, size in enumerate(input.shape)]
    named = {"dtype": input.dtype, "device": input.device}
    found = exact(lookup("aten").empty.memory_format, shape, **named)
    found = _with_inner(found, input, sides)
    for dim, (before, behind) in sides.items():
        first, end = max(before, 0), shape[dim] - max(behind, 0)
        if before > 0:
            found = _copied(found, dim, (0, before), (end - before, end))
        if behind > 0:
            found = _copied(found, dim, (end, end + behind), (first, first + behind))
    return found


def _put(input, values, dim, bounds):
    """A tensor with other values in a slice."""
    return exact(lookup("aten").slice_scatter.default, input, values, dim, *bounds)


def _copied(input, dim, to, of):
    """A tensor with one slice where another was."""
    copy = lookup("aten").copy.default
    return _put(input, exact(copy, sliced(input, dim, *to), sliced(input, dim, *of)), dim, to)


def _with_inner(around, input, sides):
    """A tensor with the input inside of margins; where these are negative, without its edges."""
    inner, places = around, []
    for dim, (before, behind) in sides.items():
        places.append((dim, (max(before, 0), around.shape[dim] - max(behind, 0))))
        inner = sliced(inner, dim, *places[-1][1])
        input = sliced(input, dim, max(-before, 0), input.shape[dim] - max(-behind, 0))
    values = exact(lookup("aten").copy.default, inner, input)
    wider = [around]
    for dim, bounds in places[:-1]:
        wider.append(sliced(wider[-1], dim, *bounds))
    for whole, (dim, bounds) in zip(reversed(wider), reversed(places), strict=True):
        values = _put(whole, values, dim, bounds)
    return values


def parts() -> dict:
    """Overloads -> their parts."""
    return {lookup("aten").pad.default: _pad}
