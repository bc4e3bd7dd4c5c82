"""Effects on how loud a sound is."""

from __future__ import annotations

import math
import re

import rushlight as rl
from rushlight_audio import functional
from rushlight_audio.sox_effects.sound import Arguments, Sound, effect


def _linear(decibels: float) -> float:
    return 10 ** (decibels / 20)


@effect("gain", "[-e|-b|-B] [-n] [-l] [gain-dB]")
def gain(sound: Sound, words: Arguments) -> Sound:
    """Make louder by decibels; -n: to the greatest peak first; -e, -B, -b: make channels equal."""
    flags = words.flags("ebBnl")
    factor = _linear(words.number("gain-dB", 0.0))
    samples = sound.samples
    if not samples.numel():
        return sound
    peaks = samples.abs().amax(1, keepdim=True)
    if "e" in flags:
        samples = samples * _ratio(peaks.max(), peaks)
    if flags & {"b", "B"}:
        power = (samples**2).mean(1, keepdim=True).sqrt()
        samples = samples * _ratio(power.max(), power)
        excess = samples.abs().max().clamp(min=1.0)
        samples = samples / excess if "b" in flags else samples
    if "n" in flags:
        samples = samples * _ratio(rl.ones_like(peaks.max()), samples.abs().max())
    samples = samples.mul(factor)
    if "l" in flags and factor > 1:
        # A curve that is 1 at full scale and has the gain's slope at zero.
        samples = samples / (1 + (1 - 1 / factor) * samples.abs())
    return sound.of(samples)


def _ratio(top: rl.Tensor, bottom: rl.Tensor) -> rl.Tensor:
    """The quotient, 1 where there is silence."""
    return rl.where(bottom > 0, top / bottom.clamp(min=1e-30), 1.0)


@effect("norm", "[level-dB]")
def norm(sound: Sound, words: Arguments) -> Sound:
    """``gain -n``."""
    return gain(sound, Arguments("gain", ["-n", *words.rest()]))


@effect("vol", "gain [amplitude|power|dB [limiter-gain]]")
def vol(sound: Sound, words: Arguments) -> Sound:
    """Multiply by a factor, a power or decibels (``-3dB`` in one word too)."""
    word = words.word("gain")
    joined = re.fullmatch(r"(.*?)(dB|power|amplitude)", word)
    kind = joined[2] if joined else words.word("type", "amplitude")
    if kind not in ("amplitude", "power", "dB"):
        raise words.fault(f"the type must be amplitude, power or dB, got {kind!r}")
    value = words.as_number(joined[1] if joined else word, "gain")
    if kind == "dB":
        value = _linear(value)
    elif kind == "power":
        value = math.copysign(math.sqrt(abs(value)), value)
    if not words or abs(value) <= 1:
        return sound.of(sound.samples.mul(value))
    limiter = words.number("limiter-gain", low=0, high=1)
    return sound.of(_limited(sound.samples, value, limiter))


def _limited(samples: rl.Tensor, factor: float, limiter: float) -> rl.Tensor:
    """Above a level the gain is small, so that full scale stays full scale."""
    level = (1 - limiter) / (abs(factor) - limiter)
    sign = math.copysign(1.0, factor)
    high = sign * samples.sign() * (1 - limiter * (1 - samples.abs()))
    return rl.where(samples.abs() > level, high, samples * factor)


@effect("dcshift", "shift [limiter-gain]")
def dcshift(sound: Sound, words: Arguments) -> Sound:
    """Add a constant."""
    shift = words.number("shift", low=-2, high=2)
    limiter = words.number("limiter-gain", low=0, high=1) if words else None
    return sound.of(functional.dcshift(sound.samples, shift, limiter))


@effect("contrast", "[enhancement (75)]")
def contrast(sound: Sound, words: Arguments) -> Sound:
    """Make the waveform steeper, which sounds louder."""
    amount = words.number("enhancement", 75.0, 0, 100)
    return sound.of(functional.contrast(sound.samples, amount))


@effect("overdrive", "[gain (20) [colour (20)]]")
def overdrive(sound: Sound, words: Arguments) -> Sound:
    """Distort as an overdriven amplifier does."""
    louder = words.number("gain", 20.0, 0, 100)
    colour = words.number("colour", 20.0, 0, 100)
    return sound.of(functional.overdrive(sound.samples, louder, colour))


@effect("dither", "[-s]")
def dither(sound: Sound, words: Arguments) -> Sound:
    """Add the noise that hides the steps of 16 bits; -s shapes it."""
    shaped = bool(words.flags("s"))
    return sound.of(functional.dither(sound.samples, "TPDF", noise_shaping=shaped))
