"""Writing a file so that its path holds the old content or the new one, whole."""

from __future__ import annotations

import contextlib
import os
import tempfile


@contextlib.contextmanager
def replacing(path):
    """A binary file beside `path`; on success it is synced and renamed over it, else removed."""
    path = os.fspath(path)
    folder = os.path.dirname(os.path.abspath(path))
    name = os.path.basename(path)
    try:
        handle, temporary = tempfile.mkstemp(prefix=f".{name}.", suffix=".tmp", dir=folder)
    except OSError as error:
        raise type(error)(error.errno, f"cannot write '{path}': {error.strerror}") from None
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, _mode(path))
        os.replace(temporary, path)
    except BaseException as error:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        if isinstance(error, OSError) and error.errno is not None:
            message = f"cannot write '{path}': {error.strerror} (the old file is untouched)"
            raise type(error)(error.errno, message) from error
        raise
    _sync_folder(folder)


def _mode(path):
    """The permissions of the file that is replaced, or those a new file would get."""
    try:
        return os.stat(path).st_mode & 0o777
    except OSError:
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask


def _sync_folder(folder):
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
