"""Data loading and other utilities."""

from rushlight.utils import data

__all__ = ["data"]
