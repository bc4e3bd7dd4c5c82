"""The windowed sinc that resampling weighs samples by."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import Any

import rushlight as rl

__all__ = ["SincFilter", "cast_dtype"]

METHODS = ("sinc_interp_hann", "sinc_interp_kaiser")
# Names that programs for former versions of torchaudio give. As there, both have the Kaiser window.
FORMER = dict(zip(("sinc_interpolation", "kaiser_window"), METHODS, strict=True))
KAISER_BETA = 14.769656459379492
BESSEL_TERMS = 80
# Weights of all phases that are kept as one array: 8 MB of float64.
MOST_WEIGHTS = 1 << 20


@dataclass(frozen=True)
class SincFilter:
    """From a rate `orig` to a rate `new`, which have no common divisor."""

    orig: int
    new: int
    lowpass_filter_width: int
    rolloff: float
    resampling_method: str
    beta: float | None
    dtype: Any

    def __post_init__(self) -> None:
        if self.resampling_method in FORMER:
            warnings.warn(
                f'"{self.resampling_method}" resampling method name is being deprecated and '
                f'replaced by "{FORMER[self.resampling_method]}" in the next release. The default '
                "behavior remains unchanged.",
                stacklevel=4,
            )
        elif self.resampling_method not in METHODS:
            raise ValueError(
                f"resample(): resampling_method must be one of {METHODS}, got "
                f"{self.resampling_method!r}"
            )
        if self.lowpass_filter_width <= 0:
            raise ValueError(
                "resample(): lowpass_filter_width must be positive, got "
                f"{self.lowpass_filter_width}"
            )

    @property
    def edge(self) -> float:
        """Where the filter ends, as a frequency of the divided rates."""
        return min(self.orig, self.new) * self.rolloff

    @property
    def width(self) -> int:
        """Samples on each side that an output depends on."""
        return math.ceil(self.lowpass_filter_width * self.orig / self.edge)

    @property
    def is_large(self) -> bool:
        """Whether the weights of all phases are too many to keep."""
        return self.new * (2 * self.width + self.orig) > MOST_WEIGHTS

    def target(self, length: int) -> int:
        """Outputs of so many samples."""
        return -(-self.new * length // self.orig)

    def weights(self, phase: rl.Tensor, sample: rl.Tensor) -> Any:
        """The weight of a sample for a phase, both counted from the same beginning.

        Computed in float64 and rounded to `dtype`.
        """
        span = self.lowpass_filter_width
        time = ((sample / self.orig - phase / self.new) * self.edge).clamp(-span, span)
        share = time / span
        if self.resampling_method == "sinc_interp_hann":
            window = rl.cos(share * (math.pi / 2)).square()
        else:
            window = _kaiser(share, KAISER_BETA if self.beta is None else self.beta)
        angle = time * math.pi
        centre = angle == 0
        sinc = rl.where(centre, 1.0, rl.sin(angle) / angle.masked_fill(centre, 1.0))
        return (sinc * window * (self.edge / self.orig)).to(self.dtype)


def _kaiser(share: rl.Tensor, beta: float) -> rl.Tensor:
    squares = (1.0 - share.square()).clamp(min=0.0) * (beta / 2) ** 2
    top = rl.tensor([(beta / 2) ** 2], dtype=rl.float64)
    return _bessel(squares) / _bessel(top)


def _bessel(squares: rl.Tensor) -> rl.Tensor:
    """I0(x) by its power series, of ``(x / 2) ** 2``; all terms are positive."""
    term = rl.ones_like(squares)
    total = rl.ones_like(squares)
    for order in range(1, BESSEL_TERMS):
        term = term * squares / order**2
        total = total + term
    return total


def cast_dtype(rows: rl.Tensor) -> Any:
    """The dtype of a product with rows: autocast's where it is on and casts them."""
    device = rows.device.type
    if device == "meta" or rows.dtype is rl.float64 or not rl.is_autocast_enabled(device):
        return rows.dtype
    return rl.get_autocast_dtype(device)
