# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from rushlight._words import _int
from typing import Any

from rushlight.export.serialization.values import FormatError as FormatError
def load(f: Any, *, extra_files: Any = ..., expected_opset_version: Any = ...) -> Any: ...
def save(ep: Any, f: Any, *, extra_files: Any = ..., opset_version: Any = ..., pickle_protocol: _int = ...) -> None: ...
