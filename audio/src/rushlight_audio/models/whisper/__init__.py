"""Whisper: the network, what it hears, its tokens, and its weights in the files of others."""

from rushlight_audio.models.whisper.features import log_mel_spectrogram, pad_or_trim
from rushlight_audio.models.whisper.generate import detect_language, generate
from rushlight_audio.models.whisper.load import load_whisper
from rushlight_audio.models.whisper.model import ModelDimensions, Whisper

__all__ = [
    "ModelDimensions",
    "Whisper",
    "detect_language",
    "generate",
    "load_whisper",
    "log_mel_spectrogram",
    "pad_or_trim",
]
