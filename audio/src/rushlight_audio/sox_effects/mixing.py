"""Effects on channels."""

from __future__ import annotations

import re

import rushlight as rl
from rushlight_audio.sox_effects.sound import Arguments, Sound, effect

_IN = re.compile(r"(\d*)(-?)(\d*)(?:([vpi])(-?[\d.eE+-]*))?")


@effect("remix", "[-a|-m|-p] {in{,in}|0}; in: channel[-channel][v|p|i[volume]]")
def remix(sound: Sound, words: Arguments) -> Sound:
    """Channels as sums of channels: ``1,2`` is the mean of both, ``1v0.5,2v0.5`` says how much,
    ``-`` is the mean of all, ``0`` is silence."""
    flags = words.flags("amp")
    if not words:
        raise words.fault("a channel is missing")
    rows = [_weights(words, spec, len(sound.samples), flags) for spec in words.rest()]
    return sound.of(rl.tensor(rows, dtype=rl.float64) @ sound.samples)


def _weights(words: Arguments, spec: str, channels: int, flags: set[str]) -> list[float]:
    """What of each channel is in an output."""
    weights = [0.0] * channels
    if spec == "0":
        return weights
    chosen: list[tuple[int, float | None]] = []
    for part in spec.split(","):
        found = _IN.fullmatch(part)
        if found is None:
            raise words.fault(f"{part!r} is no channel")
        first, dash, last, kind, volume = found.groups()
        begin = int(first or 1)
        end = int(last or channels) if dash else begin
        if (not first and not dash) or not 1 <= begin <= end <= channels:
            raise words.fault(f"{part!r}: there are {channels} channels")
        chosen += [(at - 1, _volume(words, kind, volume)) for at in range(begin, end + 1)]
    natural = len(chosen) ** (-0.5 if "p" in flags else -1.0)
    is_given = any(volume is not None for _, volume in chosen)
    if "m" in flags or (is_given and "a" not in flags):
        natural = 1.0
    for channel, weight in chosen:
        weights[channel] += natural if weight is None else weight
    return weights


def _volume(words: Arguments, kind: str | None, volume: str | None) -> float | None:
    if kind is None:
        return None
    if kind == "v":
        return words.as_number(volume, "a volume") if volume else 1.0
    power = 10 ** (words.as_number(volume, "a volume") / 20) if volume else 1.0
    return -power if kind == "i" else power


@effect("channels", "number")
def channels(sound: Sound, words: Arguments) -> Sound:
    """Another number of channels: means of them, or copies."""
    wanted, there = int(words.number("number", low=1)), len(sound.samples)
    rows = [sound.samples[at % there :: wanted].mean(0) for at in range(wanted)]
    return sound.of(rl.stack(rows))


@effect("swap")
def swap(sound: Sound, words: Arguments) -> Sound:
    """Exchange the channels of each pair."""
    count = len(sound.samples)
    if count % 2:
        raise words.fault(f"pairs of channels are needed, there are {count}")
    order = [at ^ 1 for at in range(count)]
    return sound.of(sound.samples[order])


@effect("oops")
def oops(sound: Sound, words: Arguments) -> Sound:
    """The difference of left and right on both: what is in the middle goes."""
    if len(sound.samples) < 2:
        raise words.fault("two channels are needed, there is 1")
    return remix(sound, Arguments("remix", ["1,2i", "1,2i"]))


@effect("delay", "{time}")
def delay(sound: Sound, words: Arguments) -> Sound:
    """Delay the channels, each by its own time."""
    lengths = [words.samples(word, sound.rate) for word in words.rest()]
    if len(lengths) > len(sound.samples):
        raise words.fault(f"{len(lengths)} times for {len(sound.samples)} channels")
    total = sound.length + max(lengths, default=0)
    found = rl.zeros(len(sound.samples), total, dtype=rl.float64)
    for at in range(len(sound.samples)):
        begin = lengths[at] if at < len(lengths) else 0
        found[at, begin : begin + sound.length] = sound.samples[at]
    return sound.of(found)
