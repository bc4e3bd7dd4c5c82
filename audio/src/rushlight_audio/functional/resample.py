"""Resampling by a windowed sinc."""

from __future__ import annotations

import functools
import math

import rushlight as rl
import rushlight.nn.functional as F
from rushlight_audio.functional.checks import require_waveform
from rushlight_audio.functional.sinc import SincFilter
from rushlight_audio.functional.sinc_products import grouped_weights, resample_by_products
from rushlight_audio.functional.sinc_sums import resample_by_sums

__all__ = ["apply_kernel", "reduced_rates", "resample", "sinc_kernel"]


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
    convolution of its own with stride ``orig``. Where the filters of all phases would be large (the
    rates have a small divisor), each output is a sum over the samples near it instead; the working
    memory does not grow with the rates.

    Args:
        waveform: ``[..., T]``, floating point.
        orig_freq: its rate, an integer.
        new_freq: the wanted rate.
        lowpass_filter_width: zero crossings of the sinc on each side; more are sharper and slower.
        rolloff: edge of the filter as a share of the lower Nyquist frequency.
        resampling_method: the window: ``"sinc_interp_hann"`` or ``"sinc_interp_kaiser"``. The
            former names ``"sinc_interpolation"`` and ``"kaiser_window"`` warn.
        beta: shape of the Kaiser window; 14.7697 by default.

    Returns:
        ``[..., ceil(T * new_freq / orig_freq)]``; the waveform itself where the rates are equal.

    Raises:
        TypeError: the waveform is no floating-point tensor, or a rate no integer.
        ValueError: a rate or width that is not positive, or an unknown method.
    """
    require_waveform("resample", waveform)
    orig, new = reduced_rates(orig_freq, new_freq)
    filters = SincFilter(
        orig, new, lowpass_filter_width, rolloff, resampling_method, beta, waveform.dtype
    )
    if filters.is_large:
        return resample_by_sums(waveform, filters)
    if orig == new:
        return waveform
    if not waveform.numel():
        return _empty(waveform, filters)
    return resample_by_products(waveform, filters, _weights(filters, str(waveform.device)))


@functools.lru_cache(maxsize=16)
def _weights(filters: SincFilter, device: str) -> list[rl.Tensor]:
    return [each.to(device) for each in grouped_weights(filters, sinc_kernel(filters)[0])]


def _empty(waveform: rl.Tensor, filters: SincFilter) -> rl.Tensor:
    return waveform.new_zeros((*waveform.shape[:-1], filters.target(waveform.shape[-1])))


def reduced_rates(orig_freq: int, new_freq: int) -> tuple[int, int]:
    """Both rates divided by their greatest common divisor."""
    for name, rate in (("orig_freq", orig_freq), ("new_freq", new_freq)):
        if isinstance(rate, bool) or int(rate) != rate:
            raise TypeError(f"resample(): {name} must be an integer, got {rate!r}")
        if rate <= 0:
            raise ValueError(f"resample(): {name} must be positive, got {rate}")
    divisor = math.gcd(int(orig_freq), int(new_freq))
    return int(orig_freq) // divisor, int(new_freq) // divisor


def apply_kernel(waveform: rl.Tensor, kernel: rl.Tensor, orig: int, new: int) -> rl.Tensor:
    """Convolve ``[..., T]`` with the phases ``[new, 1, 2 * width + orig]`` and interleave the
    results: where the phases have gradients, and in scripts."""
    if orig == new:
        return waveform
    length, width = waveform.shape[-1], (kernel.shape[-1] - orig) // 2
    target = -(-new * length // orig)
    sizes = list(waveform.shape[:-1]) + [target]
    if waveform.numel() == 0:
        return waveform.new_zeros(sizes)
    rows = F.pad(waveform.reshape(-1, 1, length), (width, width + orig))
    phases = F.conv1d(rows, kernel.to(rows.device), stride=orig)
    out = phases.transpose(1, 2).reshape(rows.shape[0], -1)[:, :target]
    return out.reshape(sizes)


@functools.lru_cache(maxsize=16)
def sinc_kernel(filters: SincFilter) -> tuple[rl.Tensor, int]:
    """The filters of all phases ``[new, 1, 2 * width + orig]``, and their `width`."""
    # Kept for later calls, so it must not be an inference tensor, which no gradient may use.
    with rl.inference_mode(False), rl.no_grad():
        sample = rl.arange(-filters.width, filters.width + filters.orig, dtype=rl.float64)
        phase = rl.arange(filters.new, dtype=rl.float64).reshape(-1, 1, 1)
        return filters.weights(phase, sample), filters.width
