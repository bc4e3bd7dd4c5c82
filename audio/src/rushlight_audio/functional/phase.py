"""Spectrograms back to sound, and stretching in time: what needs phases."""

from __future__ import annotations

import math

import rushlight as rl
import rushlight.nn.functional as F
from rushlight_audio.functional.checks import from_rows, in_rows, require_waveform
from rushlight_audio.functional.pieces import PIECE, in_one_piece
from rushlight_audio.functional.resample import resample
from rushlight_audio.functional.windows import hann_window

__all__ = ["griffinlim", "phase_vocoder", "pitch_shift", "stretched_waveform"]


def griffinlim(
    specgram: rl.Tensor,
    window: rl.Tensor,
    n_fft: int,
    hop_length: int,
    win_length: int,
    power: float,
    n_iter: int,
    momentum: float,
    length: int | None,
    rand_init: bool,
) -> rl.Tensor:
    """A waveform with nearly this spectrogram. (Griffin and Lim, 1984; faster: Perraudin, 2013.)

    Args:
        specgram: ``[..., n_fft // 2 + 1, frames]``, magnitudes to the power of `power`.
        window: ``[win_length]``.
        n_fft: length of a frame.
        hop_length: distance between frames.
        win_length: length of the window.
        power: exponent of the magnitudes.
        n_iter: rounds of going to sound and back.
        momentum: in [0, 1); more is faster, near 1 may not settle.
        length: samples of the result; None for as many as the frames give.
        rand_init: begin with random phases, else with zeros.

    Returns:
        ``[..., T]``.
    """
    if not 0.0 <= momentum < 1.0:
        raise ValueError(f"griffinlim(): momentum must be in [0, 1), got {momentum}")
    leading = specgram.shape[:-2]
    magnitude = in_rows(specgram, 2).pow(1 / power)
    dtype, device = _complex(magnitude.dtype), magnitude.device
    if rand_init:
        angles = rl.rand(magnitude.shape, dtype=dtype, device=device)
    else:
        angles = rl.ones(magnitude.shape, dtype=dtype, device=device)
    previous: rl.Tensor | None = None
    weight = momentum / (1 + momentum)
    for _ in range(n_iter):
        sound = rl.istft(magnitude * angles, n_fft, hop_length, win_length, window, length=length)
        rebuilt = rl.stft(
            sound,
            n_fft,
            hop_length,
            win_length,
            window,
            center=True,
            pad_mode="reflect",
            return_complex=True,
        )
        angles = rebuilt
        if previous is not None and weight != 0:
            angles = rebuilt - previous * weight
        previous = rebuilt  # frees the one before, which is as large as the spectrogram twice
        angles = angles / (angles.abs() + 1e-16)
    sound = rl.istft(magnitude * angles, n_fft, hop_length, win_length, window, length=length)
    return from_rows(sound, leading)


def _complex(dtype: rl.dtype) -> rl.dtype:
    return rl.complex128 if dtype == rl.float64 else rl.complex64


