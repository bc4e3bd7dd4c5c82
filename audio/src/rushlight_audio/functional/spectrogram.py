"""The short-time Fourier transform of waveforms, scaled and as a power."""

from __future__ import annotations

from typing import Any

import rushlight as rl
import rushlight.nn.functional as F
from rushlight_audio.functional.checks import from_rows, in_rows, require_waveform
from rushlight_audio.functional.pieces import by_frames, in_one_piece

__all__ = ["inverse_spectrogram", "spectrogram"]

NORMALIZATIONS = ("window", "frame_length")


def spectrogram(
    waveform: rl.Tensor,
    pad: int,
    window: rl.Tensor,
    n_fft: int,
    hop_length: int | None,
    win_length: int | None,
    power: float | None,
    normalized: bool | str,
    center: bool = True,
    pad_mode: str = "reflect",
    onesided: bool = True,
    return_complex: bool | None = None,
) -> rl.Tensor:
    """The short-time Fourier transform of a waveform, or a power of its magnitude.

    Each frame of `n_fft` samples is multiplied by the window and transformed; everything is
    differentiable, at silence too.

    Args:
        waveform: ``[..., T]``, floating point.
        pad: zeros put before and after the waveform.
        window: ``[win_length]``; shorter than `n_fft` it lies in the middle of the frame.
        n_fft: length of a frame; gives ``n_fft // 2 + 1`` frequencies, or `n_fft` if not
            `onesided`.
        hop_length: distance between frames; None for ``n_fft // 4``.
        win_length: length of the window; None for `n_fft`.
        power: exponent of the magnitude: 1 for amplitude, 2 for power, None for complex numbers.
        normalized: True or ``"window"``: divide by the window's root of summed squares;
            ``"frame_length"``: by the root of `n_fft`.
        center: put frame t around sample ``t * hop_length``, the ends padded by ``n_fft // 2``.
        pad_mode: how: ``"reflect"``, ``"constant"``, ``"replicate"``, ``"circular"``.
        onesided: leave out the frequencies that mirror others.
        return_complex: unused, as in torchaudio.

    Returns:
        ``[..., frequencies, frames]``; without waveforms (a leading size of 0) an empty one.

    Raises:
        TypeError: the waveform is no floating-point tensor.
        ValueError: sizes that do not fit, or an unknown normalization.
    """
    require_waveform("spectrogram", waveform)
    hop_length = n_fft // 4 if hop_length is None else hop_length
    win_length = n_fft if win_length is None else win_length
    _require_sizes(window, n_fft, hop_length, win_length)
    by_window, by_length = _normalization("spectrogram", normalized)
    if pad > 0:
        waveform = F.pad(waveform, (pad, pad))
    _require_samples(waveform, n_fft, center, pad_mode)
    # Nothing to reflect where there are no waveforms, which stft refuses: any other padding does.
    pad_mode = pad_mode if waveform.numel() else "constant"
    if power is not None and not rl.jit.is_scripting():
        numbers = waveform.numel() * n_fft // hop_length
        if not in_one_piece(waveform, numbers):
            options = (window, n_fft, hop_length, win_length, power, normalized)
            return _power_by_frames(waveform, center, pad_mode, onesided, *options)
    leading = waveform.shape[:-1]
    if len(leading) > 1:
        waveform = in_rows(waveform)
    spectrum = rl.stft(
        waveform,
        n_fft,
        hop_length,
        win_length,
        window,
        center=center,
        pad_mode=pad_mode,
        normalized=by_length,
        onesided=onesided,
        return_complex=True,
    )
    if len(leading) > 1:
        spectrum = from_rows(spectrum, leading)
    if by_window:
        spectrum = spectrum / window.pow(2).sum().sqrt()
    if power is None:
        return spectrum
    if power == 2:
        return spectrum.abs().square()
    magnitude = spectrum.abs()
    return magnitude if power == 1 else magnitude.pow(power)


