# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations


from rushlight.utils.benchmark.timer import Measurement as Measurement
from rushlight.utils.benchmark.timer import Timer as Timer
