"""Transforms of waveforms and spectrograms as modules, with torchaudio's names and defaults."""

from rushlight_audio.transforms.beamforming import MVDR, PSD, RTFMVDR, SoudenMVDR
from rushlight_audio.transforms.decibel import AmplitudeToDB
from rushlight_audio.transforms.features import ComputeDeltas, SlidingWindowCmn, SpectralCentroid
from rushlight_audio.transforms.levels import Fade, Loudness, MuLawDecoding, MuLawEncoding, Vol
from rushlight_audio.transforms.linear_cepstra import LFCC
from rushlight_audio.transforms.masking import FrequencyMasking, SpecAugment, TimeMasking
from rushlight_audio.transforms.mel import MFCC, MelScale, MelSpectrogram
from rushlight_audio.transforms.reconstruction import (
    GriffinLim,
    InverseMelScale,
    InverseSpectrogram,
)
from rushlight_audio.transforms.resample import Resample
from rushlight_audio.transforms.signals import (
    AddNoise,
    Convolve,
    Deemphasis,
    FFTConvolve,
    Preemphasis,
)
from rushlight_audio.transforms.spectrogram import Spectrogram
from rushlight_audio.transforms.stretching import PitchShift, Speed, SpeedPerturbation, TimeStretch
from rushlight_audio.transforms.transducing import RNNTLoss
from rushlight_audio.transforms.voice_activity import Vad

__all__ = [
    "AddNoise",
    "AmplitudeToDB",
    "ComputeDeltas",
    "Convolve",
    "Deemphasis",
    "FFTConvolve",
    "Fade",
    "FrequencyMasking",
    "GriffinLim",
    "InverseMelScale",
    "InverseSpectrogram",
    "LFCC",
    "Loudness",
    "MFCC",
    "MVDR",
    "MelScale",
    "MelSpectrogram",
    "MuLawDecoding",
    "MuLawEncoding",
    "PSD",
    "PitchShift",
    "Preemphasis",
    "RNNTLoss",
    "RTFMVDR",
    "Resample",
    "SlidingWindowCmn",
    "SoudenMVDR",
    "SpecAugment",
    "SpectralCentroid",
    "Spectrogram",
    "Speed",
    "SpeedPerturbation",
    "TimeMasking",
    "TimeStretch",
    "Vad",
    "Vol",
]
