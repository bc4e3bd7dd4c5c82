"""Values of images and volumes at given positions, and both gradients: dense float32 and float64.

Positions of an image are worked on in blocks, whose positions and weights all channels share. The
gradient of the input is added up plane by plane, in the order of the positions, so results do not
depend on threads. Other arrays are left to the array language of
:mod:`rushlight.ops.neural.grid_sampling`.
"""

from __future__ import annotations

import math

from rushlight.kernels.copying.assignment import by_rows
from rushlight.kernels.launch.execution import COMPILED_DTYPES, REFERENCE, chunk, language_type
from rushlight.kernels.launch.prepared import Remembered, called, prepared
from rushlight.machine import np

__all__ = ["grid_gradient", "input_gradient", "is_compiled", "sampled"]

_TAPS = {"nearest": 1, "bilinear": 2, "bicubic": 4}
_PADDINGS = ("zeros", "border", "reflection")
_LARGEST = 1 << 31  # elements of a plane: positions are int32
_SPREAD = 8  # channels of an item of the input's gradient, where there are many


def is_compiled(input, grid):
    """Whether the kernels take images (N, C, H, W) and positions (N, H', W', 2), or volumes."""
    fits = not REFERENCE and input.ndim in (4, 5) and input.dtype in COMPILED_DTYPES
    return fits and math.prod(input.shape[2:]) < _LARGEST


def _result(name, shape, grid_shape):
    if name == "sample":
        return (*shape[:2], *grid_shape[1:-1])
    return shape if name == "spread_back" else grid_shape


def _prepare(name, shape, grid_shape, dtype, mode, padding, aligned):
    """``f(*arrays)`` of one kernel for these shapes."""
    from rushlight.kernels.resampling import grid_sampling_kernels as native

    (n, c, *slices, h, w), positions = shape, math.prod(grid_shape[1:-1])
    corners = _TAPS[mode] ** grid_shape[-1]
    code = getattr(native, name).address(
        real=language_type(dtype), taps=_TAPS[mode], padding=_PADDINGS.index(padding),
        align=int(bool(aligned)), dims=grid_shape[-1], corners=corners,
    )  # fmt: skip
    image, out = np.empty(shape, dtype), np.empty((n, c, *grid_shape[1:-1]), dtype)
    grid = np.empty(grid_shape, dtype)
    per = max(1, min(_SPREAD, n * c // 8))
    arrays = {"sample": [image, grid], "spread_back": [out, grid]}.get(name, [out, image, grid])
    result = _result(name, shape, grid_shape)
    parts = -(-c // per) if name == "spread_back" else -(-positions // native.BLOCK)
    work = (positions * per if name == "spread_back" else native.BLOCK * c) * corners * 2
    words = [c, h, w, positions, parts, per, *(slices or [1])]
    grain = chunk(n * parts, work)
    return prepared(code, n * parts, grain, arrays, [(result, dtype)], words, scratch=True)


_calls = Remembered()


def _call(name, shape, grid_shape, dtype, settings, arrays):
    """The result of one kernel; nothing to sample or to sample from gives zeros."""
    if 0 in shape or 0 in grid_shape:
        return np.zeros(_result(name, shape, grid_shape), dtype)
    key = name, shape, grid_shape, dtype, settings
    found = _calls.get(key)
    if found is None:
        found = _calls.keep(key, _prepare(name, shape, grid_shape, dtype, *settings))
    dense = [by_rows(a) for a in arrays]
    return called(found, dense)


def sampled(input, grid, *settings):
    """Values (N, C, H', W'); `settings`: mode, padding mode, whether corners are aligned."""
    return _call("sample", input.shape, grid.shape, input.dtype, settings, (input, grid))


def input_gradient(grad, shape, grid, *settings):
    """The gradient of an input of a shape."""
    return _call("spread_back", shape, grid.shape, grad.dtype, settings, (grad, grid))


def grid_gradient(grad, input, grid, *settings):
    """The gradient of the positions."""
    arrays = grad, input, grid
    return _call("position_gradient", input.shape, grid.shape, input.dtype, settings, arrays)
