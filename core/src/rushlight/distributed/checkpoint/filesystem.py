"""Checkpoints in a folder: a file of entries for each rank, and ``.metadata``, written last.

An entry is what ``save`` writes of one tensor or object, so the files are PyTorch's. A checkpoint
is complete when its ``.metadata`` is there: it replaces that of an earlier one in the same folder
at once, and only then are the earlier one's files removed.
"""

from __future__ import annotations

import io
import os
import pickle
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rushlight.distributed.checkpoint import metadata
from rushlight.serialization import load, save
from rushlight.serialization.atomic import replacing
from rushlight.serialization.safe_globals import find
from rushlight.serialization.save import _Pickler

__all__ = ["FileSystemReader", "FileSystemWriter", "storage"]
_NAME = ".metadata"
_PROTOCOL = 2


@dataclass
class _StorageInfo:
    """Where an entry is: file, and bytes in it."""

    relative_path: str
    offset: int
    length: int
    transform_descriptors: Any = None

    def __getstate__(self):
        return {name: value for name, value in self.__dict__.items() if value is not None}


class FileSystemWriter:
    """Writes a checkpoint into a folder, which is made if it is not there.

    PyTorch's options of threads and files are of no consequence.
    """

    def __init__(self, path, *, overwrite=True, **options):
        self.path, self.overwrite, self.options = Path(path), overwrite, options

    def prepare(self) -> None:
        """Make the folder; with ``overwrite=False`` refuse one that has a checkpoint."""
        self.path.mkdir(parents=True, exist_ok=True)
        if not self.overwrite and (self.path / _NAME).exists():
            raise RuntimeError(f"Checkpoint already exists and self.overwrite=False: {self.path}")

    def file_name(self, rank: int, save_id: str) -> str:
        """The name of a rank's file: another than one that an earlier checkpoint uses."""
        plain = f"__{rank}_0.distcp"
        return plain if not (self.path / plain).exists() else f"__{rank}_{save_id[:8]}.distcp"

    def write(self, name: str, entries) -> list:
        """Write (key, value) pairs into a file; returns (key, position) pairs."""
        found = []
        with replacing(self.path / name) as file:
            for key, value in entries:
                start = file.tell()
                part = io.BytesIO()
                save(value, part)
                file.write(part.getbuffer())
                found.append((key, _StorageInfo(name, start, file.tell() - start)))
        return found

    def finish(self, whole: metadata.Metadata) -> None:
        """Write ``.metadata``, then remove the files that it does not name."""
        with replacing(self.path / _NAME) as file:
            _Pickler(file, _PROTOCOL).dump(whole)
        # Only now: until here the checkpoint before was whole.
        named = {info.relative_path for info in whole.storage_data.values()}
        for path in self.path.glob("__*.distcp"):
            if path.name not in named:
                path.unlink(missing_ok=True)


class _Unpickler(pickle.Unpickler):
    """Builds what ``.metadata`` files hold and nothing else."""

    def find_class(self, module, name):
        """A class of a checkpoint's metadata, a dtype, a size."""
        if module == "torch.distributed.checkpoint.metadata" and hasattr(metadata, name):
            return getattr(metadata, name)
        if (module, name) == ("torch.distributed.checkpoint.filesystem", "_StorageInfo"):
            return _StorageInfo
        if module == "pathlib":
            return Path
        found = find(module, name)
        if found is None:
            raise pickle.UnpicklingError(
                f"the metadata of a checkpoint uses the name {module}.{name}, which is not allowed"
            )
        return found


class FileSystemReader:
    """Reads a checkpoint from a folder."""

    def __init__(self, path):
        self.path = Path(path)
        self._open: dict = {}

    def read_metadata(self) -> metadata.Metadata:
        """What the checkpoint holds. Raises CheckpointException where there is no complete one."""
        try:
            with open(self.path / _NAME, "rb") as file:
                return _Unpickler(file).load()
        except FileNotFoundError:
            raise FileNotFoundError(
                f"'{self.path}' holds no complete checkpoint: there is no file {_NAME}, which is "
                "written last"
            ) from None

    def read(self, info, weights_only=True):
        """The tensor or object of an entry."""
        path = (self.path / info.relative_path).resolve()
        if self.path.resolve() not in path.parents:
            raise ValueError(f"the checkpoint names the file {info.relative_path!r} outside of it")
        with open(path, "rb") as file:
            file.seek(info.offset)
            part = file.read(info.length)
        if len(part) != info.length:
            raise RuntimeError(
                f"{os.fspath(path)} is damaged: it ends before the {info.length} bytes at "
                f"{info.offset}"
            )
        return load(io.BytesIO(part), weights_only=weights_only)


def storage(operation, kind, given, checkpoint_id):
    """The reader or writer (`kind`) that an operation was given, or that of a folder."""
    if given is None:
        if checkpoint_id is None:
            raise RuntimeError(f"Cannot {operation}: pass checkpoint_id, the path of a folder")
        return kind(checkpoint_id)
    if not isinstance(given, kind):
        raise NotImplementedError(
            f"checkpoint.{operation}: a {type(given).__name__}; use {kind.__name__}"
        )
    return given
