"""Files that may be elsewhere: here they are on this machine."""

from __future__ import annotations

import os
from typing import Any

from lightning_lite.checkpoint_paths import check_local


class LocalFileSystem:
    """The file system of this machine, with the methods that programs ask of fsspec's."""

    protocol = "file"

    def exists(self, path: Any) -> bool:
        """Whether there is something of this name."""
        return os.path.exists(path)

    def isdir(self, path: Any) -> bool:
        """Whether it is a folder."""
        return os.path.isdir(path)

    def isfile(self, path: Any) -> bool:
        """Whether it is a file."""
        return os.path.isfile(path)

    def ls(self, path: Any) -> list[str]:
        """What a folder holds, as full paths."""
        return [os.path.join(path, name) for name in sorted(os.listdir(path))]

    def makedirs(self, path: Any, exist_ok: bool = False) -> None:
        """Make a folder and those around it."""
        os.makedirs(path, exist_ok=exist_ok)

    def open(self, path: Any, mode: str = "rb", **kwargs: Any) -> Any:
        """Open a file."""
        return open(path, mode, **kwargs)


def get_filesystem(path: Any, **kwargs: Any) -> LocalFileSystem:
    """The file system of a path. MisconfigurationException for one on another machine."""
    check_local(path)
    return LocalFileSystem()
