"""Transforms as modules, with torchaudio's names, defaults and buffers."""

from rushlight_audio.transforms.decibel import AmplitudeToDB
from rushlight_audio.transforms.masking import FrequencyMasking, TimeMasking
from rushlight_audio.transforms.mel import MFCC, MelScale, MelSpectrogram
from rushlight_audio.transforms.resample import Resample
from rushlight_audio.transforms.spectrogram import Spectrogram

__all__ = [
    "AmplitudeToDB",
    "FrequencyMasking",
    "MFCC",
    "MelScale",
    "MelSpectrogram",
    "Resample",
    "Spectrogram",
    "TimeMasking",
]
