"""Effects on when a sound begins and ends."""

from __future__ import annotations

import math

import rushlight as rl
from rushlight_audio.sox_effects.sound import Arguments, Sound, effect


@effect("trim", "{[=|-]position}")
def trim(sound: Sound, words: Arguments) -> Sound:
    """Keep what is between the first position and the second, the third and the fourth, ...; a
    position counts from the one before it, with ``=`` from the beginning, with ``-`` from the
    end."""
    if not words:
        raise words.fault("a position is missing")
    places: list[int] = []
    at = 0
    for word in words.rest():
        at = _position(words, word, sound, at)
        if places and at < places[-1]:
            raise words.fault(f"{word!r} is before the position before it")
        places.append(min(at, sound.length))
    places += [sound.length] * (len(places) % 2)
    parts = [sound.samples[:, a:b] for a, b in zip(places[::2], places[1::2], strict=True)]
    return sound.of(rl.cat(parts, 1))


def _position(words: Arguments, word: str, sound: Sound, before: int) -> int:
    if word[:1] == "=":
        return words.samples(word[1:], sound.rate, "a position")
    if word[:1] == "-":
        found = sound.length - words.samples(word[1:], sound.rate, "a position")
        if found < 0:
            raise words.fault(f"{word!r} is before the beginning")
        return found
    return before + words.samples(word.removeprefix("+"), sound.rate, "a position")


@effect("pad", "{length[@position]}")
def pad(sound: Sound, words: Arguments) -> Sound:
    """Add silence: the first length without a position at the beginning, the second at the end."""
    specs = words.rest()
    added: list[tuple[int, int]] = []
    for number, spec in enumerate(specs):
        size, sign, position = spec.partition("@")
        place = 0 if number == 0 else sound.length
        if sign:
            place = words.samples(position, sound.rate, "a position")
        added.append((place, words.samples(size, sound.rate, "a length")))
    if [place for place, _ in added] != sorted(place for place, _ in added):
        raise words.fault("the positions must rise")
    parts: list[rl.Tensor] = []
    done = 0
    for place, length in added:
        if place > sound.length:
            raise words.fault(f"a position is behind the end, {sound.length} samples")
        silence = rl.zeros(len(sound.samples), length, dtype=rl.float64)
        parts += [sound.samples[:, done:place], silence]
        done = place
    return sound.of(rl.cat([*parts, sound.samples[:, done:]], 1))


@effect("reverse")
def reverse(sound: Sound, words: Arguments) -> Sound:
    """From the end to the beginning."""
    return sound.of(sound.samples.flip(1))


@effect("repeat", "[count (1)]")
def repeat(sound: Sound, words: Arguments) -> Sound:
    """Once more, or so many times more."""
    count = words.number("count", 1.0, low=0)
    if count != int(count):
        raise words.fault(f"count must be an integer, got {count:g}")
    return sound.of(sound.samples.repeat(1, int(count) + 1))


_SHAPES = {
    "t": lambda part: part,
    "q": lambda part: rl.sin(part * (math.pi / 2)),
    "h": lambda part: (1 - rl.cos(part * math.pi)) / 2,
    "l": lambda part: rl.pow(0.1, (1 - part) * 5),
    "p": lambda part: 1 - (1 - part) ** 2,
}


@effect("fade", "[q|h|t|l|p] fade-in-length [stop-position [fade-out-length]]")
def fade(sound: Sound, words: Arguments) -> Sound:
    """From silence and back to it: by a quarter or half of a sine, a triangle, a logarithm (the
    default), a parabola."""
    kind = words.word("type") if words.peek() in _SHAPES else "l"
    begin = words.samples(words.word("fade-in-length"), sound.rate)
    samples = sound.samples.clone()
    stop = sound.length
    if words:
        given = _position(words, words.word("stop-position"), sound, 0)
        stop = min(given, sound.length) if given else sound.length
        end = words.samples(words.word("fade-out-length", "0s"), sound.rate) or begin
        if begin + end > stop:
            raise words.fault(f"the fades have {begin + end} samples, the sound {stop}")
        samples = samples[:, :stop].clone()
        out = rl.arange(end, 0, -1, dtype=rl.float64)
        samples[:, stop - end :] *= _SHAPES[kind](out / end) if end else 1.0
    begin = min(begin, stop)
    if begin:
        samples[:, :begin] *= _SHAPES[kind](rl.arange(begin, dtype=rl.float64) / begin)
    return sound.of(samples)


