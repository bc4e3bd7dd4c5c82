"""Pooling layers."""

from __future__ import annotations

from rushlight.nn import functional as F
from rushlight.nn.module import Module


class _MaxPool(Module):
    # `_function` is read at every call: see `_Dropout`.
    def __init__(
        self, kernel_size, stride=None, padding=0, dilation=1, return_indices=False, ceil_mode=False
    ):
        super().__init__()
        self.kernel_size, self.padding, self.dilation = kernel_size, padding, dilation
        self.stride = kernel_size if stride is None else stride
        self.return_indices, self.ceil_mode = return_indices, ceil_mode

    def forward(self, input):
        """Pool the last dimensions."""
        return self._function(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.dilation,
            self.ceil_mode,
            self.return_indices,
        )

    def extra_repr(self):
        """The settings."""
        return (
            f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, "
            f"dilation={self.dilation}, ceil_mode={self.ceil_mode}"
        )


class _AvgPool(Module):
    def __init__(
        self,
        kernel_size,
        stride=None,
        padding=0,
        ceil_mode=False,
        count_include_pad=True,
        divisor_override=None,
    ):
        super().__init__()
        self.kernel_size, self.padding, self.ceil_mode = kernel_size, padding, ceil_mode
        self.stride = kernel_size if stride is None else stride
        self.count_include_pad, self.divisor_override = count_include_pad, divisor_override

    def forward(self, input):
        """Pool the last dimensions."""
        return self._function(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.ceil_mode,
            self.count_include_pad,
            self.divisor_override,
        )

    def extra_repr(self):
        """The settings."""
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class _AdaptivePool(Module):
    def __init__(self, output_size):
        super().__init__()
        self.output_size = output_size

    def forward(self, input):
        """Pool the last dimensions."""
        return self._function(input, self.output_size)

    def extra_repr(self):
        """The settings."""
        return f"output_size={self.output_size}"


class _AdaptiveMaxPool(_AdaptivePool):
    def __init__(self, output_size, return_indices=False):
        super().__init__(output_size)
        self.return_indices = return_indices

    def forward(self, input):
        """Pool the last dimensions."""
        return self._function(input, self.output_size, self.return_indices)


class MaxPool1d(_MaxPool):
    """Maxima of windows of (N, C, L)."""

    _function = property(lambda self: F.max_pool1d)


class MaxPool2d(_MaxPool):
    """Maxima of windows of (N, C, H, W)."""

    _function = property(lambda self: F.max_pool2d)


class MaxPool3d(_MaxPool):
    """Maxima of windows of (N, C, D, H, W)."""

    _function = property(lambda self: F.max_pool3d)


class AvgPool1d(_AvgPool):
    """Means of windows of (N, C, L)."""

    _function = property(lambda self: F.avg_pool1d)

    def __init__(
        self, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True
    ):
        super().__init__(kernel_size, stride, padding, ceil_mode, count_include_pad)
        for name in ("kernel_size", "stride", "padding"):
            value = getattr(self, name)
            setattr(self, name, (value,) if isinstance(value, int) else tuple(value))

    def forward(self, input):
        """Pool the last dimension."""
        return F.avg_pool1d(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.ceil_mode,
            self.count_include_pad,
        )


class AvgPool2d(_AvgPool):
    """Means of windows of (N, C, H, W)."""

    _function = property(lambda self: F.avg_pool2d)


class AvgPool3d(_AvgPool):
    """Means of windows of (N, C, D, H, W)."""

    _function = property(lambda self: F.avg_pool3d)


class AdaptiveAvgPool1d(_AdaptivePool):
    """Means of equal parts of (N, C, L)."""

    _function = property(lambda self: F.adaptive_avg_pool1d)


class AdaptiveAvgPool2d(_AdaptivePool):
    """Means of equal parts of (N, C, H, W)."""

    _function = property(lambda self: F.adaptive_avg_pool2d)


class AdaptiveAvgPool3d(_AdaptivePool):
    """Means of equal parts of (N, C, D, H, W)."""

    _function = property(lambda self: F.adaptive_avg_pool3d)


class AdaptiveMaxPool1d(_AdaptiveMaxPool):
    """Maxima of equal parts of (N, C, L)."""

    _function = property(lambda self: F.adaptive_max_pool1d)


class AdaptiveMaxPool2d(_AdaptiveMaxPool):
    """Maxima of equal parts of (N, C, H, W)."""

    _function = property(lambda self: F.adaptive_max_pool2d)


class AdaptiveMaxPool3d(_AdaptiveMaxPool):
    """Maxima of equal parts of (N, C, D, H, W)."""

    _function = property(lambda self: F.adaptive_max_pool3d)
