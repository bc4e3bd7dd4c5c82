"""Effects on how fast and how high a sound is."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

import rushlight as rl
from rushlight_audio import functional
from rushlight_audio.sox_effects.convolution import convolved
from rushlight_audio.sox_effects.sound import Arguments, Sound, effect

# Width of the resampling filter by quality, and the part of the band that it leaves alone.
_QUALITIES = {"q": (16, 0.9), "l": (16, 0.9), "m": (32, 0.95), "h": (64, 0.95), "v": (128, 0.95)}


@effect("rate", "[-q|-l|-m|-h|-v] rate")
def rate(sound: Sound, words: Arguments) -> Sound:
    """Another sample rate; -q is quick, -v very good, -h (the default) good."""
    flags = words.flags("qlmhvIMLs") & set(_QUALITIES)
    width, rolloff = _QUALITIES[max(flags, key="qlmhv".index) if flags else "h"]
    wanted = words.number("rate", low=1, suffix="k")
    ratio = wanted / sound.rate
    if ratio == 1:
        return sound.of(sound.samples, wanted)
    simple = Fraction(ratio).limit_denominator(_SIMPLE)
    length = int(sound.length * ratio + 0.5)
    if abs(simple / ratio - 1) < 1e-9 and simple.numerator <= _SIMPLE:
        found = _multiplied(sound.samples, simple, width, rolloff)
    else:
        found = interpolated(sound.samples, ratio, width, rolloff)
    found = rl.nn.functional.pad(found, (0, max(0, length - found.shape[1])))
    return sound.of(found[:, :length], wanted)


_SIMPLE = 500  # terms of a ratio up to which every phase has its filter
_OVER = 4  # how much finer samples are between which curves are laid
_POINTS = 8


def _multiplied(samples: rl.Tensor, ratio: Fraction, width: int, rolloff: float) -> rl.Tensor:
    return functional.resample(
        samples,
        ratio.denominator,
        ratio.numerator,
        lowpass_filter_width=width,
        rolloff=rolloff,
        resampling_method="sinc_interp_kaiser",
    )


def interpolated(samples: rl.Tensor, ratio: float, width: int, rolloff: float) -> rl.Tensor:
    """Samples at any ratio: four times finer by a filter, then by Lagrange's curves through eight
    points; what is too high for a lower rate is filtered off first."""
    length = int(samples.shape[1] * ratio + 0.5)
    if ratio < 1:
        samples = _below(samples, ratio * rolloff, math.ceil(width / ratio))
    fine = _multiplied(samples, Fraction(_OVER), width, rolloff)
    place = rl.arange(length, dtype=rl.float64) * (_OVER / ratio)
    whole = place.floor()
    part = place - whole
    before = _POINTS // 2 - 1
    fine = rl.nn.functional.pad(fine, (before, _POINTS))
    first = whole.long().clamp(max=fine.shape[1] - _POINTS)
    found = rl.zeros(len(samples), length, dtype=rl.float64)
    for point in range(_POINTS):
        weight = rl.ones(length, dtype=rl.float64)
        for other in range(_POINTS):
            if other != point:
                weight = weight * (part - (other - before)) / (point - other)
        found += fine[:, first + point] * weight
    return found


def _below(samples: rl.Tensor, edge: float, width: int) -> rl.Tensor:
    """What is below an edge, as a part of half the rate."""
    time = rl.arange(-width, width + 1, dtype=rl.float64)
    window = rl.kaiser_window(2 * width + 1, periodic=False, beta=14.769656459379492)
    return convolved(samples, rl.sinc(time * edge) * edge * window.double(), width)


@effect("speed", "factor[c]")
def speed(sound: Sound, words: Arguments) -> Sound:
    """Play faster and higher: the rate that the sound has is multiplied; ``rate`` behind it gives
    it the former one. With ``c`` the number is of cents."""
    word = words.word("factor")
    if word.endswith("c"):
        factor = 2 ** (words.as_number(word[:-1], "factor") / 1200)
    else:
        factor = words.as_number(word, "factor", low=1e-3)
    return sound.of(sound.samples, sound.rate * factor)


@effect("upsample", "[factor (2)]")
def upsample(sound: Sound, words: Arguments) -> Sound:
    """Put zeros between samples."""
    factor = int(words.number("factor", 2.0, 1, 256))
    found = rl.zeros(len(sound.samples), sound.length, factor, dtype=rl.float64)
    found[:, :, 0] = sound.samples
    return sound.of(found.flatten(1), sound.rate * factor)


@effect("downsample", "[factor (2)]")
def downsample(sound: Sound, words: Arguments) -> Sound:
    """Keep every second sample, or every n-th."""
    factor = int(words.number("factor", 2.0, 1, 16384))
    return sound.of(sound.samples[:, ::factor], sound.rate / factor)


# By the kind of sound: milliseconds of a segment, the power of the factor that shortens it, and
# what parts of it overlaps and searches are.
_PROFILES = {
    "": (82.0, 0.0, 6.833, 5.587),
    "m": (82.0, 1.0, 7.0, 6.0),
    "s": (35.0, 0.33, 2.5, 2.14),
    "l": (20.0, 1.0, 2.0, 2.0),
}


@effect("tempo", "[-q] [-m|-s|-l] factor [segment [search [overlap]]]")
def tempo(sound: Sound, words: Arguments) -> Sound:
    """Play faster at the same pitch: overlapping segments where the waveforms fit best (WSOLA)."""
    flags = words.flags("qmsl")
    factor = words.number("factor", low=0.1, high=100)
    return sound.of(_stretched(sound, words, factor, flags))


@effect("pitch", "[-q] cents [segment [search [overlap]]]")
def pitch(sound: Sound, words: Arguments) -> Sound:
    """Another pitch at the same tempo: stretched, and the rate multiplied; ``rate`` behind it
    gives the sound the former one."""
    flags = words.flags("q")
    ratio = 2 ** (words.number("cents", low=-12000, high=12000) / 1200)
    return sound.of(_stretched(sound, words, 1 / ratio, flags), sound.rate * ratio)


def _stretched(sound: Sound, words: Arguments, factor: float, flags: set[str]) -> rl.Tensor:
    segment, search, overlap = _lengths(words, factor, flags)
    if factor == 1:
        return sound.samples
    per = sound.rate / 1000
    whole = int(segment * per + 0.5)
    room, cross = int(search * per + 0.5), max(int(overlap * per + 4.5), 16)
    cross &= ~7  # a multiple of eight
    if cross * 2 > whole:
        cross -= 8
    return _joined(sound.samples.numpy(), factor, whole, room, cross, "q" in flags)


def _lengths(words: Arguments, factor: float, flags: set[str]) -> tuple[float, float, float]:
    """Milliseconds of segment, search and overlap: given, or those of a profile."""
    base, power, overlaps, searches = _PROFILES[next((f for f in "msl" if f in flags), "")]
    segment = max(10.0, base / max(factor**power, 1.0))
    if words:
        segment = words.number("segment", low=10, high=120)
    search = words.number("search", segment / searches, 0, 30)
    overlap = words.number("overlap", min(segment / overlaps, search or 30.0), 0, 30)
    return segment, search, overlap


def _joined(
    samples: np.ndarray, factor: float, segment: int, search: int, overlap: int, quick: bool
) -> rl.Tensor:
    """Segments of the sound, each where it continues the one before it best."""
    channels, length = samples.shape
    wanted = int(length / factor + 0.5)
    tail = np.zeros((channels, segment + search + overlap + int(segment * factor) + 1))
    source = np.concatenate([np.zeros((channels, search // 2)), samples, tail], 1)
    rise = np.arange(overlap) / overlap
    found = [source[:, search // 2 : search // 2 + segment - overlap]]
    end = source[:, search // 2 + segment - overlap : search // 2 + segment]
    made, count = segment - overlap, 1
    while made < wanted:
        begin = int(count * factor * (segment - overlap) + 0.5)
        if begin + segment + search > source.shape[1]:
            break
        begin += _best(source, begin, search, end, quick)
        cross = end * (1 - rise) + source[:, begin : begin + overlap] * rise
        found += [cross, source[:, begin + overlap : begin + segment - overlap]]
        end = source[:, begin + segment - overlap : begin + segment]
        made += segment - overlap
        count += 1
    joined = np.concatenate([*found, end], 1)[:, :wanted]
    joined = np.pad(joined, ((0, 0), (0, max(0, wanted - joined.shape[1]))))
    return rl.from_numpy(np.ascontiguousarray(joined))


def _best(source: np.ndarray, begin: int, search: int, end: np.ndarray, quick: bool) -> int:
    """The place where what follows is least different from how the last segment ended."""
    if search < 2:
        return 0
    size = end.shape[1]
    windows = np.lib.stride_tricks.sliding_window_view(
        source[:, begin : begin + search + size], size, axis=1
    )
    if not quick:
        different = ((windows[:, :search] - end[:, None]) ** 2).sum((0, 2))
        return int(np.argmin(different))

    def difference(place: int) -> float:
        return float(((windows[:, place] - end) ** 2).sum())

    # In steps of 64, 16, 4 and 1 around the best so far.
    best = (search + 1) // 2
    least = difference(best)
    for step in (64, 16, 4, 1):
        middle = best
        for sign in (-1, 1):
            for times in range(1, 4 if step < 64 else search):
                place = middle + sign * times * step
                if not 0 <= place < search:
                    break
                found = difference(place)
                if found < least:
                    least, best = found, place
    return best
