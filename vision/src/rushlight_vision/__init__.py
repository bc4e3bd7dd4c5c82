"""Images for Rushlight: input and output, transforms, data sets and models."""

from rushlight_vision import datasets
from rushlight_vision._version import __version__

__all__ = ["__version__", "datasets"]
