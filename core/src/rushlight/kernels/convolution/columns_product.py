"""Convolution by columns: windows gathered, then products of matrices. Any dtype and settings.

Also the sizes and positions of windows, which all ways of convolution share.
"""

from __future__ import annotations

import functools
import math

from rushlight.kernels.copying.assignment import by_rows
from rushlight.kernels.gemm.products import matmul
from rushlight.kernels.launch.execution import compute_array, language_type
from rushlight.machine import np, threads
from rushlight.machine.memory import empty

__all__ = ["crop", "forward", "input_gradient", "output_size", "padded", "taps", "weight_gradient"]

_COLUMN_BYTES = 64 << 20  # windows gathered at a time
_PART_BYTES = 2 << 20  # columns that are added up while they are in a cache
_ITEMS = 8  # of work, at least


def output_size(size, kernel, stride, padding, dilation):
    """Spatial sizes of the result."""
    return tuple(
        (n + 2 * p - d * (k - 1) - 1) // s + 1
        for n, k, s, p, d in zip(size, kernel, stride, padding, dilation, strict=True)
    )


def taps(kernel, size, stride, dilation):
    """For every kernel tap: its index and the slices of the padded input that it meets."""
    for tap in np.ndindex(*kernel):
        yield (
            tap,
            tuple(
                slice(t * d, t * d + (n - 1) * s + 1, s)
                for t, d, n, s in zip(tap, dilation, size, stride, strict=True)
            ),
        )


def padded(x, padding, dtype=np.float64):
    """A copy in this dtype with zeros around its spatial dims."""
    return np.pad(x.astype(dtype), [(0, 0), (0, 0), *((p, p) for p in padding)])


def crop(wide, input_shape, padding):
    """What :func:`padded` put zeros around."""
    inside = tuple(slice(p, p + n) for p, n in zip(padding, input_shape[2:], strict=True))
    return wide[(..., *inside)]


def _windows(wide, kernel, size, stride, dilation):
    """View (N, C, *kernel, *size) of a padded input."""
    spatial = wide.strides[2:]
    strides = [s * d for s, d in zip(spatial, dilation, strict=True)]
    strides += [s * step for s, step in zip(spatial, stride, strict=True)]
    return np.lib.stride_tricks.as_strided(
        wide, (*wide.shape[:2], *kernel, *size), (*wide.strides[:2], *strides), writeable=False
    )


def _column_batches(input, kernel, size, stride, padding, dilation, groups):
    """Windows as (images, columns[n, groups, C/groups * taps, pixels]), some images at a time."""
    wide = padded(input, padding, input.dtype) if any(padding) else input
    count, pixels = int(np.prod(kernel)), int(np.prod(size))
    per_image = input.shape[1] * count * pixels * input.itemsize
    step = max(1, _COLUMN_BYTES // max(1, per_image))
    for first in range(0, input.shape[0], step):
        images = slice(first, min(first + step, input.shape[0]))
        windows = _windows(wide[images], kernel, size, stride, dilation)
        yield images, windows.reshape(len(windows), groups, -1, pixels)


def forward(input, weight, stride, padding, dilation, groups):
    """The convolution without a bias."""
    kernel = weight.shape[2:]
    size = output_size(input.shape[2:], kernel, stride, padding, dilation)
    out = empty((input.shape[0], weight.shape[0], *size), input.dtype)
    w = weight.reshape(groups, weight.shape[0] // groups, -1)
    for images, columns in _column_batches(input, kernel, size, stride, padding, dilation, groups):
        out[images] = matmul(w, columns).reshape(-1, weight.shape[0], *size)
    return out


def _as_plane(array):
    return array.reshape(*array.shape[:2], 1, array.shape[2]) if array.ndim == 3 else array


@functools.lru_cache(maxsize=256)
def _plane_plan(dtype, dy_shape, w_shape, dx_shape, stride, padding, dilation, groups):
    from rushlight.kernels.convolution import column_gradient_kernels as native

    (n, c, *image), o, kernel = dx_shape, w_shape[0], w_shape[2:]
    c, o, size = c // groups, o // groups, dy_shape[2:]
    column = dtype.itemsize * math.prod(kernel) * math.prod(size)
    parts = min(c, max(-(-c * column // _PART_BYTES), -(-_ITEMS // (n * groups))))
    words = [0, 0, 0, c, *image, o, *size, *kernel, *stride, *padding, *dilation, groups]
    code = native.input_gradient.address(real=language_type(dtype))
    return threads.plan(code, n * groups * parts, 1, [*words, parts])


def input_gradient(grad, weight, input_shape, stride, padding, dilation, groups):
    """The gradient of the input."""
    if grad.ndim == 5:
        settings = stride, padding, dilation, groups
        return _input_gradient_by_taps(grad, weight, input_shape, *settings)
    out = empty(input_shape, grad.dtype)
    dy, w, dx = (_as_plane(compute_array(v)) for v in (grad, weight, out))
    if grad.ndim == 3:
        stride, padding, dilation = (1, *stride), (0, *padding), (1, *dilation)
    settings = stride, padding, dilation, groups
    plan = _plane_plan(grad.dtype, dy.shape, w.shape, dx.shape, *settings)
    threads.run(plan, dy, w, dx)
    return out


def _input_gradient_by_taps(grad, weight, input_shape, stride, padding, dilation, groups):
    kernel, size = weight.shape[2:], grad.shape[2:]
    count, pixels = int(np.prod(kernel)), int(np.prod(size))
    wide = padded(np.zeros(input_shape, grad.dtype), padding, grad.dtype)
    w = weight.reshape(groups, weight.shape[0] // groups, -1).swapaxes(-1, -2)
    per_image = input_shape[1] * count * pixels * grad.itemsize
    step = max(1, _COLUMN_BYTES // max(1, per_image))
    for first in range(0, grad.shape[0], step):
        dy = grad[first : first + step].reshape(-1, groups, weight.shape[0] // groups, pixels)
        columns = matmul(w, dy).reshape(len(dy), input_shape[1], *kernel, *size)
        with np.errstate(all="ignore"):
            for tap, window in taps(kernel, size, stride, dilation):
                part = columns[(slice(None), slice(None), *tap)]
                wide[(slice(first, first + step), slice(None), *window)] += part
    return by_rows(crop(wide, input_shape, padding))


def weight_gradient(grad, input, weight_shape, stride, padding, dilation, groups):
    """The gradient of the weight."""
    kernel, size = weight_shape[2:], grad.shape[2:]
    total = np.zeros(
        (groups, weight_shape[0] // groups, int(np.prod(weight_shape[1:]))), grad.dtype
    )
    for images, columns in _column_batches(input, kernel, size, stride, padding, dilation, groups):
        dy = grad[images].reshape(len(columns), groups, weight_shape[0] // groups, -1)
        with np.errstate(all="ignore"):  # infinity minus infinity is NaN, as it should
            total += matmul(dy, columns.swapaxes(-1, -2)).sum(axis=0, dtype=grad.dtype)
    return total.reshape(weight_shape)
