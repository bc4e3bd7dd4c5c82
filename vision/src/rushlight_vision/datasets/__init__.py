"""Data sets of images."""

from rushlight_vision.datasets.digits_sample import DigitsSample

__all__ = ["DigitsSample"]
