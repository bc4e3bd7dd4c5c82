"""Files of machine code: written aside and renamed, with a digest; read only when intact and when
nobody else can have written them.

Processes may write the same file at once, and one that is killed meanwhile leaves at most a file
under another name. A full disk loses the entry, not the run.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import pathlib
import secrets
import stat

from rushlight.machine import owned_folders

DIGEST = 32
_READ = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_MADE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)


def read(path: pathlib.Path):
    """What was stored, or None if it is missing, damaged or could be someone else's."""
    try:
        with owned_folders.opened(path.parent) as folder:
            data = _content(path, folder)
    except (OSError, owned_folders.Untrusted):
        return None
    body = data[DIGEST:]
    return body if body and hashlib.sha256(body).digest() == data[:DIGEST] else None


def _content(path, folder):
    handle = os.open(path.name if folder is not None else path, _READ, dir_fd=folder)
    with open(handle, "rb") as file:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(f"{path} is not a file")
        if folder is not None and not owned_folders.is_mine(status):
            raise owned_folders.Untrusted(f"{path} can be written by others")
        return file.read()


def write(path: pathlib.Path, body: bytes) -> None:
    """Store `body`; where that fails the next process has to compile it again."""
    with (
        contextlib.suppress(OSError, owned_folders.Untrusted),
        owned_folders.opened(path.parent) as folder,
    ):
        place = path.parent if folder is None else pathlib.Path()
        _replace(place, path.name, body, folder)


def _replace(place, name, body, folder):
    aside = f"tmp{secrets.token_hex(6)}.part"
    handle = os.open(place / aside, _MADE, 0o600, dir_fd=folder)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(hashlib.sha256(body).digest() + body)
        os.replace(place / aside, place / name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:  # Ctrl-C too
        with contextlib.suppress(OSError):
            os.unlink(place / aside, dir_fd=folder)
        raise
