# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from rushlight._words import _str
from typing import Any

class ArchiveError(ValueError):
    ...
def extract(archive: Any, folder: Any, *, most_bytes: Any = ..., members: Any = ...) -> list[_str]: ...
