"""Resampled signals, planes and volumes as core ATen graphs have them: elements at computed
positions, and sums of neighbours by their distance."""

from __future__ import annotations

import itertools
import math

from rushlight.dtypes import float32, int64
from rushlight.fx.experimental.core_parts.fixed_sizes import is_fixed
from rushlight.fx.experimental.core_parts.margins import at
from rushlight.fx.experimental.core_parts.numbers import below, widened
from rushlight.fx.experimental.core_parts.shapes import range_of
from rushlight.library.operators import lookup
from rushlight.ops.shape.joining import cat

_A = -0.75  # the slope of cubic weights, PyTorch's
_FLAT = 2  # dimensions before the first that is resampled


def _targets(input, output_size, factors, aligned=False):
    """Of each resampled dimension its new size, and by how many elements the input goes on for one
    of the result; None where these depend on sizes that are not fixed."""
    sizes = input.shape[_FLAT:]
    if output_size is None:
        output_size = [math.floor(n * factor) for n, factor in zip(sizes, factors, strict=True)]
    if factors is not None and not aligned:
        return [(out, 1 / factor) for out, factor in zip(output_size, factors, strict=True)]
    if not is_fixed((*sizes, *output_size)):
        return None
    pairs = zip(sizes, output_size, strict=True)
    return [(out, _ratio(size, out, aligned)) for size, out in pairs]


def _ratio(size, out, aligned):
    if not aligned:
        return size / out
    return (size - 1) / (out - 1) if out > 1 else 0


def _tall(values, i, n):
    """A row of values as those of dimension `i` of the `n` that are resampled."""
    for _ in range(i + 1, n):
        values = values.unsqueeze(-1)
    return values


def _nearest(offset):
    @widened
    def run(input, output_size, scale_factors):
        targets = _targets(input, output_size, scale_factors)
        if targets is None:
            return NotImplemented
        places = []
        for i, (out, ratio) in enumerate(targets):
            row = (range_of(0, out, input, float32) + offset) * ratio
            places += [i + _FLAT, _tall(row.to(int64), i, len(targets))]
        return at(input, *places)

    return run


def _positions(input, out, ratio, aligned):
    """Where in the input the elements of the result are."""
    row = range_of(0, out, input).to(input.dtype)
    return row * ratio if aligned else (row + 0.5) * ratio - 0.5


@widened
def _linear(input, output_size, align_corners, scale_factors):
    targets = _targets(input, output_size, scale_factors, align_corners)
    if targets is None or not input.dtype.is_floating_point:
        return NotImplemented
    bounds, positions, clamp = [], [], lookup("aten").clamp.default
    for i, (out, ratio) in enumerate(targets):
        row = clamp(_positions(input, out, ratio, align_corners), 0.0)
        row = row.view(out, *[1] * (len(targets) - 1 - i))
        low = row.to(int64)
        bounds.append((low, clamp(low + 1, None, input.shape[i + _FLAT] - 1)))
        positions.append(row)
    values = [_corner(input, corner) for corner in itertools.product(*bounds)]
    for row, (low, _) in zip(reversed(positions), reversed(bounds), strict=True):
        weight = clamp(row - low, 0.0, 1.0)
        pairs = zip(values[::2], values[1::2], strict=True)
        values = [left + (right - left) * weight for left, right in pairs]
    return values[0]


def _corner(input, places):
    return at(input, *(each for pair in enumerate(places, _FLAT) for each in pair))


@widened
def _cubic(input, output_size, align_corners, scale_factors):
    targets = _targets(input, output_size, scale_factors, align_corners)
    if targets is None or not input.dtype.is_floating_point:
        return NotImplemented  # bytes are summed in fixed-point numbers
    aten = lookup("aten")
    taps = []
    for i, (out, ratio) in enumerate(targets):
        row = _tall(_positions(input, out, ratio, align_corners), i, len(targets))
        whole = row.floor()
        weights = _cubic_weights(aten.clamp.default(row - whole, 0.0, 1.0))
        near = whole.to(int64)
        taps.append(((near - 1, near, near + 1, near + 2), weights))
    (rows, row_weights), (columns, column_weights) = taps
    return _weighted(
        [
            _weighted([_within(input, row, column) for column in columns], column_weights)
            for row in rows
        ],
        row_weights,
    )


def _within(input, row, column):
    """Elements of planes, of the nearest edge where there are none."""
    clamp = lookup("aten").clamp.default
    height, width = input.shape[_FLAT:]
    return at(input, _FLAT, clamp(row, 0, height - 1), _FLAT + 1, clamp(column, 0, width - 1))


def _weighted(values, weights):
    found = None
    for value, weight in zip(values, weights, strict=True):
        found = value * weight if found is None else found + value * weight
    return found


def _cubic_weights(t):
    """Weights of the four elements around a point `t` behind the second: those of the outer two
    and of the inner two are polynomials of the distances on both sides."""
    near, far = (cat(pair).view(2, *t.shape) for pair in ((t, below(1.0, t)), _outer(t)))
    outer = ((far * _A - 5 * _A) * far + 8 * _A) * far - 4 * _A
    inner = ((near * (_A + 2)) - (_A + 3)) * near * near + 1
    (first, last), (second, third) = map(_halves, (outer, inner))
    return first, second, third, last


def _outer(t):
    return t + 1.0, below(2.0, t)


def _halves(pair):
    return [lookup("aten").slice.Tensor(pair, 0, i, i + 1).squeeze(0) for i in range(2)]


def parts() -> dict:
    """Overloads -> their parts. Pictures of ``nearest`` and ``bilinear`` are core ATen ops."""
    aten = lookup("aten")
    nearest = aten.upsample_nearest1d.vec, aten.upsample_nearest3d.vec
    exact = [getattr(aten, f"_upsample_nearest_exact{n}d").vec for n in (1, 2, 3)]
    return {
        **dict.fromkeys(nearest, _nearest(0.0)),
        **dict.fromkeys(exact, _nearest(0.5)),
        aten.upsample_linear1d.vec: _linear,
        aten.upsample_trilinear3d.vec: _linear,
        aten.upsample_bicubic2d.vec: _cubic,
    }
