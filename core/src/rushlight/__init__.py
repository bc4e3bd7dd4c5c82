"""Rushlight: deep learning in Python, all the way down."""

from rushlight._version import __version__

__all__ = ["__version__"]
