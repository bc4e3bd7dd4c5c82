"""Kaldi's mel filters, and the warping of frequencies by the length of a vocal tract."""

from __future__ import annotations

import math

import rushlight as rl

__all__ = [
    "get_mel_banks",
    "inverse_mel_scale",
    "inverse_mel_scale_scalar",
    "mel_scale",
    "mel_scale_scalar",
    "vtln_warp_freq",
    "vtln_warp_mel_freq",
]

_MELS, _KNEE = 1127.0, 700.0


def mel_scale_scalar(freq: float) -> float:
    """A frequency in Hz as mel: ``1127 ln(1 + f / 700)``."""
    return _MELS * math.log(1.0 + freq / _KNEE)


def inverse_mel_scale_scalar(mel_freq: float) -> float:
    """A frequency in mel as Hz."""
    return _KNEE * (math.exp(mel_freq / _MELS) - 1.0)


def mel_scale(freq: rl.Tensor) -> rl.Tensor:
    """Frequencies in Hz as mel."""
    return _MELS * (1.0 + freq / _KNEE).log()


def inverse_mel_scale(mel_freq: rl.Tensor) -> rl.Tensor:
    """Frequencies in mel as Hz."""
    return _KNEE * ((mel_freq / _MELS).exp() - 1.0)


def vtln_warp_freq(
    vtln_low_cutoff: float,
    vtln_high_cutoff: float,
    low_freq: float,
    high_freq: float,
    vtln_warp_factor: float,
    freq: rl.Tensor,
) -> rl.Tensor:
    """Frequencies divided by a factor, in three straight pieces that leave both ends as they are.

    Args:
        vtln_low_cutoff: where the lower piece ends; above `low_freq`.
        vtln_high_cutoff: where the upper piece begins; below `high_freq`.
        low_freq: the lower end, in Hz.
        high_freq: the upper end.
        vtln_warp_factor: the factor.
        freq: frequencies; those outside of the ends stay.

    Returns:
        a tensor of the shape of `freq`.
    """
    _require(
        vtln_low_cutoff > low_freq,
        f"vtln_low_cutoff {vtln_low_cutoff} must be above low_freq {low_freq}",
    )
    _require(
        vtln_high_cutoff < high_freq,
        f"vtln_high_cutoff {vtln_high_cutoff} must be below high_freq {high_freq}",
    )
    lower = vtln_low_cutoff * max(1.0, vtln_warp_factor)
    upper = vtln_high_cutoff * min(1.0, vtln_warp_factor)
    _require(low_freq < lower and upper < high_freq, "the cutoffs leave no room for the warping")
    scale = 1.0 / vtln_warp_factor
    left = (scale * lower - low_freq) / (lower - low_freq)
    right = (high_freq - scale * upper) / (high_freq - upper)
    warped = rl.where(freq < lower, low_freq + left * (freq - low_freq), scale * freq)
    warped = rl.where(freq >= upper, high_freq + right * (freq - high_freq), warped)
    return rl.where((freq < low_freq) | (freq > high_freq), freq, warped)


def vtln_warp_mel_freq(
    vtln_low_cutoff: float,
    vtln_high_cutoff: float,
    low_freq: float,
    high_freq: float,
    vtln_warp_factor: float,
    mel_freq: rl.Tensor,
) -> rl.Tensor:
    """:func:`vtln_warp_freq` of frequencies in mel, the other ones being in Hz."""
    warped = vtln_warp_freq(
        vtln_low_cutoff,
        vtln_high_cutoff,
        low_freq,
        high_freq,
        vtln_warp_factor,
        inverse_mel_scale(mel_freq),
    )
    return mel_scale(warped)


def get_mel_banks(
    num_bins: int,
    window_length_padded: int,
    sample_freq: float,
    low_freq: float,
    high_freq: float,
    vtln_low: float,
    vtln_high: float,
    vtln_warp_factor: float,
) -> tuple[rl.Tensor, rl.Tensor]:
    """Triangular filters, evenly spaced in mel and triangular there.

    Args:
        num_bins: how many filters, more than 3.
        window_length_padded: samples of a frame, even.
        sample_freq: samples per second.
        low_freq: where the first filter begins, in Hz.
        high_freq: where the last ends; what is not positive counts from half the rate.
        vtln_low: see :func:`vtln_warp_freq`.
        vtln_high: see there; a negative one counts from half the rate.
        vtln_warp_factor: 1 does not warp.

    Returns:
        the filters ``[num_bins, window_length_padded // 2]`` and their centres in Hz
        ``[num_bins, 1]``, float32.
    """
    _require(num_bins > 3, f"Must have at least 3 mel bins, got {num_bins}")
    _require(window_length_padded % 2 == 0, f"frames of odd length {window_length_padded}")
    nyquist = 0.5 * sample_freq
    high_freq = high_freq + nyquist if high_freq <= 0.0 else high_freq
    _require(
        0.0 <= low_freq < nyquist and 0.0 < high_freq <= nyquist and low_freq < high_freq,
        f"Bad values in options: low-freq {low_freq} and high-freq {high_freq} vs. nyquist "
        f"{nyquist}",
    )
    vtln_high = vtln_high + nyquist if vtln_high < 0.0 else vtln_high
    low, high = mel_scale_scalar(low_freq), mel_scale_scalar(high_freq)
    edges = low + rl.arange(num_bins + 2, dtype=rl.float64) * ((high - low) / (num_bins + 1))
    if vtln_warp_factor != 1.0:
        _require(
            low_freq < vtln_low < high_freq
            and 0.0 < vtln_high < high_freq
            and vtln_low < vtln_high,
            f"Bad values in options: vtln-low {vtln_low} and vtln-high {vtln_high}, versus "
            f"low-freq {low_freq} and high-freq {high_freq}",
        )
        edges = vtln_warp_mel_freq(
            vtln_low, vtln_high, low_freq, high_freq, vtln_warp_factor, edges
        )
    left, centre, right = (edges[i : num_bins + i].unsqueeze(1) for i in range(3))
    step = sample_freq / window_length_padded
    mels = mel_scale(step * rl.arange(window_length_padded // 2, dtype=rl.float64))
    rising, falling = (mels - left) / (centre - left), (right - mels) / (right - centre)
    filters = rl.minimum(rising, falling).clamp(min=0.0)
    return filters.to(rl.float32), inverse_mel_scale(centre).to(rl.float32)


def _require(holds: bool, what: str) -> None:
    if not holds:
        raise AssertionError(what)
