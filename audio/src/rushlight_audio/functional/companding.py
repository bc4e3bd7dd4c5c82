"""Mu-law: few levels, close together near zero. (ITU-T G.711.)"""

from __future__ import annotations

import math
import warnings

import rushlight as rl

__all__ = ["mu_law_decoding", "mu_law_encoding"]


def mu_law_encoding(x: rl.Tensor, quantization_channels: int) -> rl.Tensor:
    """Levels from 0 to ``quantization_channels - 1`` (int64) of a signal from -1 to 1.

    A signal that is not floating-point is taken as float32, with a warning.
    """
    if not x.is_floating_point():
        warnings.warn(
            f"mu_law_encoding(): expected a floating-point signal, got {x.dtype}; it is converted "
            "to float32",
            stacklevel=2,
        )
        x = x.to(rl.float32)
    mu = quantization_channels - 1.0
    pressed = x.sign() * rl.log1p(mu * x.abs()) / math.log1p(mu)
    return ((pressed + 1) / 2 * mu + 0.5).to(rl.int64)


def mu_law_decoding(x_mu: rl.Tensor, quantization_channels: int) -> rl.Tensor:
    """The signal from -1 to 1 of levels that :func:`mu_law_encoding` gave."""
    if not x_mu.is_floating_point():
        x_mu = x_mu.to(rl.float32)
    mu = quantization_channels - 1.0
    pressed = x_mu / mu * 2 - 1.0
    return pressed.sign() * (rl.exp(pressed.abs() * math.log1p(mu)) - 1.0) / mu
