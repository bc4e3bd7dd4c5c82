"""Layers of unpooling, power-mean pooling and fractional pooling."""

from __future__ import annotations

from rushlight.nn import functional as F
from rushlight.nn.module import Module


def _tuple(value, count):
    return (value,) * count if isinstance(value, int) else tuple(value)


class _MaxUnpool(Module):
    _count = 1

    def __init__(self, kernel_size, stride=None, padding=0):
        super().__init__()
        self.kernel_size = _tuple(kernel_size, self._count)
        self.stride = _tuple(kernel_size if stride is None else stride, self._count)
        self.padding = _tuple(padding, self._count)

    def forward(self, input, indices, output_size=None):
        """Put values back to where `indices` say they were."""
        function = getattr(F, f"max_unpool{self._count}d")
        return function(input, indices, self.kernel_size, self.stride, self.padding, output_size)

    def extra_repr(self):
        """The settings."""
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class MaxUnpool1d(_MaxUnpool):
    """The partial inverse of :class:`MaxPool1d`."""


class MaxUnpool2d(_MaxUnpool):
    """The partial inverse of :class:`MaxPool2d`."""

    _count = 2


class MaxUnpool3d(_MaxUnpool):
    """The partial inverse of :class:`MaxPool3d`."""

    _count = 3


class _LPPool(Module):
    _count = 1

    def __init__(self, norm_type, kernel_size, stride=None, ceil_mode=False):
        super().__init__()
        self.norm_type, self.kernel_size = norm_type, kernel_size
        self.stride, self.ceil_mode = stride, ceil_mode

    def forward(self, input):
        """Pool the last dimensions."""
        function = getattr(F, f"lp_pool{self._count}d")
        return function(input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)

    def extra_repr(self):
        """The settings."""
        return (
            f"norm_type={self.norm_type}, kernel_size={self.kernel_size}, stride={self.stride}, "
            f"ceil_mode={self.ceil_mode}"
        )


class LPPool1d(_LPPool):
    """Power sums over windows of (N, C, L)."""


class LPPool2d(_LPPool):
    """Power sums over windows of (N, C, H, W)."""

    _count = 2


class LPPool3d(_LPPool):
    """Power sums over windows of (N, C, D, H, W)."""

    _count = 3


class _FractionalMaxPool(Module):
    _count = 2

    def __init__(
        self,
        kernel_size,
        output_size=None,
        output_ratio=None,
        return_indices=False,
        _random_samples=None,
    ):
        super().__init__()
        count, name = self._count, type(self).__name__
        self.kernel_size = _tuple(kernel_size, count)
        self.return_indices = return_indices
        self.register_buffer("_random_samples", _random_samples)
        self.output_size = None if output_size is None else _tuple(output_size, count)
        if output_ratio is not None and not isinstance(output_ratio, (tuple, list)):
            output_ratio = (output_ratio,) * count
        self.output_ratio = None if output_ratio is None else tuple(output_ratio)
        if output_size is None and output_ratio is None:
            raise ValueError(
                f"{name} requires specifying either an output size, or a pooling ratio"
            )
        if output_size is not None and output_ratio is not None:
            raise ValueError("only one of output_size and output_ratio may be specified")
        if self.output_ratio is not None and not all(0 < r < 1 for r in self.output_ratio):
            raise ValueError(f"output_ratio must be between 0 and 1 (got {output_ratio})")

    def forward(self, input):
        """Pool the last dimensions."""
        function = getattr(F, f"fractional_max_pool{self._count}d")
        return function(
            input,
            self.kernel_size,
            self.output_size,
            self.output_ratio,
            self.return_indices,
            self._random_samples,
        )


class FractionalMaxPool2d(_FractionalMaxPool):
    """Maxima of windows of (N, C, H, W) at random steps. (Graham, 2014.)"""


class FractionalMaxPool3d(_FractionalMaxPool):
    """Maxima of windows of (N, C, D, H, W) at random steps."""

    _count = 3
