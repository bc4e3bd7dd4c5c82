"""Files of machine code: written aside and renamed, with a digest; read only when intact.

Processes may write the same file at once, and one that is killed meanwhile leaves at most a file
under another name. A full disk loses the entry, not the run.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import pathlib
import tempfile

DIGEST = 32


def read(path: pathlib.Path):
    """What was stored, or None if it is missing or damaged."""
    try:
        data = path.read_bytes()
    except OSError:
        return None
    body = data[DIGEST:]
    return body if body and hashlib.sha256(body).digest() == data[:DIGEST] else None


def write(path: pathlib.Path, body: bytes) -> None:
    """Store `body`; where that fails the next process has to compile it again."""
    with contextlib.suppress(OSError):
        handle, name = tempfile.mkstemp(dir=path.parent, suffix=".part")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(hashlib.sha256(body).digest() + body)
            os.replace(name, path)
        except BaseException:  # Ctrl-C too
            with contextlib.suppress(OSError):
                os.unlink(name)
            raise
