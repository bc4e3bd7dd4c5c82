"""All tests: arrays between fences (:mod:`fences`)."""

from __future__ import annotations

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import fences  # noqa: E402

FENCES = fences.Fences() if fences.wanted() else None
