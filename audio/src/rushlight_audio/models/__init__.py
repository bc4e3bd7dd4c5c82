"""Models of sound."""

from rushlight_audio.models.spectrogram_classifier import SpectrogramClassifier

__all__ = ["SpectrogramClassifier"]
