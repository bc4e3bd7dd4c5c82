"""Padding, and convolutions that pad otherwise before than behind, as core ATen graphs have
them."""

from __future__ import annotations

from rushlight.fx.experimental.core_parts.exact_calls import exact
from rushlight.fx.experimental.core_parts.numbers import below
from rushlight.fx.experimental.core_parts.shapes import range_of
from rushlight.library.operators import lookup
from rushlight.ops.shape.joining import cat


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
    if min(pad) < 0:
        for i in range(len(pad) // 2):
            dim, (before, behind) = input.dim() - 1 - i, pad[2 * i : 2 * i + 2]
            first, end = max(-before, 0), input.shape[dim] - max(-behind, 0)
            input = lookup("aten").slice.Tensor(input, dim, first, end)
        pad = [max(n, 0) for n in pad]
    for i in range(len(pad) // 2):
        dim, (before, behind) = input.dim() - 1 - i, pad[2 * i : 2 * i + 2]
        size = input.shape[dim]
        if max(before, behind) > size:
            return NotImplemented
        pieces = [input.narrow(dim, size - before, before)] if before else []
        pieces += [input, *([input.narrow(dim, 0, behind)] if behind else [])]
        input = cat(pieces, dim) if len(pieces) > 1 else input
    return input


def parts() -> dict:
    """Overloads -> their parts."""
    return {lookup("aten").pad.default: _pad}
