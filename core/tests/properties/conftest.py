"""Property tests of kernels: Hypothesis draws shapes, layouts, threads; float64 is the truth."""

from __future__ import annotations

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))  # drawn
