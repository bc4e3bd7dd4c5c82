"""Mel filters, and the discrete cosine transform of their logarithms."""

from __future__ import annotations

import math
import warnings

import rushlight as rl

__all__ = ["create_dct", "linear_fbanks", "melscale_fbanks"]

# Slaney's scale: linear to 1000 Hz, then 27 steps for each factor 6.4.
_STEP = 200.0 / 3
_KNEE_HZ = 1000.0
_KNEE_MEL = _KNEE_HZ / _STEP
_LOG_STEP = math.log(6.4) / 27.0
MEL_SCALES = ("htk", "slaney")


def melscale_fbanks(
    n_freqs: int,
    f_min: float,
    f_max: float,
    n_mels: int,
    sample_rate: int,
    norm: str | None = None,
    mel_scale: str = "htk",
) -> rl.Tensor:
    """Triangular filters, evenly spaced in mel, as a matrix from frequencies to mel bands.

    Args:
        n_freqs: frequencies of the spectrogram, evenly spaced from 0 to ``sample_rate // 2``.
        f_min: where the first filter begins, in Hz.
        f_max: where the last one ends.
        n_mels: number of filters.
        sample_rate: samples per second.
        norm: ``"slaney"`` divides each filter by its width, so that all have one area; None leaves
            peaks of 1.
        mel_scale: ``"htk"``: ``2595 log10(1 + f / 700)``; ``"slaney"``: linear below 1 kHz,
            logarithmic above.

    Returns:
        ``[n_freqs, n_mels]`` float32, computed in float64.

    Warns:
        UserWarning: a filter lies between two frequencies and sees none.

    Raises:
        ValueError: an unknown `norm` or `mel_scale`, or `f_min` above `f_max`.
    """
    if norm not in (None, "slaney"):
        raise ValueError(f"melscale_fbanks(): norm must be None or 'slaney', got {norm!r}")
    _check_scale("melscale_fbanks", mel_scale)
    if f_min > f_max:
        raise ValueError(f"melscale_fbanks(): f_min {f_min} must not exceed f_max {f_max}")
    if n_freqs < 1 or n_mels < 1:
        raise ValueError(
            f"melscale_fbanks(): n_freqs and n_mels must be positive, got {n_freqs} and {n_mels}"
        )
    frequencies = rl.linspace(0, sample_rate // 2, n_freqs, dtype=rl.float64)
    low, high = _hz_to_mel(f_min, mel_scale), _hz_to_mel(f_max, mel_scale)
    edges = _mel_to_hz(rl.linspace(low, high, n_mels + 2, dtype=rl.float64), mel_scale)
    filters = _triangles(frequencies, edges)
    if norm == "slaney":
        filters = filters * (2.0 / (edges[2:] - edges[:-2]))
    if (filters.amax(dim=0) == 0).any():
        warnings.warn(
            f"melscale_fbanks(): a mel filter sees no frequency: n_mels ({n_mels}) is too large, "
            f"or n_freqs ({n_freqs}) too small",
            stacklevel=2,
        )
    return filters.to(rl.float32)


def linear_fbanks(
    n_freqs: int, f_min: float, f_max: float, n_filter: int, sample_rate: int
) -> rl.Tensor:
    """Triangular filters, evenly spaced in Hz, as a matrix from frequencies to bands.

    Args:
        n_freqs: frequencies of the spectrogram, evenly spaced from 0 to ``sample_rate // 2``.
        f_min: where the first filter begins, in Hz.
        f_max: where the last one ends.
        n_filter: number of filters.
        sample_rate: samples per second.

    Returns:
        ``[n_freqs, n_filter]`` float32, computed in float64.
    """
    frequencies = rl.linspace(0, sample_rate // 2, n_freqs, dtype=rl.float64)
    edges = rl.linspace(f_min, f_max, n_filter + 2, dtype=rl.float64)
    return _triangles(frequencies, edges).to(rl.float32)


def _triangles(frequencies: rl.Tensor, edges: rl.Tensor) -> rl.Tensor:
    """Filters ``[frequencies, edges - 2]`` that rise from an edge to the next and fall again."""
    widths = edges[1:] - edges[:-1]
    distance = edges.unsqueeze(0) - frequencies.unsqueeze(1)
    rising = -distance[:, :-2] / widths[:-1]
    falling = distance[:, 2:] / widths[1:]
    return rl.minimum(rising, falling).clamp(min=0.0)


def _check_scale(name: str, mel_scale: str) -> None:
    if mel_scale not in MEL_SCALES:
        raise ValueError(f"{name}(): mel_scale must be one of {MEL_SCALES}, got {mel_scale!r}")


def _hz_to_mel(freq: float, mel_scale: str = "htk") -> float:
    """A frequency in hertz on a mel scale, "htk" or "slaney"."""
    _check_scale("_hz_to_mel", mel_scale)
    if mel_scale == "htk":
        return 2595.0 * math.log10(1.0 + freq / 700.0)
    if freq < _KNEE_HZ:
        return freq / _STEP
    return _KNEE_MEL + math.log(freq / _KNEE_HZ) / _LOG_STEP


def _mel_to_hz(mels: rl.Tensor, mel_scale: str = "htk") -> rl.Tensor:
    """Mels as frequencies in hertz, the inverse of :func:`_hz_to_mel`."""
    _check_scale("_mel_to_hz", mel_scale)
    if mel_scale == "htk":
        return 700.0 * ((mels * (math.log(10.0) / 2595.0)).exp() - 1.0)
    upper = _KNEE_HZ * ((mels - _KNEE_MEL) * _LOG_STEP).exp()
    return rl.where(mels >= _KNEE_MEL, upper, mels * _STEP)


def create_dct(n_mfcc: int, n_mels: int, norm: str | None) -> rl.Tensor:
    """The discrete cosine transform of type 2 as a matrix ``[n_mels, n_mfcc]``, float32.

    Args:
        n_mfcc: coefficients to keep.
        n_mels: length of the input.
        norm: ``"ortho"`` makes the columns orthonormal; None leaves the factor 2 of the definition.
    """
    if norm not in (None, "ortho"):
        raise ValueError(f"create_dct(): norm must be None or 'ortho', got {norm!r}")
    if n_mfcc < 1 or n_mels < 1:
        raise ValueError(
            f"create_dct(): n_mfcc and n_mels must be positive, got {n_mfcc} and {n_mels}"
        )
    place = rl.arange(n_mels, dtype=rl.float64).reshape(-1, 1)
    order = rl.arange(n_mfcc, dtype=rl.float64)
    matrix = rl.cos(math.pi / n_mels * (place + 0.5) * order)
    if norm is None:
        return (2.0 * matrix).to(rl.float32)
    scale = rl.where(order == 0, math.sqrt(1.0 / n_mels), math.sqrt(2.0 / n_mels))
    return (matrix * scale).to(rl.float32)
