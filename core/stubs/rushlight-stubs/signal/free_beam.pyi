# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from collections.abc import Callable
from rushlight._words import _int
from rushlight.signal.beam_frames import BeamFrames
from rushlight.signal.beam_frames import BeamOptions
from typing import Any

class FreeBeam(BeamFrames):
    def __init__(self, options: BeamOptions, ask: Callable[[list[_int], list[_int]], tuple[Any, Any]] | None = ..., row: Callable[[_int], Any] | None = ..., state: _int = ...) -> None: ...
