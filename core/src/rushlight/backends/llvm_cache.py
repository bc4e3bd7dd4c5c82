"""Object code on disk: one file per key (:mod:`rushlight.backends.object_files`).

The place is ``RUSHLIGHT_CACHE_DIR`` or ``~/.cache/rushlight``; where that cannot be written, a
private folder below the system's temporary one. In it, each version of compiler and processor has
a folder; those unused for a month are removed when a new one is made.
"""

from __future__ import annotations

import contextlib
import functools
import os
import pathlib
import shutil
import stat
import tempfile
import time

from rushlight.backends import object_files

KEPT_FOR = 30 * 86400  # seconds


def _usable(folder):
    """Whether files can be made in a folder (made if missing)."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def _private(folder):
    """Whether only this user can have put files there: what lies in it is executed."""
    if not hasattr(os, "getuid"):
        return True
    status = folder.stat()
    return status.st_uid == os.getuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


@functools.cache
def _choose(configured):
    with contextlib.suppress(RuntimeError):  # no home directory
        root = pathlib.Path(configured) if configured else pathlib.Path.home() / ".cache/rushlight"
        folder = root / "elementwise"
        if _usable(folder):
            return folder
    owner = os.getuid() if hasattr(os, "getuid") else "user"
    folder = pathlib.Path(tempfile.gettempdir()) / f"rushlight-{owner}" / "elementwise"
    with contextlib.suppress(OSError):
        folder.parent.mkdir(mode=0o700, exist_ok=True)
    if folder.parent.is_dir() and _private(folder.parent) and _usable(folder):
        return folder
    return pathlib.Path(tempfile.mkdtemp(prefix="rushlight-"))


def place() -> pathlib.Path:
    """Where the folders of all versions lie."""
    return _choose(os.environ.get("RUSHLIGHT_CACHE_DIR"))


@functools.cache
def folder(version: str) -> pathlib.Path:
    """The folder of a version's object files, made at first need; marks it as used."""
    made = place() / version
    with contextlib.suppress(OSError):
        if made.is_dir():
            os.utime(made)
        else:
            made.mkdir(exist_ok=True)
            _remove_unused(made)
    return made


def _remove_unused(current):
    for other in current.parent.iterdir():
        if other != current and time.time() - other.stat().st_mtime > KEPT_FOR and other.is_dir():
            shutil.rmtree(other, ignore_errors=True)


def read(version: str, key: str):
    """What was stored under `key`, or None if it is missing or damaged."""
    return object_files.read(folder(version) / f"{key}.o")


def write(version: str, key: str, body: bytes) -> None:
    """Store under `key`; processes may do so at once. A full disk loses the entry, not the run."""
    object_files.write(folder(version) / f"{key}.o", body)
