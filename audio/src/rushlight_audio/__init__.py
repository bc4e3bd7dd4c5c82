"""Sound for Rushlight: input and output, resampling, spectrograms, transforms and models."""

from rushlight_audio import functional, io, models, transforms
from rushlight_audio._version import __version__
from rushlight_audio.io import AudioMetaData, info, load, save

__all__ = [
    "AudioMetaData",
    "__version__",
    "functional",
    "info",
    "io",
    "load",
    "models",
    "save",
    "transforms",
]
