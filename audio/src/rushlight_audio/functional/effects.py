"""Effects that bend levels: gain, offset, contrast, overdrive, dither."""

from __future__ import annotations

import functools
import math
from typing import Any

import rushlight as rl
from rushlight_audio.functional.checks import in_rows, require_waveform
from rushlight_audio.functional.pieces import in_pieces
from rushlight_audio.functional.recursion import lfilter

__all__ = ["contrast", "dcshift", "dither", "gain", "overdrive"]


def gain(waveform: rl.Tensor, gain_db: float = 1.0) -> rl.Tensor:
    """The waveform ``[..., T]`` raised by `gain_db` decibels."""
    require_waveform("gain", waveform)
    return waveform if gain_db == 0 else rl.mul(waveform, 10 ** (gain_db / 20))


def contrast(waveform: rl.Tensor, enhancement_amount: float = 75.0) -> rl.Tensor:
    """A louder sound at the same peaks, by bending the waveform ``[..., T]`` with sines.

    `enhancement_amount` is from 0 to 100; 0 bends too.
    """
    require_waveform("contrast", waveform)
    if not 0 <= enhancement_amount <= 100:
        raise ValueError(
            f"contrast(): enhancement_amount must be from 0 to 100, got {enhancement_amount}"
        )
    quarter = waveform * (math.pi / 2)
    return rl.sin(quarter + enhancement_amount / 750.0 * rl.sin(quarter * 4))


def dcshift(waveform: rl.Tensor, shift: float, limiter_gain: float | None = None) -> rl.Tensor:
    """The waveform ``[..., T]`` plus a constant, limited to [-1, 1].

    Args:
        waveform: full scale is 1.
        shift: what is added, from -2 to 2.
        limiter_gain: of the peaks that would be cut, much below 1 (0.05 or 0.02); None cuts.

    Returns:
        a new tensor of the same shape.
    """
    require_waveform("dcshift", waveform)
    limited = (waveform + shift).clamp(-1.0, 1.0)
    if limiter_gain is None or shift == 0:
        return limited
    room = abs(shift) - limiter_gain
    threshold, sign = 1.0 - room, 1.0 if shift > 0 else -1.0
    peaks = sign * waveform
    bent = (peaks - threshold) * limiter_gain / (1 - threshold) + threshold + abs(shift)
    return rl.where(peaks > threshold, sign * bent.clamp(max=threshold), limited)


def overdrive(waveform: rl.Tensor, gain: float = 20, colour: float = 20) -> rl.Tensor:
    """The distortion of an amplifier that is driven too far, limited to [-1, 1].

    Args:
        waveform: ``[..., T]``.
        gain: decibels before the distortion, from 0 to 100.
        colour: even harmonics in the sound, from 0 to 100.

    Returns:
        ``[..., T]``.
    """
    require_waveform("overdrive", waveform)
    driven = functools.partial(_bent, gain=gain, colour=colour)
    bent = in_pieces(waveform, driven)
    # Without its constant part, which `colour` added.
    options: dict[str, Any] = {"dtype": waveform.dtype, "device": waveform.device}
    feedback, forward = rl.tensor([1.0, -0.995], **options), rl.tensor([1.0, -1.0], **options)
    moving = lfilter(bent, feedback, forward, clamp=False)
    return (waveform * 0.5 + moving * 0.75).clamp(-1, 1)


def _bent(waveform: rl.Tensor, gain: float, colour: float) -> rl.Tensor:
    """A cubic between -1 and 1, constant beyond, of an amplified waveform."""
    driven = waveform.mul(10 ** (gain / 20)).add(colour / 200)
    curve = driven - driven.pow(3) / 3
    return rl.where(driven < -1, -2.0 / 3, rl.where(driven > 1, 2.0 / 3, curve))


DENSITIES = ("TPDF", "RPDF", "GPDF")
_UP, _STEP = 2.0**15 - 2, 2.0**-15  # full scale of 16 bits, and a step
_GAUSSIAN_TERMS = 6


def dither(
    waveform: rl.Tensor, density_function: str = "TPDF", noise_shaping: bool = False
) -> rl.Tensor:
    """The waveform rounded to 16 bits with noise that hides the rounding.

    Args:
        waveform: ``[..., T]``, full scale 1.
        density_function: distribution of the noise: ``"TPDF"`` triangular, ``"RPDF"`` rectangular,
            ``"GPDF"`` Gaussian; the last two take samples of the waveform at random places.
        noise_shaping: feed the error of each sample to the next.

    Returns:
        ``[..., T]``, multiples of 2 ** -15.
    """
    require_waveform("dither", waveform)
    if density_function not in DENSITIES:
        raise ValueError(
            f"dither(): density_function must be one of {DENSITIES}, got {density_function!r}"
        )
    rows = in_rows(waveform)
    if not rows.numel():
        return waveform
    rounded = rl.round(rows * _UP + _dither_noise(rows, density_function)) * _STEP
    if noise_shaping:
        error = rounded - rows
        rounded = rounded + rl.nn.functional.pad(error, (1, 0))[:, :-1]
    return rounded.reshape(waveform.shape)


def _dither_noise(rows: rl.Tensor, density: str) -> rl.Tensor:
    """Noise in steps of the last bit: a number, or one a sample for ``"TPDF"``, which has no use
    for the random place that is drawn: the same seed leaves the generator where torchaudio does."""
    first = _any_place(rows)
    if density == "TPDF":
        return _triangle(rows.shape[-1], rows.dtype, str(rows.device))
    noise: Any = rows[first]
    if density == "RPDF":
        return noise - 0.5
    for _ in range(_GAUSSIAN_TERMS):
        place = _any_place(rows)
        # torchaudio adds up in the first sample itself: drawn again, it counts as the sum so far.
        noise = noise + (noise if place == first else rows[place])
    return noise


@functools.lru_cache(maxsize=4)
def _triangle(length: int, dtype: rl.dtype, device: str) -> rl.Tensor:
    """A triangle over the whole waveform, as torchaudio has it; it takes longer than the rest."""
    with rl.inference_mode(False), rl.no_grad():
        return rl.bartlett_window(length, dtype=dtype, device=device)


def _any_place(rows: rl.Tensor) -> tuple[int, ...]:
    """The index of a random sample, which is neither in the last row nor the last of its row where
    there are more."""
    return tuple(int(rl.randint(size - 1, (1,))) if size > 1 else 0 for size in rows.shape)