def inverse_spectrogram(
    spectrogram: rl.Tensor,
    length: int | None,
    pad: int,
    window: rl.Tensor,
    n_fft: int,
    hop_length: int,
    win_length: int,
    normalized: bool | str,
    center: bool = True,
    pad_mode: str = "reflect",
    onesided: bool = True,
) -> rl.Tensor:
    """The waveform ``[..., T]`` of a complex spectrogram ``[..., frequencies, frames]``.

    Args:
        spectrogram: what :func:`spectrogram` gives with ``power=None`` and the same arguments.
        length: samples of the waveform; None for as many as the frames give.
        pad: zeros that were put before and after the waveform; cut where `length` is given.
        window: ``[win_length]``.
        n_fft: length of a frame.
        hop_length: distance between frames.
        win_length: length of the window.
        normalized: how the spectrogram was normalized.
        center: whether frame t is around sample ``t * hop_length``.
        pad_mode: unused, as in torchaudio.
        onesided: whether mirrored frequencies were left out.

    Raises:
        ValueError: the spectrogram is not complex.
    """
    if not spectrogram.is_complex():
        raise ValueError(
            f"inverse_spectrogram(): the spectrogram must be complex, got {spectrogram.dtype}"
        )
    by_window, by_length = _normalization("inverse_spectrogram", normalized)
    if by_window:
        spectrogram = spectrogram * window.pow(2).sum().sqrt()
    leading = spectrogram.shape[:-2]
    waveform = rl.istft(
        in_rows(spectrogram, 2),
        n_fft,
        hop_length,
        win_length,
        window,
        center,
        by_length,
        onesided,
        length + 2 * pad if length is not None else None,
        return_complex=False,
    )
    if length is not None and pad > 0:
        waveform = waveform[:, pad:-pad]
    return from_rows(waveform, leading)


def _power_by_frames(
    waveform: rl.Tensor, center: bool, pad_mode: str, onesided: bool, *options: Any
) -> rl.Tensor:
    """:func:`spectrogram` of a long waveform, whose complex numbers are not kept whole."""
    window, n_fft, hop_length, win_length, power, normalized = options
    padded = waveform
    if center:
        half = n_fft // 2
        rows = F.pad(in_rows(waveform).unsqueeze(0), (half, half), pad_mode).squeeze(0)
        padded = from_rows(rows, waveform.shape[:-1])
    sizes = n_fft, hop_length, win_length
    return by_frames(
        padded,
        n_fft,
        hop_length,
        lambda x: spectrogram(
            x, 0, window, *sizes, power, normalized, center=False, onesided=onesided
        ),
    )


def _normalization(op: str, normalized: bool | str) -> tuple[bool, bool]:
    """Whether to divide by the root of the window's squares, and by that of the frame's length."""
    if not isinstance(normalized, str):
        return bool(normalized), False
    if normalized not in NORMALIZATIONS:
        raise ValueError(
            f"{op}(): normalized must be a bool or one of {NORMALIZATIONS}, got {normalized!r}"
        )
    return normalized == "window", normalized == "frame_length"


def _require_samples(waveform: rl.Tensor, n_fft: int, center: bool, pad_mode: str) -> None:
    length, half = waveform.shape[-1], n_fft // 2
    if center and pad_mode == "reflect" and half >= length:
        raise ValueError(
            f"spectrogram(): reflecting n_fft // 2 = {half} samples at each end needs a longer "
            f"waveform than {length} samples (shape {list(waveform.shape)}); take a smaller "
            "n_fft, pad_mode='constant' or center=False"
        )
    available = length + 2 * half if center else length
    if available < n_fft:
        raise ValueError(
            f"spectrogram(): a frame of n_fft={n_fft} needs as many samples, the waveform has "
            f"{available} (padding included)"
        )


def _require_sizes(window: rl.Tensor, n_fft: int, hop_length: int, win_length: int) -> None:
    for name, size in (("n_fft", n_fft), ("hop_length", hop_length), ("win_length", win_length)):
        if size < 1:
            raise ValueError(f"spectrogram(): {name} must be positive, got {size}")
    if win_length > n_fft:
        raise ValueError(
            f"spectrogram(): win_length must not exceed n_fft={n_fft}, got {win_length}"
        )
    if list(window.shape) != [win_length]:
        raise ValueError(
            f"spectrogram(): window must have shape [{win_length}] for win_length={win_length}, "
            f"got {list(window.shape)}"
        )
