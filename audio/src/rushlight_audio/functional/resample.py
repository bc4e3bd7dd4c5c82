"""Resampling by a windowed sinc."""

from __future__ import annotations

import functools
import math

import rushlight as rl
import rushlight.nn.functional as F
from rushlight_audio.functional.checks import require_waveform

__all__ = ["resample", "sinc_kernel"]

METHODS = ("sinc_interp_hann", "sinc_interp_kaiser")
KAISER_BETA = 14.769656459379492
BESSEL_TERMS = 80


def resample(
    waveform: rl.Tensor,
    orig_freq: int,
    new_freq: int,
    lowpass_filter_width: int = 6,
    rolloff: float = 0.99,
    resampling_method: str = "sinc_interp_hann",
    beta: float | None = None,
) -> rl.Tensor:
    """A waveform at another sample rate, band-limited by a windowed sinc (Smith 1984).

    With both rates divided by their common divisor, the output falls into ``new`` phases, each a
    convolution of its own with stride ``orig``.

    Args:
        waveform: ``[..., T]``, floating point.
        orig_freq: its rate, an integer.
        new_freq: the wanted rate.
        lowpass_filter_width: zero crossings of the sinc on each side; more are sharper and slower.
        rolloff: edge of the filter as a share of the lower Nyquist frequency.
        resampling_method: the window: ``"sinc_interp_hann"`` or ``"sinc_interp_kaiser"``.
        beta: shape of the Kaiser window; 14.7697 by default.

    Returns:
        ``[..., ceil(T * new_freq / orig_freq)]``; the waveform itself where the rates are equal.

    Raises:
        TypeError: the waveform is no floating-point tensor, or a rate no integer.
        ValueError: a rate or width that is not positive, or an unknown method.
    """
    require_waveform("resample", waveform)
    orig, new = reduced_rates(orig_freq, new_freq)
    kernel, width = sinc_kernel(
        orig, new, lowpass_filter_width, rolloff, resampling_method, beta, waveform.dtype
    )
    return apply_kernel(waveform, orig, new, kernel, width)


def reduced_rates(orig_freq: int, new_freq: int) -> tuple[int, int]:
    """Both rates divided by their greatest common divisor."""
    for name, rate in (("orig_freq", orig_freq), ("new_freq", new_freq)):
        if isinstance(rate, bool) or int(rate) != rate:
            raise TypeError(f"resample(): {name} must be an integer, got {rate!r}")
        if rate <= 0:
            raise ValueError(f"resample(): {name} must be positive, got {rate}")
    divisor = math.gcd(int(orig_freq), int(new_freq))
    return int(orig_freq) // divisor, int(new_freq) // divisor


def apply_kernel(
    waveform: rl.Tensor, orig: int, new: int, kernel: rl.Tensor, width: int
) -> rl.Tensor:
    """Convolve ``[..., T]`` with the phases ``[new, 1, K]`` and interleave what they give."""
    if orig == new:
        return waveform
    length = waveform.shape[-1]
    rows = F.pad(waveform.reshape(-1, 1, length), (width, width + orig))
    phases = F.conv1d(rows, kernel.to(rows.device), stride=orig)
    target = -(-new * length // orig)
    out = phases.transpose(1, 2).reshape(rows.shape[0], -1)[:, :target]
    return out.reshape(*waveform.shape[:-1], target)


@functools.lru_cache(maxsize=16)
def sinc_kernel(
    orig: int,
    new: int,
    lowpass_filter_width: int,
    rolloff: float,
    resampling_method: str,
    beta: float | None,
    dtype: rl.dtype,
) -> tuple[rl.Tensor, int]:
    """The filters of all phases ``[new, 1, 2 * width + orig]``, and their `width`.

    Computed in float64 and rounded to `dtype`.
    """
    if resampling_method not in METHODS:
        raise ValueError(
            f"resample(): resampling_method must be one of {METHODS}, got {resampling_method!r}"
        )
    if lowpass_filter_width <= 0:
        raise ValueError(
            f"resample(): lowpass_filter_width must be positive, got {lowpass_filter_width}"
        )
    edge = min(orig, new) * rolloff
    width = math.ceil(lowpass_filter_width * orig / edge)
    # Kept for later calls, so it must not be an inference tensor, which no gradient may use.
    with rl.inference_mode(False), rl.no_grad():
        sample = rl.arange(-width, width + orig, dtype=rl.float64) / orig
        phase = rl.arange(0, -new, -1, dtype=rl.float64).reshape(-1, 1, 1) / new
        time = ((phase + sample) * edge).clamp(-lowpass_filter_width, lowpass_filter_width)
        share = time / lowpass_filter_width
        if resampling_method == "sinc_interp_hann":
            window = rl.cos(share * (math.pi / 2)).square()
        else:
            window = _kaiser(share, KAISER_BETA if beta is None else beta)
        angle = time * math.pi
        centre = angle == 0
        sinc = rl.where(centre, 1.0, rl.sin(angle) / angle.masked_fill(centre, 1.0))
        return (sinc * window * (edge / orig)).to(dtype), width


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
