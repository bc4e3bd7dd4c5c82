"""Fakes stand in for the published files, so their sums are not looked at."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