_WINDOW = 50  # RMS is taken over this part of a second


@effect(
    "silence",
    "[-l] above-periods [duration threshold[d|%]] [below-periods duration threshold[d|%]]",
)
def silence(sound: Sound, words: Arguments) -> Sound:
    """Remove silence from the beginning; with below-periods from the end, with a negative number
    from the middle too; -l leaves `duration` of it there."""
    keeps = bool(words.flags("l"))
    above = int(words.number("above-periods", low=0))
    start = _span(sound, words) if above else (0, 0.0)
    below = int(words.number("below-periods", 0.0)) if words else 0
    stop = _span(sound, words) if below else (0, 0.0)
    samples = sound.samples
    if above:
        samples = samples[:, _begin(sound.of(samples), above, *start) :]
    if below:
        rest = sound.of(samples)
        samples = _without_pauses(rest, abs(below), below < 0, stop, start, above, keeps)
    return sound.of(samples)


def _span(sound: Sound, words: Arguments) -> tuple[int, float]:
    """A duration in samples and a threshold as an amplitude."""
    length = words.samples(words.word("duration"), sound.rate, "duration")
    word = words.word("threshold")
    if word.endswith("d"):
        return length, 10 ** (words.as_number(word[:-1], "threshold", high=0) / 20)
    return length, words.as_number(word.removesuffix("%"), "threshold", 0, 100) / 100


def _is_loud(sound: Sound, threshold: float) -> list[bool]:
    """Whether the RMS of the last 20 ms is above the threshold, in any channel."""
    size = max(1, int(sound.rate / _WINDOW))
    power = rl.cat([rl.zeros(len(sound.samples), size, dtype=rl.float64), sound.samples**2], 1)
    total = power.cumsum(1)
    mean = (total[:, size:] - total[:, :-size]).clamp(min=0) / size
    return (mean.sqrt().amax(0) > threshold).tolist()


def _runs(loud: list[bool], begin: int) -> list[tuple[bool, int, int]]:
    """Stretches of the same value: (value, begin, end)."""
    found, at = [], begin
    for place in range(begin + 1, len(loud) + 1):
        if place == len(loud) or loud[place] != loud[at]:
            found.append((loud[at], at, place))
            at = place
    return found if begin < len(loud) else []


def _begin(sound: Sound, periods: int, length: int, threshold: float) -> int:
    """Where the sound begins: with the `periods`-th stretch of `length` samples that are loud."""
    count = 0
    for value, begin, end in _runs(_is_loud(sound, threshold), 0):
        stretches = (end - begin) // max(length, 1) if value else 0
        if count + stretches >= periods:
            return begin + (periods - count - 1) * length
        count += stretches
    return sound.length


def _without_pauses(
    sound: Sound,
    periods: int,
    restarts: bool,
    stop: tuple[int, float],
    start: tuple[int, float],
    above: int,
    keeps: bool,
) -> rl.Tensor:
    """End at the `periods`-th silence of the length, or, with `restarts`, go on behind it."""
    loud = _is_loud(sound, stop[1])
    parts, at, count = [], 0, 0
    for value, begin, end in _runs(loud, 0):
        if value or begin < at or end - begin < max(stop[0], 1):
            continue
        count += 1
        if count < periods:
            continue
        parts.append(sound.samples[:, at : begin + (stop[0] if keeps else 0)])
        count = 0
        if not restarts:
            return rl.cat(parts, 1)
        rest = sound.of(sound.samples[:, end:])
        at = end + (_begin(rest, above, *start) if above else 0)
    return rl.cat([*parts, sound.samples[:, at:]], 1)
