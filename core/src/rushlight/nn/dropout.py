"""Dropout layers."""

from __future__ import annotations

from rushlight.nn import functional as F
from rushlight.nn.module import Module


class _Dropout(Module):
    # `_function` of its kinds is read at every call, so that layers call the function that a
    # program has bound in nn.functional, as in PyTorch.
    def __init__(self, p=0.5, inplace=False):
        super().__init__()
        if not 0 <= p <= 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
        self.p, self.inplace = p, inplace

    def forward(self, input):
        """In training, drop; otherwise return the input."""
        return self._function(input, self.p, self.training, self.inplace)

    def extra_repr(self):
        """The settings."""
        return f"p={self.p}, inplace={self.inplace}"


class Dropout(_Dropout):
    """Zeroes elements with probability `p` in training."""

    _function = property(lambda self: F.dropout)


class Dropout1d(_Dropout):
    """Zeroes whole channels of (N, C, L)."""

    _function = property(lambda self: F.dropout1d)


class Dropout2d(_Dropout):
    """Zeroes whole channels of (N, C, H, W)."""

    _function = property(lambda self: F.dropout2d)


class Dropout3d(_Dropout):
    """Zeroes whole channels of (N, C, D, H, W)."""

    _function = property(lambda self: F.dropout3d)


class AlphaDropout(_Dropout):
    """Dropout that keeps mean and variance of self-normalising networks."""

    _function = property(lambda self: F.alpha_dropout)


class FeatureAlphaDropout(_Dropout):
    """:class:`AlphaDropout` of whole channels of (N, C, ...)."""

    _function = property(lambda self: F.feature_alpha_dropout)
