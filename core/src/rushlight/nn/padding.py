"""Padding layers."""

from __future__ import annotations

from rushlight.nn import functional as F
from rushlight.nn.module import Module


class _Padding(Module):
    _count, _mode = 1, "constant"

    def __init__(self, padding):
        super().__init__()
        self.padding = _amounts(padding, 2 * self._count)

    def forward(self, input):
        """Pad the last dimensions."""
        return F.pad(input, self.padding, self._mode)

    def extra_repr(self):
        """The settings."""
        return f"{self.padding}"


def _amounts(padding, count):
    if isinstance(padding, int):
        return (padding,) * count
    padding = tuple(padding)
    if len(padding) != count:
        raise ValueError(
            f"padding must be an int or {count} ints (before and after of each dimension, the last "
            f"first), got {padding}"
        )
    return padding


class _ConstantPad(_Padding):
    def __init__(self, padding, value: float):
        super().__init__(padding)
        self.value = value

    def forward(self, input):
        """Pad the last dimensions."""
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self):
        """The settings."""
        return f"padding={self.padding}, value={self.value}"


class ConstantPad1d(_ConstantPad):
    """A constant around (N, C, L)."""


class ConstantPad2d(_ConstantPad):
    """A constant around (N, C, H, W)."""

    _count = 2


class ConstantPad3d(_ConstantPad):
    """A constant around (N, C, D, H, W)."""

    _count = 3


class ZeroPad1d(ConstantPad1d):
    """Zeros around (N, C, L)."""

    def __init__(self, padding):
        super().__init__(padding, 0.0)

    def extra_repr(self):
        """The settings."""
        return f"{self.padding}"


class ZeroPad2d(ConstantPad2d):
    """Zeros around (N, C, H, W)."""

    def __init__(self, padding):
        super().__init__(padding, 0.0)

    def extra_repr(self):
        """The settings."""
        return f"{self.padding}"


class ZeroPad3d(ConstantPad3d):
    """Zeros around (N, C, D, H, W)."""

    def __init__(self, padding):
        super().__init__(padding, 0.0)

    def extra_repr(self):
        """The settings."""
        return f"{self.padding}"


class _ReflectionPad(_Padding):
    _mode = "reflect"


class ReflectionPad1d(_ReflectionPad):
    """The reflection of (N, C, L) at its ends."""


class ReflectionPad2d(_ReflectionPad):
    """The reflection of (N, C, H, W) at its edges."""

    _count = 2


class ReflectionPad3d(_ReflectionPad):
    """The reflection of (N, C, D, H, W) at its faces."""

    _count = 3


class _ReplicationPad(_Padding):
    _mode = "replicate"


class ReplicationPad1d(_ReplicationPad):
    """The end elements of (N, C, L) repeated."""


class ReplicationPad2d(_ReplicationPad):
    """The edge elements of (N, C, H, W) repeated."""

    _count = 2


class ReplicationPad3d(_ReplicationPad):
    """The face elements of (N, C, D, H, W) repeated."""

    _count = 3


class _CircularPad(_Padding):
    _mode = "circular"

    def forward(self, input):
        """Pad the last dimensions."""
        count = self._count
        if input.dim() not in (count + 1, count + 2):
            raise ValueError(
                f"expected {count + 1}D or {count + 2}D input (got {input.dim()}D input)"
            )
        return super().forward(input)


class CircularPad1d(_CircularPad):
    """(N, C, L) continued periodically."""


class CircularPad2d(_CircularPad):
    """(N, C, H, W) continued periodically."""

    _count = 2


class CircularPad3d(_CircularPad):
    """(N, C, D, H, W) continued periodically."""

    _count = 3
