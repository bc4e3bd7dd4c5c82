"""Features of frames: centroids, deltas, normalized means."""

from __future__ import annotations

import rushlight as rl
import rushlight.nn.functional as F
from rushlight_audio.functional.checks import in_rows
from rushlight_audio.functional.pieces import PIECE, in_one_piece
from rushlight_audio.functional.spectrogram import spectrogram

__all__ = ["compute_deltas", "sliding_window_cmn", "spectral_centroid"]


def spectral_centroid(
    waveform: rl.Tensor,
    sample_rate: int,
    pad: int,
    window: rl.Tensor,
    n_fft: int,
    hop_length: int,
    win_length: int,
) -> rl.Tensor:
    """The mean frequency of each frame, weighed by magnitudes, in Hz; NaN in silence.

    Args:
        waveform: ``[..., T]``.
        sample_rate: samples per second.
        pad: zeros put before and after the waveform.
        window: ``[win_length]``.
        n_fft: length of a frame.
        hop_length: distance between frames.
        win_length: length of the window.

    Returns:
        ``[..., frames]``.
    """
    magnitude = spectrogram(
        waveform, pad, window, n_fft, hop_length, win_length, power=1.0, normalized=False
    )
    frequency = rl.linspace(
        0, sample_rate // 2, 1 + n_fft // 2, dtype=magnitude.dtype, device=magnitude.device
    ).unsqueeze(-1)
    return (frequency * magnitude).sum(-2) / magnitude.sum(-2)


def compute_deltas(specgram: rl.Tensor, win_length: int = 5, mode: str = "replicate") -> rl.Tensor:
    """The slope of each coefficient along time: a regression over a window of frames.

    Args:
        specgram: ``[..., coefficients, frames]``.
        win_length: frames of the window, 3 or more.
        mode: how the ends are padded, as for :func:`rushlight.nn.functional.pad`.

    Returns:
        a tensor of the same shape.
    """
    if win_length < 3:
        raise ValueError(f"compute_deltas(): win_length must be 3 or more, got {win_length}")
    reach = (win_length - 1) // 2
    squares = reach * (reach + 1) * (2 * reach + 1) / 3
    if not specgram.numel():
        return specgram
    rows = in_rows(specgram).unsqueeze(1)
    slope = rl.arange(-reach, reach + 1, dtype=specgram.dtype, device=specgram.device)
    slope = slope.reshape(1, 1, -1)
    found = F.conv1d(F.pad(rows, (reach, reach), mode=mode), slope) / squares
    return found.reshape(specgram.shape)


def sliding_window_cmn(
    specgram: rl.Tensor,
    cmn_window: int = 600,
    min_cmn_window: int = 100,
    center: bool = False,
    norm_vars: bool = False,
) -> rl.Tensor:
    """Features less their mean over a window that moves along time, as Kaldi's
    ``apply-cmvn-sliding``.

    Args:
        specgram: ``[..., frames, features]``.
        cmn_window: frames of the window.
        min_cmn_window: least frames at the beginning, without `center`.
        center: put the window around its frame, else before it.
        norm_vars: divide by the deviation over the window as well.

    Returns:
        a tensor of the same shape; sums are in float64.
    """
    if specgram.dim() < 2:
        raise ValueError(
            f"sliding_window_cmn(): expected [..., frames, features], got {list(specgram.shape)}"
        )
    if not rl.jit.is_scripting() and not in_one_piece(specgram, 2 * specgram.numel()):
        columns = -(-specgram.shape[-1] * PIECE // specgram.numel())
        options = (cmn_window, min_cmn_window, center, norm_vars)
        pieces = specgram.split(columns, -1)
        return rl.cat([_normalized(piece, *options) for piece in pieces], -1)
    return _normalized(specgram, cmn_window, min_cmn_window, center, norm_vars)


def _normalized(
    specgram: rl.Tensor, cmn_window: int, min_cmn_window: int, center: bool, norm_vars: bool
) -> rl.Tensor:
    frames = specgram.shape[-2]
    start, stop = _windows(frames, cmn_window, min_cmn_window, center)
    start, stop = start.to(specgram.device), stop.to(specgram.device)
    count = (stop - start).unsqueeze(-1)
    average = _sums(specgram, start, stop) / count
    found = specgram - average
    if norm_vars:
        spread = _sums(specgram.double().square(), start, stop) / count - average.square()
        found = rl.where(count == 1, 0.0, found * spread.pow(-0.5))
    return found.to(specgram.dtype)


def _sums(values: rl.Tensor, start: rl.Tensor, stop: rl.Tensor) -> rl.Tensor:
    """The sum in float64 over each frame's window."""
    sums = F.pad(values.double().cumsum(-2), (0, 0, 1, 0))
    return sums.index_select(-2, stop) - sums.index_select(-2, start)


def _windows(frames: int, size: int, least: int, center: bool) -> tuple[rl.Tensor, rl.Tensor]:
    """The first frame of each frame's window, and the one behind its last."""
    at = rl.arange(frames)
    if center:
        start = at - size // 2
        stop = start + size
    else:
        start, stop = at - size, at + 1
    stop = rl.where(start < 0, stop - start, stop)
    start = start.clamp(min=0)
    if not center:
        stop = rl.where(stop > at, rl.maximum(at + 1, rl.full_like(at, least)), stop)
    start = rl.where(stop > frames, start - (stop - frames), start).clamp(min=0)
    return start, stop.clamp(max=frames)
