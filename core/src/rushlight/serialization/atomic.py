"""Writing a file so that its path holds the old content or the new one, whole.

What is being written stands beside the path as ``.NAME.XXXXXXXX.rushlight.part``, locked by its
writer (``flock``). A lock ends with its process, so a part that can be locked was left by a writer
that was killed: the next one to write there removes it. Nothing else under such a name is touched,
and nothing under it can make a write fail.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import stat
import tempfile

_SUFFIX = ".rushlight.part"
_LONGEST = 180  # bytes of the name that stand in that of a part: file systems end at 255


@contextlib.contextmanager
def replacing(path):
    """A binary file beside `path`; on success it is synced and renamed over it, else removed."""
    path = os.fspath(path)
    folder = os.path.dirname(os.path.abspath(path))
    prefix = _prefix(os.path.basename(path))
    _remove_left(folder, prefix)
    try:
        handle, temporary = _part(folder, prefix)
    except OSError as error:
        raise type(error)(error.errno, f"cannot write '{path}': {error.strerror}") from None
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
            os.chmod(temporary, _mode(path))
            os.replace(temporary, path)  # still locked: nobody takes it for one that was left
    except BaseException as error:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        if isinstance(error, OSError) and error.errno is not None:
            message = f"cannot write '{path}': {error.strerror} (the old file is untouched)"
            raise type(error)(error.errno, message) from error
        raise
    _sync_folder(folder)


def _prefix(name):
    """What the names of a file's parts begin with."""
    kept = os.fsencode(name)[:_LONGEST].decode("utf-8", "ignore")
    return f".{kept}."


def _part(folder, prefix):
    """A new part, open and locked, and its path."""
    while True:
        handle, path = tempfile.mkstemp(suffix=_SUFFIX, prefix=prefix, dir=folder)
        mine = locked(handle)
        if mine is None or (mine and is_at(handle, path)):
            return handle, path
        os.close(handle)  # another writer took it for one that was left, before it was locked


def locked(handle) -> bool | None:
    """Whether this process has the lock of an open file now; None where there are no locks."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


def is_at(handle, path) -> bool:
    """Whether an open file still has that path, which may be exchanged before it is locked."""
    try:
        return os.path.samestat(os.fstat(handle), os.lstat(path))
    except OSError:
        return False


def _remove_left(folder, prefix):
    """Remove the parts of writers that are gone."""
    part = re.compile(re.escape(prefix) + r"[a-z0-9_]{8}" + re.escape(_SUFFIX))
    with contextlib.suppress(OSError):
        for name in os.listdir(folder):
            if name.startswith(prefix) and part.fullmatch(name):
                with contextlib.suppress(OSError):
                    _remove_if_left(os.path.join(folder, name))


def _remove_if_left(path):
    if not stat.S_ISREG(os.lstat(path).st_mode):  # no part of ours: a pipe would block
        return
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        if locked(handle) and is_at(handle, path):
            os.unlink(path)
    finally:
        os.close(handle)


def usual_mode() -> int:
    """The permissions that a new file gets."""
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def _mode(path):
    """The permissions of the file that is replaced, or those a new file would get."""
    try:
        return os.stat(path).st_mode & 0o777
    except OSError:
        return usual_mode()


def _sync_folder(folder):
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
