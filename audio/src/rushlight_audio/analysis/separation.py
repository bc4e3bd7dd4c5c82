"""Harmonic and percussive sounds apart: lines along time, lines along frequency.

(FitzGerald, 2010.)
"""

from __future__ import annotations

import math

import rushlight as rl
import rushlight.nn.functional as nnf
from rushlight_audio import functional as F
from rushlight_audio.functional.checks import in_rows

__all__ = ["harmonic_percussive", "harmonic_percussive_masks"]

_BLOCK = 1 << 21  # numbers that are sorted together


def _median_along(specgram: rl.Tensor, dim: int, size: int) -> rl.Tensor:
    """The median over `size` neighbours along a dimension, the ends mirrored."""
    moved = specgram.transpose(dim, -1)
    rows = in_rows(moved)
    length, half = rows.shape[1], size // 2
    # Mirrored with the last element twice, as often as the window needs.
    place = rl.arange(-half, length + size - 1 - half, device=rows.device).remainder(2 * length)
    place = rl.minimum(place, 2 * length - 1 - place)
    found = [
        part[:, place].unfold(-1, size, 1).median(-1).values
        for part in rows.split(max(_BLOCK // (length * size), 1))
    ]
    return rl.cat(found).reshape(moved.shape).transpose(dim, -1)


def harmonic_percussive_masks(
    specgram: rl.Tensor,
    kernel_size: int | tuple[int, int] = 31,
    power: float = 2.0,
    margin: float | tuple[float, float] = 1.0,
) -> tuple[rl.Tensor, rl.Tensor]:
    """How much of each bin is harmonic and how much percussive.

    Args:
        specgram: magnitudes ``[..., F, T]``.
        kernel_size: frames and frequencies of the medians, odd.
        power: exponent of the soft masks; infinity makes them hard.
        margin: how much larger one must be than the other; above 1 leaves a residue.

    Returns:
        two masks from 0 to 1 of the shape of `specgram`.
    """
    if specgram.dim() < 2 or specgram.is_complex():
        raise ValueError(
            "harmonic_percussive_masks(): expected magnitudes [..., F, T], got "
            f"{specgram.dtype} {list(specgram.shape)}"
        )
    sizes = (kernel_size, kernel_size) if isinstance(kernel_size, int) else kernel_size
    margins = margin if isinstance(margin, tuple) else (margin, margin)
    if min(margins) < 1:
        raise ValueError(f"harmonic_percussive_masks(): margin must be 1 or more, got {margin}")
    if any(size < 1 or size % 2 == 0 for size in sizes):
        raise ValueError(f"harmonic_percussive_masks(): kernel_size must be odd, got {kernel_size}")
    along_time = _median_along(specgram, -1, sizes[0])
    along_frequency = _median_along(specgram, -2, sizes[1])
    split = margins == (1.0, 1.0)
    return (
        _soft_mask(along_time, rl.mul(along_frequency, margins[0]), power, split),
        _soft_mask(along_frequency, rl.mul(along_time, margins[1]), power, split),
    )


def _soft_mask(one: rl.Tensor, other: rl.Tensor, power: float, split: bool) -> rl.Tensor:
    if math.isinf(power):
        return (one > other).to(one.dtype)
    largest = rl.maximum(one, other)
    silent = largest < rl.finfo(one.dtype).tiny
    largest = largest.masked_fill(silent, 1.0)
    share, rest = (one / largest).pow(power), (other / largest).pow(power)
    return rl.where(silent, 0.5 if split else 0.0, share / (share + rest).masked_fill(silent, 1.0))


def harmonic_percussive(
    waveform: rl.Tensor,
    n_fft: int = 2048,
    hop_length: int | None = None,
    kernel_size: int | tuple[int, int] = 31,
    power: float = 2.0,
    margin: float | tuple[float, float] = 1.0,
) -> tuple[rl.Tensor, rl.Tensor]:
    """A waveform ``[..., T]`` as its harmonic and its percussive part, which add up to it.

    Args:
        waveform: floating point.
        n_fft: length of a frame.
        hop_length: distance between frames; ``n_fft // 4`` by default.
        kernel_size: as for :func:`harmonic_percussive_masks`, like the rest.
        power: exponent of the soft masks.
        margin: above 1 leaves a residue, and the parts do not add up.
    """
    hop = n_fft // 4 if hop_length is None else hop_length
    window = F.hann_window(n_fft).to(waveform.device, waveform.dtype)
    sizes = n_fft, hop, n_fft
    padded = nnf.pad(waveform, (0, n_fft))  # the last samples are in as many frames as others
    spectrum = F.spectrogram(padded, 0, window, *sizes, None, False, pad_mode="constant")
    masks = harmonic_percussive_masks(spectrum.abs(), kernel_size, power, margin)
    parts = [
        F.inverse_spectrogram(spectrum * mask, waveform.shape[-1], 0, window, *sizes, False)
        for mask in masks
    ]
    return parts[0], parts[1]
