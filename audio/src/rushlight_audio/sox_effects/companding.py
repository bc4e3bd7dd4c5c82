"""The effect that makes the range of levels narrower or wider."""

from __future__ import annotations

import math
from dataclasses import dataclass

import rushlight as rl
from rushlight_audio.sox_effects.sound import Arguments, Sound, effect

_NEPER = math.log(10) / 20  # of a decibel
_LEAST_KNEE = 0.01  # dB


@effect(
    "compand",
    "attack,decay{,attack,decay} [knee-dB:]in-dB{,out-dB,in-dB} [gain-dB [volume-dB [delay]]]",
)
def compand(sound: Sound, words: Arguments) -> Sound:
    """Change levels by a curve of points, with round corners where a knee is given."""
    times = _numbers(words, words.word("attack,decay"), "attack,decay")
    knee, colon, points = words.word("the curve").rpartition(":")
    radius = words.as_number(knee, "knee-dB", 0) if colon else 0.0
    curve = _curve(words, _numbers(words, points, "the curve"), max(radius, _LEAST_KNEE))
    after = words.number("gain-dB", 0.0) * _NEPER
    first = math.exp(words.number("volume-dB", 0.0) * _NEPER)
    delay = int(words.number("delay", 0.0, low=0) * sound.rate)
    pairs = list(zip(times[::2], times[1::2], strict=False))
    channels = len(sound.samples)
    if len(times) % 2 or len(pairs) not in (1, channels):
        raise words.fault(f"attack and decay are needed once or {channels} times, got {times}")
    loud = sound.samples.abs()
    tracked = loud.amax(0, keepdim=True) if len(pairs) == 1 else loud
    levels = rl.stack(
        [
            _level(tracked[at], attack, decay, sound.rate, first)
            for at, (attack, decay) in enumerate(pairs)
        ]
    )
    gains = rl.exp(_on(curve, rl.log(levels.clamp(min=1e-30))) + after)
    if delay:
        # The gain is that of `delay` samples later, at the end that of silence added.
        gains = rl.cat([gains[:, delay:], gains[:, -1:].expand(-1, min(delay, sound.length))], 1)
    return sound.of(sound.samples * gains[:, : sound.length])


def _numbers(words: Arguments, text: str, what: str) -> list[float]:
    return [words.as_number(part, what) for part in text.split(",")]


@dataclass(frozen=True)
class _Piece:
    """From a level on, the gain is ``height + d * (slope + bend * d)`` at `d` behind it."""

    begin: float
    height: float
    slope: float
    bend: float = 0.0


def _curve(words: Arguments, points: list[float], knee: float) -> list[_Piece]:
    """The gain in nepers over the level in nepers: lines between points, and rounded corners."""
    if len(points) % 2:
        points = [points[0], *points]  # the first output is the first input
    pairs = list(zip(points[::2], points[1::2], strict=True))
    if any(a[0] >= b[0] for a, b in zip(pairs, pairs[1:], strict=False)) or pairs[-1][0] > 0:
        raise words.fault(f"the levels of the curve must rise, to 0 at most, got {points}")
    if pairs[-1][0] < 0:
        pairs.append((0.0, 0.0))
    corners = [(level * _NEPER, (out - level) * _NEPER) for level, out in pairs]
    radius = knee * _NEPER
    # Below the first point the gain stays.
    before = (corners[0][0] - 2 * radius, corners[0][1])
    pieces = [_Piece(*before, 0.0)]
    for corner, after in zip(corners, corners[1:], strict=False):
        start = _towards(corner, before, radius, 1.0)
        stop = _towards(corner, after, radius, 0.5)
        pieces += [_rounded(start, corner, stop), _Piece(*stop, _slope(stop, after))]
        before = stop
    return pieces


def _slope(first: tuple[float, float], second: tuple[float, float]) -> float:
    return (second[1] - first[1]) / (second[0] - first[0])


def _towards(
    corner: tuple[float, float], other: tuple[float, float], radius: float, share: float
) -> tuple[float, float]:
    """The point that is `radius` away from a corner, or the share of the whole way to another."""
    across, up = other[0] - corner[0], other[1] - corner[1]
    length = math.hypot(across, up)
    part = min(radius, length * share) / length
    return corner[0] + across * part, corner[1] + up * part


def _rounded(
    start: tuple[float, float], corner: tuple[float, float], stop: tuple[float, float]
) -> _Piece:
    """A parabola from `start` to `stop` through the middle of both and the corner."""
    middle = tuple(sum(values) / 3 for values in zip(start, corner, stop, strict=True))
    first, second = middle[0] - start[0], stop[0] - start[0]
    bend = (_slope(start, stop) - (middle[1] - start[1]) / first) / (second - first)
    return _Piece(*start, (middle[1] - start[1]) / first - bend * first, bend)


def _on(curve: list[_Piece], levels: rl.Tensor) -> rl.Tensor:
    """The gain at levels."""
    found = rl.full_like(levels, curve[0].height)
    for piece in curve[1:]:
        behind = levels - piece.begin
        gain = piece.height + behind * (piece.slope + piece.bend * behind)
        found = rl.where(behind > 0, gain, found)
    return found


def _level(row: rl.Tensor, attack: float, decay: float, rate: float, first: float) -> rl.Tensor:
    """A level that rises by one time constant and falls by another."""
    up, down = (
        1 - math.exp(-1 / (rate * each)) if each > 1 / rate else 1.0 for each in (attack, decay)
    )
    level, found = first, []
    for value in row.tolist():
        level += (value - level) * (up if value > level else down)
        found.append(level)
    return rl.tensor(found, dtype=rl.float64)
