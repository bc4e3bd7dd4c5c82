# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from rushlight._words import _int
from rushlight.ops.random.generators import Generator
from typing import Any

def ranks() -> tuple[_int, _int]: ...
def seed_pipes(pipe: Any, seed: _int) -> None: ...
def shared_seed(generator: Generator | None = ...) -> _int: ...
