"""Text for Rushlight: tokenizers, vocabularies, data sets and models."""

from rushlight_text._version import __version__

__all__ = ["__version__"]
