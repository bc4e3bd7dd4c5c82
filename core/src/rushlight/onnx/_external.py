"""Elements of tensors that stand in a file beside the model."""

from __future__ import annotations

import os
from pathlib import Path

from rushlight.onnx.errors import OnnxImporterError

# How often all bytes of a data file may be read: tensors may share them, but a small model must
# not ask for the same file a thousand times.
_TIMES = 2


class ExternalData:
    """Reads what the tensors of one model have outside of it, from the model's folder alone."""

    def __init__(self, path: str | None):
        self.folder = None if path is None else Path(path).resolve().parent
        self.read: dict[Path, int] = {}

    def bytes_of(self, tensor) -> bytes:
        """The elements of a tensor whose location is external."""
        entries = {entry.key: entry.value for entry in tensor.external_data}
        path = self._path(tensor.name, entries.get("location", ""))
        total = path.stat().st_size
        offset = self._number(tensor.name, entries, "offset", 0)
        length = self._number(tensor.name, entries, "length", total - offset)
        if length < 0 or offset + length > total:
            raise OnnxImporterError(
                f"the constant {tensor.name!r} reads {length} bytes at {offset} of {path.name}, "
                f"which has {total}"
            )
        self.read[path] = self.read.get(path, 0) + length
        if self.read[path] > _TIMES * total:
            raise OnnxImporterError(f"the constants read {path.name} more than {_TIMES} times over")
        with path.open("rb") as file:
            file.seek(offset)
            return file.read(length)

    def _path(self, name, location):
        """The file: a regular one inside the model's folder, links followed."""
        if self.folder is None:
            raise OnnxImporterError(
                f"the constant {name!r} is in the file {location!r} beside the model: give "
                "onnx.load the model's path"
            )
        try:
            path = (self.folder / location).resolve()
            regular = path.is_file()
        except (OSError, ValueError, RuntimeError) as error:
            raise OnnxImporterError(f"the constant {name!r} is in no file: {error}") from None
        if not location or not path.is_relative_to(self.folder):
            raise OnnxImporterError(
                f"the constant {name!r} is in {location!r}, which is not inside the model's folder"
            )
        if not regular:
            raise OnnxImporterError(f"the constant {name!r} is in {os.fspath(path)}: no such file")
        return path

    @staticmethod
    def _number(name, entries, key, default):
        text = entries.get(key, "")
        if not text:
            return default
        if not (text.isascii() and text.isdigit() and len(text) < 20):
            raise OnnxImporterError(
                f"the constant {name!r} has the {key} {text[:40]!r}: expected a number of bytes"
            )
        return int(text)
