"""The short-time Fourier transform, as one matrix product over frames."""

from __future__ import annotations

import functools
import math

import rushlight as rl
import rushlight.nn.functional as F
from rushlight_audio.functional.checks import require_waveform

__all__ = ["spectrogram"]

NORMALIZATIONS = ("window", "frame_length")


def spectrogram(
    waveform: rl.Tensor,
    pad: int,
    window: rl.Tensor,
    n_fft: int,
    hop_length: int,
    win_length: int,
    power: float | None,
    normalized: bool | str,
    center: bool = True,
    pad_mode: str = "reflect",
    onesided: bool = True,
    return_complex: bool | None = None,
) -> rl.Tensor:
    """The short-time Fourier transform of a waveform, or a power of its magnitude.

    Each frame of `n_fft` samples, times the window, meets the cosines and sines of all frequencies
    in one matrix product. That is differentiable, and for the frames of speech and music (some
    hundred to some thousand samples) a matter of one well-tuned product.

    Args:
        waveform: ``[..., T]``, floating point.
        pad: zeros put before and after the waveform.
        window: ``[win_length]``; shorter than `n_fft` it lies in the middle of the frame.
        n_fft: length of a frame; gives ``n_fft // 2 + 1`` frequencies, or `n_fft` if not
            `onesided`.
        hop_length: distance between frames.
        win_length: length of the window.
        power: exponent of the magnitude: 1 for amplitude, 2 for power, None for complex numbers.
        normalized: True or ``"window"``: divide by the window's root of summed squares;
            ``"frame_length"``: by the root of `n_fft`.
        center: put frame t around sample ``t * hop_length``, the ends padded by ``n_fft // 2``.
        pad_mode: how: ``"reflect"``, ``"constant"``, ``"replicate"``, ``"circular"``.
        onesided: leave out the frequencies that mirror others.
        return_complex: unused, as in torchaudio.

    Returns:
        ``[..., frequencies, frames]``.

    Raises:
        TypeError: the waveform is no floating-point tensor.
        ValueError: sizes that do not fit, or an unknown normalization.
    """
    require_waveform("spectrogram", waveform)
    _require_sizes(window, n_fft, hop_length, win_length)
    by_length = normalized == "frame_length"
    if isinstance(normalized, str) and normalized not in NORMALIZATIONS:
        raise ValueError(
            f"spectrogram(): normalized must be a bool or one of {NORMALIZATIONS}, "
            f"got {normalized!r}"
        )
    real, imaginary = _transform(
        _frames(waveform, pad, n_fft, hop_length, center, pad_mode), window, n_fft, onesided
    )
    scale = 1.0
    if by_length:
        scale = 1 / math.sqrt(n_fft)
    elif normalized:
        scale = 1 / window.pow(2).sum().sqrt()
    if power is None:
        return rl.complex((real * scale).contiguous(), (imaginary * scale).contiguous())
    squares = (real.square() + imaginary.square()) * scale**2
    if power == 2:
        return squares
    return _root(squares) if power == 1 else squares.pow(power / 2)


def _root(squares: rl.Tensor) -> rl.Tensor:
    """The square root with gradient 0 at 0, where the magnitude of a complex number has it."""
    silent = squares == 0
    return squares.masked_fill(silent, 1.0).sqrt().masked_fill(silent, 0.0)


def _frames(
    waveform: rl.Tensor, pad: int, n_fft: int, hop_length: int, center: bool, pad_mode: str
) -> rl.Tensor:
    """``[..., T]`` to ``[..., frames, n_fft]``."""
    if pad > 0:
        waveform = F.pad(waveform, (pad, pad))
    if center:
        half = n_fft // 2
        length = waveform.shape[-1]
        if pad_mode == "reflect" and half >= length:
            raise ValueError(
                f"spectrogram(): reflecting n_fft // 2 = {half} samples at each end needs a longer "
                f"waveform than {length} samples (shape {list(waveform.shape)}); take a smaller "
                "n_fft, pad_mode='constant' or center=False"
            )
        rows = waveform.reshape(-1, 1, length)
        rows = F.pad(rows, (half, half), mode=pad_mode)
        waveform = rows.reshape(*waveform.shape[:-1], length + 2 * half)
    if waveform.shape[-1] < n_fft:
        raise ValueError(
            f"spectrogram(): a frame of n_fft={n_fft} needs as many samples, the waveform has "
            f"{waveform.shape[-1]} (padding included)"
        )
    return waveform.unfold(-1, n_fft, hop_length)


def _transform(
    frames: rl.Tensor, window: rl.Tensor, n_fft: int, onesided: bool
) -> tuple[rl.Tensor, rl.Tensor]:
    """Real and imaginary parts ``[..., frequencies, frames]`` of windowed frames."""
    left = (n_fft - window.shape[0]) // 2
    if window.shape[0] < n_fft:
        window = F.pad(window, (left, n_fft - window.shape[0] - left))
    windowed = frames * window
    count = n_fft // 2 + 1 if onesided else n_fft
    basis = fourier_basis(n_fft, count, windowed.dtype).to(windowed.device)
    both = rl.matmul(windowed, basis).transpose(-1, -2)
    return both.narrow(-2, 0, count), both.narrow(-2, count, count)


@functools.lru_cache(maxsize=8)
def fourier_basis(n_fft: int, count: int, dtype: rl.dtype) -> rl.Tensor:
    """``[n_fft, 2 * count]``: cosines of the first `count` frequencies, then minus their sines.

    The phase ``n k`` is taken modulo `n_fft` in integers, so that no angle grows inexact.
    """
    # Kept for later calls, so it must not be an inference tensor, which no gradient may use.
    with rl.inference_mode(False), rl.no_grad():
        sample = rl.arange(n_fft).reshape(-1, 1)
        phase = (sample * rl.arange(count)) % n_fft
        angle = phase.to(rl.float64) * (2 * math.pi / n_fft)
        return rl.cat([rl.cos(angle), -rl.sin(angle)], dim=1).to(dtype)


def _require_sizes(window: rl.Tensor, n_fft: int, hop_length: int, win_length: int) -> None:
    for name, size in (("n_fft", n_fft), ("hop_length", hop_length), ("win_length", win_length)):
        if size < 1:
            raise ValueError(f"spectrogram(): {name} must be positive, got {size}")
    if win_length > n_fft:
        raise ValueError(
            f"spectrogram(): win_length must not exceed n_fft={n_fft}, got {win_length}"
        )
    if tuple(window.shape) != (win_length,):
        raise ValueError(
            f"spectrogram(): window must have shape [{win_length}] for win_length={win_length}, "
            f"got {list(window.shape)}"
        )
