"""Windows of planes as columns and back, pooling undone, channels normalized by their
neighbours, and grids of affine maps, as core ATen graphs have them."""

from __future__ import annotations

import math

from rushlight.dtypes import int64
from rushlight.fx.experimental.core_parts.exact_calls import exact
from rushlight.fx.experimental.core_parts.fixed_sizes import is_fixed
from rushlight.fx.experimental.core_parts.margins import at
from rushlight.fx.experimental.core_parts.numbers import below, widened
from rushlight.fx.experimental.core_parts.shapes import range_of
from rushlight.library.operators import lookup

_BATCHED = 4  # dimensions of planes with channels and a batch
_APART = [0, 1, 2, 4, 3, 5]  # rows of windows, windows down, columns, windows across -> and back


def _places(size, kernel, dilation, padding, stride, like):
    """Where in a padded dimension the elements of windows are: ``(kernel, windows)``."""
    end = size + 2 * padding - dilation * (kernel - 1)
    starts = _stepped(end, stride, like).unsqueeze(0)
    return starts + _stepped(kernel * dilation, dilation, like).unsqueeze(-1)


def _stepped(end, step, like):
    target = lookup("aten").arange.start_step
    steps = () if step == 1 else (step,)
    return exact(target, 0, end, *steps, dtype=int64, device=like.device)


def _both(kernel_size, dilation, padding, stride):
    return zip(kernel_size, dilation, padding, stride, strict=True)


def _batched(function):
    """A function of planes with a batch, or of one without."""

    def run(input, *args):
        found = function(input.unsqueeze(0), *args)
        return found if found is NotImplemented else found.squeeze(0)

    return run


def _im2col(input, kernel_size, dilation, padding, stride):
    if input.dim() < _BATCHED:
        return _batched(_im2col)(input, kernel_size, dilation, padding, stride)
    batch, channels, *sizes = input.shape
    rows, columns = (
        _places(size, *numbers, input)
        for size, numbers in zip(sizes, _both(kernel_size, dilation, padding, stride), strict=True)
    )
    rows = rows.unsqueeze(-1).unsqueeze(-1)
    found = at(_surrounded(input, padding), 2, rows, 3, columns).permute(*_APART)
    windows = math.prod(found.shape[4:])
    return found.reshape(batch, channels * math.prod(kernel_size), windows)


def _surrounded(input, padding, sign=1):
    height, width = (sign * n for n in padding)
    return lookup("aten").constant_pad_nd.default(input, [width, width, height, height], 0.0)


@widened
def _col2im(input, output_size, kernel_size, dilation, padding, stride):
    if input.dim() < _BATCHED - 1:
        return _batched(_col2im)(input, output_size, kernel_size, dilation, padding, stride)
    numbers = list(_both(kernel_size, dilation, padding, stride))
    pairs = list(zip(output_size, numbers, strict=True))
    counts = [
        (size + 2 * padding - dilation * (kernel - 1) - 1) // stride + 1
        for size, (kernel, dilation, padding, stride) in pairs
    ]
    batch, channels = input.shape[0], input.shape[1] // math.prod(kernel_size)
    values = input.view(batch, channels, *kernel_size, *counts).permute(*_APART)
    rows, columns = (_places(size, *each, input) for size, each in pairs)
    rows = rows.unsqueeze(-1).unsqueeze(-1)
    padded = [size + 2 * n for size, n in zip(output_size, padding, strict=True)]
    named = {"dtype": input.dtype, "device": input.device}
    whole = lookup("aten").full.default([batch, channels, *padded], 0, **named)
    put = lookup("aten").index_put.default
    return _surrounded(put(whole, [None, None, rows, columns], values, True), padding, -1)


def _coordinates(size, like, align_corners):
    """From -1 to 1, at the centers of `size` elements or from the first's to the last's. Both
    halves are computed from their ends, so that they are alike."""
    if align_corners:
        end, step = 1, 2 / (size - 1)
    else:
        end, step = (size - 1) / size, (size - 1) / size * 2 / (size - 1)
    index = range_of(0, size, like)
    first = index < size / 2
    ahead = index.to(like.dtype) * step + -end
    behind = below(end, below(size - 1, index).to(like.dtype) * step)
    return lookup("aten").where.self(first, ahead, behind)


@widened
def _affine_grid(theta, size, align_corners):
    batch, _, *sizes = size
    if min(sizes) < 2 or not is_fixed(tuple(sizes)):
        return NotImplemented
    n, pad = len(sizes), lookup("aten").constant_pad_nd.default
    named = {"dtype": theta.dtype, "device": theta.device}
    axes = []
    for i, length in enumerate(reversed(sizes)):
        shape = [1] * (n - 1 - i) + [length] + [1] * (i + 1)
        axes.append(_coordinates(length, theta, align_corners).view(*shape))
    axes.append(lookup("aten").full.default([1] * (n + 1), 1, **named))
    base = None
    for i, axis in enumerate(axes):
        part = pad(axis, [i, n - i], 0.0)
        base = part if base is None else base + part
    points = base.view(-1, n + 1, 1) * theta.permute(0, 2, 1).unsqueeze(1)
    return points.sum(-2).view(batch, *sizes, n)


def parts() -> dict:
    """Overloads -> their parts."""
    aten = lookup("aten")
    return {
        aten.im2col.default: _im2col,
        aten.col2im.default: _col2im,
        aten.affine_grid_generator.default: _affine_grid,
    }