def phase_vocoder(complex_specgrams: rl.Tensor, rate: float, phase_advance: rl.Tensor) -> rl.Tensor:
    """A spectrogram `rate` times as fast, pitches unchanged.

    Args:
        complex_specgrams: ``[..., frequencies, frames]``, complex.
        rate: above 1 is faster.
        phase_advance: ``[frequencies, 1]``, by how much a phase is expected to advance between two
            frames.

    Returns:
        ``[..., frequencies, ceil(frames / rate)]``.
    """
    if rate == 1.0:
        return complex_specgrams
    leading = complex_specgrams.shape[:-2]
    spectrum = in_rows(complex_specgrams, 2)
    if rl.jit.is_scripting() or in_one_piece(spectrum, 2 * spectrum.numel()):
        return from_rows(_vocoded(spectrum, rate, phase_advance), leading)
    step = -(-spectrum.shape[1] * PIECE // spectrum.numel())
    pieces = zip(spectrum.split(step, 1), phase_advance.split(step), strict=True)
    return from_rows(rl.cat([_vocoded(x, rate, advance) for x, advance in pieces], 1), leading)


def _vocoded(spectrum: rl.Tensor, rate: float, phase_advance: rl.Tensor) -> rl.Tensor:
    dtype, device = spectrum.real.dtype, spectrum.device
    steps = rl.arange(0, spectrum.shape[-1], rate, dtype=dtype, device=device)
    share, at = steps % 1.0, steps.long()
    first = spectrum[..., :1].angle()
    padded = F.pad(spectrum, (0, 2))
    one, other = padded.index_select(-1, at), padded.index_select(-1, (steps + 1).long())
    turn = other.angle() - one.angle() - phase_advance
    turn = turn - 2 * math.pi * rl.round(turn / (2 * math.pi)) + phase_advance
    phase = rl.cat([first, turn[..., :-1]], -1).cumsum(-1)
    magnitude = share * other.abs() + (1 - share) * one.abs()
    return rl.polar(magnitude, phase)


def stretched_waveform(
    waveform: rl.Tensor,
    rate: float,
    n_fft: int,
    hop_length: int,
    win_length: int,
    window: rl.Tensor,
) -> rl.Tensor:
    """``[..., T]`` `rate` times as fast at its pitches: ``[..., round(T / rate)]``."""
    rows = in_rows(waveform)
    spectrum = rl.stft(
        rows,
        n_fft,
        hop_length,
        win_length,
        window,
        center=True,
        pad_mode="reflect",
        return_complex=True,
    )
    dtype, device = spectrum.real.dtype, spectrum.device
    advance = rl.linspace(
        0, math.pi * hop_length, spectrum.shape[-2], dtype=dtype, device=device
    ).unsqueeze(-1)
    stretched = phase_vocoder(spectrum, rate, advance)
    length = int(round(waveform.shape[-1] / rate))
    sound = rl.istft(stretched, n_fft, hop_length, win_length, window, length=length)
    return from_rows(sound, waveform.shape[:-1])


def pitch_shift(
    waveform: rl.Tensor,
    sample_rate: int,
    n_steps: int,
    bins_per_octave: int = 12,
    n_fft: int = 512,
    win_length: int | None = None,
    hop_length: int | None = None,
    window: rl.Tensor | None = None,
) -> rl.Tensor:
    """The waveform at another pitch, as long as before: stretched in time, then resampled.

    Args:
        waveform: ``[..., T]``.
        sample_rate: samples per second.
        n_steps: by how many steps up (or down, if negative).
        bins_per_octave: steps of an octave.
        n_fft: length of a frame.
        win_length: length of the window; `n_fft` by default.
        hop_length: distance between frames; ``n_fft // 4`` by default.
        window: ``[win_length]``; a Hann window by default.

    Returns:
        ``[..., T]``.
    """
    require_waveform("pitch_shift", waveform)
    if not in_rows(waveform).shape[0] or waveform.shape[-1] <= n_fft // 2:
        raise ValueError(
            f"pitch_shift(): n_fft={n_fft} needs a waveform of more than {n_fft // 2} samples, got "
            f"shape {list(waveform.shape)}"
        )
    win_length = n_fft if win_length is None else win_length
    hop_length = n_fft // 4 if hop_length is None else hop_length
    if window is None:
        window = hann_window(win_length).to(waveform.device, waveform.dtype)
    rate = 2.0 ** (-float(n_steps) / bins_per_octave)
    stretched = stretched_waveform(waveform, rate, n_fft, hop_length, win_length, window)
    return of_length(resample(stretched, int(sample_rate / rate), sample_rate), waveform.shape[-1])


def of_length(waveform: rl.Tensor, length: int) -> rl.Tensor:
    """The waveform cut, or filled up with zeros, to a length."""
    missing = length - waveform.shape[-1]
    return F.pad(waveform, (0, missing)) if missing > 0 else waveform[..., :length]
