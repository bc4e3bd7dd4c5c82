"""Onsets: where notes begin."""

from __future__ import annotations

import rushlight as rl
import rushlight.nn.functional as nnf
from rushlight_audio import functional as F

__all__ = ["detect_onsets", "onset_strength"]


def onset_strength(
    waveform: rl.Tensor,
    sample_rate: int,
    n_fft: int = 2048,
    hop_length: int = 512,
    n_mels: int = 128,
    lag: int = 1,
) -> rl.Tensor:
    """By how many decibels mel bands rise from frame to frame, their mean: the spectral flux.

    Args:
        waveform: ``[..., T]``.
        sample_rate: samples per second.
        n_fft: length of a frame.
        hop_length: distance between frames.
        n_mels: number of bands (of Slaney's scale).
        lag: compare with the frame so much earlier.

    Returns:
        ``[..., frames]``, frame t being around sample ``t * hop_length``.
    """
    window = F.hann_window(n_fft).to(waveform.device, waveform.dtype)
    power = F.spectrogram(
        waveform, 0, window, n_fft, hop_length, n_fft, 2.0, False, pad_mode="constant"
    )
    bands = F.melscale_fbanks(
        n_fft // 2 + 1, 0.0, sample_rate / 2, n_mels, sample_rate, "slaney", "slaney"
    ).to(power.device, power.dtype)
    level = F.amplitude_to_DB(rl.matmul(bands.T, power), 10.0, 1e-10, 0.0, 80.0)
    rise = (level[..., lag:] - level[..., :-lag]).clamp(min=0).mean(-2)
    # A frame's window ends half its length later: what it hears began that much earlier.
    shift = lag + n_fft // (2 * hop_length)
    return nnf.pad(rise, (shift, 0))[..., : level.shape[-1]]


def detect_onsets(
    strength: rl.Tensor,
    sample_rate: int,
    hop_length: int = 512,
    delta: float = 0.07,
    wait: float = 0.03,
) -> rl.Tensor:
    """The frames of a curve of onset strength at which notes begin.

    A frame is one where the curve, brought to a range from 0 to 1, is highest within 30 ms, stands
    above its mean from 100 ms before to 100 ms after by `delta`, and `wait` seconds have gone by
    since the last one. (Boeck et al., 2012.)

    Args:
        strength: ``[frames]``, see :func:`onset_strength`.
        sample_rate: samples per second.
        hop_length: distance between frames.
        delta: least height above the mean.
        wait: least time between onsets, in seconds.

    Returns:
        ``[onsets]`` int64.
    """
    if strength.dim() != 1:
        raise ValueError(
            f"detect_onsets(): expected strength of shape [frames], got {list(strength.shape)}"
        )
    if not strength.numel() or not bool(strength.max() > strength.min()):
        return strength.new_zeros(0, dtype=rl.int64)
    curve = (strength - strength.min()) / (strength.max() - strength.min())
    rate = sample_rate / hop_length
    near, around = int(0.03 * rate), int(0.10 * rate)
    padded = nnf.pad(curve, (near, near), value=-1.0)
    highest = padded.unfold(0, 2 * near + 1, 1).amax(1)
    sums = nnf.pad(curve.double().cumsum(0), (1, 0))
    at = rl.arange(len(curve), device=curve.device)
    first, last = (at - around).clamp(min=0), (at + around + 1).clamp(max=len(curve))
    mean = (sums[last] - sums[first]) / (last - first)
    peaks = ((curve == highest) & (curve >= mean + delta)).nonzero()[:, 0].tolist()
    kept: list[int] = []
    for peak in peaks:
        if not kept or peak - kept[-1] > int(wait * rate):
            kept.append(peak)
    return rl.tensor(kept, dtype=rl.int64, device=strength.device)
