"""Sound for Rushlight: input and output, spectrograms, transforms and models."""

from rushlight_audio._version import __version__

__all__ = ["__version__"]
