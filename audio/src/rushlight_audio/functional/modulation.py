"""Phaser and flanger: sounds mixed with copies of themselves whose delay swings."""

from __future__ import annotations

import math

import rushlight as rl
from rushlight_audio.functional.checks import in_rows, require_waveform
from rushlight_audio.functional.pieces import PIECE, in_one_piece

__all__ = ["flanger", "phaser"]

MODULATIONS = ("sinusoidal", "triangular")
INTERPOLATIONS = ("linear", "quadratic")
MOST_CHANNELS = 4


def _swing(sinusoidal: bool, size: int, low: float, high: float, phase: float) -> rl.Tensor:
    """One period of a sine or triangle between two numbers, in `size` steps, float64."""
    offset = int(phase / math.pi / 2 * size + 0.5)
    point = ((rl.arange(size) + offset) % size).double()
    if sinusoidal:
        share = (rl.sin(point / size * 2 * math.pi) + 1) / 2
    else:
        ramp = point * 2 / size
        quarter = (4 * point).div(size, rounding_mode="floor")
        share = rl.where(quarter == 0, ramp + 0.5, rl.where(quarter == 3, ramp - 1.5, 1.5 - ramp))
    return share * (high - low) + low


def phaser(
    waveform: rl.Tensor,
    sample_rate: int,
    gain_in: float = 0.4,
    gain_out: float = 0.74,
    delay_ms: float = 3.0,
    decay: float = 0.4,
    mod_speed: float = 0.5,
    sinusoidal: bool = True,
) -> rl.Tensor:
    """The phasing effect, limited to [-1, 1].

    Args:
        waveform: ``[..., T]``.
        sample_rate: samples per second.
        gain_in: before the effect, from 0 to 1.
        gain_out: after it, from 0 to 1e9.
        delay_ms: the largest delay in milliseconds, from 0 to 5.
        decay: of the feedback, from 0 to 0.99.
        mod_speed: swings per second, from 0.1 to 2.
        sinusoidal: swing as a sine, else as a triangle.

    Returns:
        ``[..., T]``.
    """
    require_waveform("phaser", waveform)
    length = waveform.shape[-1]
    most, period = int(delay_ms * 0.001 * sample_rate + 0.5), int(sample_rate / mod_speed + 0.5)
    swing = _swing(sinusoidal, period, 1.0, float(most), math.pi / 2)
    table = (most + 1 - (swing + 0.5).long()).clamp(min=1).to(waveform.device)
    delays = table.repeat(-(-length // period))[:length].reshape(1, length, 1)
    gains = rl.tensor(decay, dtype=waveform.dtype, device=waveform.device).expand(1, length, 1)
    rows = in_rows(waveform).unsqueeze(1) * gain_in
    found = rl.signal.varying_feedback(rows, gains, delays) * gain_out
    return found.clamp(-1, 1).reshape(waveform.shape)


def flanger(
    waveform: rl.Tensor,
    sample_rate: int,
    delay: float = 0.0,
    depth: float = 2.0,
    regen: float = 0.0,
    width: float = 71.0,
    speed: float = 0.5,
    phase: float = 25.0,
    modulation: str = "sinusoidal",
    interpolation: str = "linear",
) -> rl.Tensor:
    """The flanging effect, limited to [-1, 1].

    Args:
        waveform: ``[..., channels, T]``, at most 4 channels.
        sample_rate: samples per second.
        delay: the smallest delay in milliseconds, from 0 to 30.
        depth: how much the delay swings, in milliseconds, from 0 to 10.
        regen: feedback in percent, from -95 to 95.
        width: share of the delayed sound in percent, from 0 to 100.
        speed: swings per second, from 0.1 to 10.
        phase: shift of the swing between neighbouring channels, in percent of a period.
        modulation: ``"sinusoidal"`` or ``"triangular"``.
        interpolation: of the sound between samples: ``"linear"`` or ``"quadratic"``.

    Returns:
        ``[..., channels, T]``.
    """
    require_waveform("flanger", waveform, least=2)
    _require_flanger(waveform, modulation, interpolation)
    most = int((delay + depth) / 1000 * sample_rate + 0.5)
    lowest = math.floor(delay / 1000 * sample_rate + 0.5)
    period = int(sample_rate / speed)
    swing = _swing(modulation == "sinusoidal", period, lowest, float(most), 3 * math.pi / 2)
    table = _interpolated(waveform, swing, phase / 100, interpolation)
    feedback, mixed = regen / 100, width / 100
    direct = 1 / (1 + mixed)
    mixed = mixed * direct * (1 - abs(feedback))
    rows, length = in_rows(waveform, 2), waveform.shape[-1]
    pieces = [(0, length)] if feedback else _pieces(rows, table[0].shape[-1])
    found = []
    for first, last in pieces:
        delayed = _delayed(rows[..., :last], first, *table, feedback)
        found.append((rows[..., first:last] * direct + delayed * mixed).clamp(-1, 1))
    whole = found[0] if len(found) == 1 else rl.cat(found, -1)
    return whole.reshape(waveform.shape)


def _require_flanger(waveform: rl.Tensor, modulation: str, interpolation: str) -> None:
    for name, value, known in (
        ("modulation", modulation, MODULATIONS),
        ("interpolation", interpolation, INTERPOLATIONS),
    ):
        if value not in known:
            raise ValueError(f"flanger(): {name} must be one of {known}, got {value!r}")
    if waveform.shape[-2] > MOST_CHANNELS:
        raise ValueError(
            f"flanger(): at most {MOST_CHANNELS} channels, got shape {list(waveform.shape)}"
        )


def _interpolated(
    waveform: rl.Tensor, swing: rl.Tensor, phase: float, interpolation: str
) -> tuple[rl.Tensor, rl.Tensor]:
    """Weights and whole delays ``[channels, period, terms]`` that stand for the swinging delay."""
    channels, period = waveform.shape[-2], swing.shape[0]
    shift = (rl.arange(channels) * period * phase + 0.5).long()
    place = (rl.arange(period) + shift.unsqueeze(1)) % period
    exact = swing.to(rl.float32)[place]  # as exact as torchaudio's table
    whole = exact.floor()
    part = (exact - whole).to(waveform.dtype)
    if interpolation == "linear":
        weights = [1 - part, part]
    else:  # the parabola through three samples
        weights = [(part - 1) * (part - 2) / 2, part * (2 - part), part * (part - 1) / 2]
    stacked = rl.stack(weights, -1).to(waveform.device)
    delays = whole.long().unsqueeze(-1) + rl.arange(len(weights))
    return stacked, delays.to(waveform.device)


def _pieces(rows: rl.Tensor, terms: int) -> list[tuple[int, int]]:
    """The first samples of pieces of rows ``[N, channels, T]``, and the ones behind their last."""
    length = rows.shape[-1]
    if in_one_piece(rows, rows.numel() * terms):
        return [(0, length)]
    step = -(-PIECE * length // (rows.numel() * terms))
    return [(first, min(first + step, length)) for first in range(0, length, step)]


def _delayed(
    rows: rl.Tensor, first: int, weights: rl.Tensor, delays: rl.Tensor, feedback: float
) -> rl.Tensor:
    """The swinging copy of rows ``[N, channels, T]`` from sample `first` on, part of which is fed
    back into what is copied."""
    at = rl.arange(first, rows.shape[-1], device=rows.device)
    place = at % delays.shape[1]
    weights, delays = weights.index_select(1, place), delays.index_select(1, place)
    if feedback:
        # What is fed back is a sample old.
        gains = rl.nn.functional.pad(weights * feedback, (0, 0, 1, 0))[:, :-1]
        later = rl.nn.functional.pad(delays + 1, (0, 0, 1, 0), value=1)[:, :-1]
        rows = rl.signal.varying_feedback(rows, gains, later)
    found = rl.zeros_like(rows[..., first:])
    for term in range(weights.shape[-1]):
        source = at - delays[..., term]
        taken = rows.gather(2, source.clamp(min=0).expand_as(found))
        found = found + taken * weights[..., term] * (source >= 0)
    return found
