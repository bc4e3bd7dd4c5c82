# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from os import PathLike
from rushlight._words import _int
from rushlight._words import _str
from rushlight.export.exported_program import ExportedProgram
from typing import Any
from typing import IO

from rushlight.export.serialization.values import FormatError as FormatError
def load(f: _str | PathLike[_str] | IO[bytes], *, extra_files: dict[_str, Any] | None = ..., expected_opset_version: dict[_str, _int] | None = ...) -> ExportedProgram: ...
def save(ep: ExportedProgram, f: _str | PathLike[_str] | IO[bytes], *, extra_files: dict[_str, Any] | None = ..., opset_version: dict[_str, _int] | None = ..., pickle_protocol: _int = ...) -> None: ...
