"""Timing of single statements."""

from __future__ import annotations

from rushlight.refusals import rest_of
from rushlight.utils.benchmark.timer import Measurement, Timer

__all__ = ["Measurement", "Timer"]

__getattr__ = rest_of(__name__)
