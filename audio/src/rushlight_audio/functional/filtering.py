"""Filters and effects on waveforms, under torchaudio's module path."""

from rushlight_audio.functional.biquads import (
    allpass_biquad,
    band_biquad,
    bandpass_biquad,
    bandreject_biquad,
    bass_biquad,
    deemph_biquad,
    equalizer_biquad,
    highpass_biquad,
    lowpass_biquad,
    riaa_biquad,
    treble_biquad,
)
from rushlight_audio.functional.effects import contrast, dcshift, dither, gain, overdrive
from rushlight_audio.functional.modulation import flanger, phaser
from rushlight_audio.functional.recursion import biquad, filtfilt, lfilter
from rushlight_audio.functional.voice_activity import vad

__all__ = [
    "allpass_biquad",
    "band_biquad",
    "bandpass_biquad",
    "bandreject_biquad",
    "bass_biquad",
    "biquad",
    "contrast",
    "dcshift",
    "deemph_biquad",
    "dither",
    "equalizer_biquad",
    "filtfilt",
    "flanger",
    "gain",
    "highpass_biquad",
    "lfilter",
    "lowpass_biquad",
    "overdrive",
    "phaser",
    "riaa_biquad",
    "treble_biquad",
    "vad",
]
