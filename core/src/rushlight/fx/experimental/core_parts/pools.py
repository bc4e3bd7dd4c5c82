"""Pooling of signals as that of planes of one row, and of volumes, as core ATen graphs have it."""

from __future__ import annotations

from rushlight.fx.experimental.core_parts.exact_calls import exact
from rushlight.library.operators import lookup

_ROW = -2  # the dimension that signals have not


def _wide(values, first):
    """The numbers of planes for those of signals, which may be left out."""
    values = [values] if isinstance(values, int) else list(values)
    return [first, *values] if values else []


def _max_pool1d(self, kernel_size, stride=(), padding=0, dilation=1, ceil_mode=False):
    return _maxima(self, kernel_size, stride, padding, dilation, ceil_mode)[0].squeeze(_ROW)


def _max_pool1d_with_indices(self, kernel_size, stride=(), padding=0, dilation=1, ceil_mode=False):
    found = _maxima(self, kernel_size, stride, padding, dilation, ceil_mode)
    return tuple(each.squeeze(_ROW) for each in found)


def _maxima(self, kernel_size, stride, padding, dilation, ceil_mode):
    target = lookup("aten").max_pool2d_with_indices.default
    kernel = _wide(kernel_size, 1)
    args = self.unsqueeze(_ROW), kernel, _wide(stride, 1) or kernel
    return target(*args, _wide(padding, 0), _wide(dilation, 1), ceil_mode)


def _max_pool2d(self, kernel_size, *rest, **named):
    return lookup("aten").max_pool2d_with_indices.default(self, kernel_size, *rest, **named)[0]


def _max_pool3d(self, kernel_size, *rest, **named):
    return lookup("aten").max_pool3d_with_indices.default(self, kernel_size, *rest, **named)[0]


def _avg_pool1d(self, kernel_size, stride=(), padding=0, ceil_mode=False, count_include_pad=True):
    kernel = _wide(kernel_size, 1)
    args = self.unsqueeze(_ROW), kernel, _wide(stride, 1) or kernel
    pool = lookup("aten").avg_pool2d.default
    return pool(*args, _wide(padding, 0), ceil_mode, count_include_pad).squeeze(_ROW)


def _adaptive_avg_pool1d(self, output_size):
    pool = lookup("aten")._adaptive_avg_pool2d.default
    if list(output_size) == [1]:
        return exact(lookup("aten").mean.dim, self.unsqueeze(_ROW), [-1, -2], True).squeeze(_ROW)
    return exact(pool, self.unsqueeze(_ROW), _wide(output_size, 1)).squeeze(_ROW)


def _adaptive_avg_pool3d(self, output_size):
    if list(output_size) != [1, 1, 1]:
        return exact(lookup("aten")._adaptive_avg_pool3d.default, self, list(output_size))
    return exact(lookup("aten").mean.dim, self, [-1, -2, -3], True)


def _adaptive_max_pool1d(self, output_size):
    pool = lookup("aten").adaptive_max_pool2d.default
    found = pool(self.unsqueeze(_ROW), _wide(output_size, 1))
    return tuple(each.squeeze(_ROW) for each in found)


def parts() -> dict:
    """Overloads -> their parts."""
    aten = lookup("aten")
    return {
        aten.max_pool1d.default: _max_pool1d,
        aten.max_pool1d_with_indices.default: _max_pool1d_with_indices,
        aten.max_pool2d.default: _max_pool2d,
        aten.max_pool3d.default: _max_pool3d,
        aten.avg_pool1d.default: _avg_pool1d,
        aten.adaptive_avg_pool1d.default: _adaptive_avg_pool1d,
        aten.adaptive_avg_pool3d.default: _adaptive_avg_pool3d,
        aten.adaptive_max_pool1d.default: _adaptive_max_pool1d,
    }
