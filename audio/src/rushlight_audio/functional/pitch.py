"""The pitch of frames by correlation."""

from __future__ import annotations

import math

import rushlight as rl
import rushlight.nn.functional as F
from rushlight_audio.functional.checks import in_rows, require_waveform
from rushlight_audio.functional.convolution import fast_size

__all__ = ["compute_kaldi_pitch", "detect_pitch_frequency"]

_TINY = 1e-9
_BLOCK = 1 << 18  # samples of frames that are looked at together
_NEARLY = 0.99  # a lag of half the size is taken where it is nearly as good as the best


def detect_pitch_frequency(
    waveform: rl.Tensor,
    sample_rate: int,
    frame_time: float = 10 ** (-2),
    win_length: int = 30,
    freq_low: int = 85,
    freq_high: int = 3400,
) -> rl.Tensor:
    """The pitch of each frame in Hz: the best lag of the normalized correlation, and its median
    over neighbouring frames.

    Args:
        waveform: ``[..., T]``.
        sample_rate: samples per second.
        frame_time: seconds of a frame.
        win_length: frames of the median.
        freq_low: lowest pitch.
        freq_high: highest pitch.

    Returns:
        ``[..., frames]``.
    """
    require_waveform("detect_pitch_frequency", waveform)
    rows = in_rows(waveform)
    most, size = math.ceil(sample_rate / freq_low), math.ceil(sample_rate * frame_time)
    frames, least = math.ceil(rows.shape[-1] / size), math.ceil(sample_rate / freq_high)
    if not frames:
        raise ValueError("detect_pitch_frequency(): the waveform has no samples")
    padded = F.pad(rows, (0, most + frames * size - rows.shape[-1]))
    step = max(_BLOCK // ((most + size) * max(len(rows), 1)), 1)
    found = []
    for first in range(0, frames, step):
        last = min(first + step, frames)
        piece = padded[:, first * size : last * size + most]
        found.append(_best_lag(_correlation(piece, size, most), least))
    lags = _median(rl.cat(found, -1), win_length)
    pitch = sample_rate / (_TINY + lags.to(rl.float32))
    return pitch.reshape(*waveform.shape[:-1], pitch.shape[-1])


def compute_kaldi_pitch(waveform: rl.Tensor, sample_rate: float, **options: float) -> rl.Tensor:
    """Kaldi's pitch tracker, which torchaudio gave up in 2.1, is not here either.

    Raises:
        NotImplementedError: always; it names what to use.
    """
    raise NotImplementedError(
        "compute_kaldi_pitch() is not there (nor in torchaudio since 2.1): use "
        "detect_pitch_frequency(), or read features that Kaldi computed by kaldi_io"
    )


def _correlation(samples: rl.Tensor, size: int, lags: int) -> rl.Tensor:
    """``[N, frames, lags]`` of frames with themselves 1, 2, ... samples later, by the powers of
    both; `samples` ``[N, frames * size + lags]``."""
    padded = samples.double()
    frames = (padded.shape[-1] - lags) // size
    first = padded[:, : frames * size].reshape(len(samples), frames, size)
    pieces = padded.unfold(1, size + lags, size)[:, :frames]
    count = fast_size(size + lags)
    spectrum = rl.fft.rfft(first, n=count).conj() * rl.fft.rfft(pieces, n=count)
    products = rl.fft.irfft(spectrum, n=count)[..., 1 : lags + 1]
    sums = F.pad(padded.square().cumsum(1), (1, 0))
    powers = (sums[:, size:] - sums[:, :-size]).clamp(min=0)
    own = powers[:, : frames * size : size].unsqueeze(-1)
    later = powers[:, 1:].unfold(1, lags, size)[:, :frames]
    # Transforms leave rounding errors where there is silence, which the powers would raise.
    products = products * (later > 0)
    return products / (_TINY + own.sqrt()).square() / (_TINY + later.sqrt()).square()


def _best_lag(correlation: rl.Tensor, least: int) -> rl.Tensor:
    half = correlation.shape[-1] // 2
    best, at = correlation[..., least:].max(-1)
    shorter, shorter_at = correlation[..., least:half].max(-1)
    return rl.where(shorter > _NEARLY * best, shorter_at, at) + least + 1


def _median(lags: rl.Tensor, win_length: int) -> rl.Tensor:
    before = (win_length - 1) // 2
    if lags.shape[-1] + before < win_length:
        raise ValueError(
            f"detect_pitch_frequency(): a median over win_length={win_length} frames needs more "
            f"than the waveform's {lags.shape[-1]} frames"
        )
    padded = rl.cat([lags[..., :1].expand(*lags.shape[:-1], before), lags], -1)
    return padded.unfold(-1, win_length, 1).median(-1).values
