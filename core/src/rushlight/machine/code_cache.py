"""Machine code on disk: one file per key, in a folder for each version of what shapes it.

The folder is ``RUSHLIGHT_CACHE_DIR``, else ``rushlight`` in ``XDG_CACHE_HOME`` or ``~/.cache``;
what is in it is executed, so it is used only where nobody else can have written there
(:mod:`rushlight.machine.owned_folders`). One that can be read but not written is read. What cannot
be kept there is kept in ``rushlight-NUMBER`` of the system's temporary folder, by the same rule, or
not at all; one warning says so. Versions that no process has started with for a month are removed.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import hashlib
import os
import pathlib
import re
import secrets
import shutil
import sys
import tempfile
import time
import warnings

from rushlight.machine import compile_lock, object_files, owned_folders

KEPT_FOR = 30 * 86400  # seconds
_VERSIONS = re.compile(  # names of folders; "elementwise" was one of them
    r"[0-9a-f]{24}|emulated-[0-9a-f]{16}|cuda-[\w-]+|hip|nvrtc-check|elementwise"
)
_SOURCES = "machine", "compiler", "kernels", "fastpath"


@functools.cache
def sources() -> str:
    """Changes with everything that shapes generated code: the text of the modules that do."""
    import llvmlite

    from rushlight.machine import np

    digest = hashlib.sha256(f"{sys.version} {llvmlite.__version__} {np.__version__}".encode())
    root = pathlib.Path(__file__).parents[1]
    for folder in _SOURCES:
        for path in sorted((root / folder).rglob("*.py")):
            name = path.relative_to(root).as_posix()
            digest.update(name.encode() + path.read_bytes())
    return digest.hexdigest()


def version(processor) -> str:
    """Name of the folder for code that is made here for a processor."""
    return hashlib.sha256(f"{processor.fingerprint()} {sources()}".encode()).hexdigest()[:24]


# ---- where ---------------------------------------------------------------------------------------


def _configured():
    """The folder that the user's settings name, or None without a home."""
    chosen = os.environ.get("RUSHLIGHT_CACHE_DIR")
    if chosen:
        return pathlib.Path(chosen)
    caches = os.environ.get("XDG_CACHE_HOME", "")
    if os.path.isabs(caches):
        return pathlib.Path(caches) / "rushlight"
    with contextlib.suppress(RuntimeError):
        return pathlib.Path.home() / ".cache" / "rushlight"
    return None


def _temporary():
    owner = os.geteuid() if owned_folders.HAS_OWNERS else "user"
    return pathlib.Path(tempfile.gettempdir()) / f"rushlight-{owner}"


def _why_not(folder, make):
    """What keeps a folder from being read (or, with `make`, written too); "" if nothing does."""
    try:
        with owned_folders.opened(folder, make) as opened:
            if make:
                _try_to_write(folder, opened)
    except owned_folders.Untrusted as error:
        return f"{error}, so that others could have put code there"
    except OSError as error:
        return os.strerror(error.errno).lower() if error.errno else str(error)
    return ""


def _try_to_write(folder, opened):
    name = f"tmp{secrets.token_hex(6)}.part"
    path = folder / name if opened is None else name
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600, dir_fd=opened))
    os.unlink(path, dir_fd=opened)


@functools.cache
def _places(configured, temporary):
    """Folders that are read, in turn; the last is written to, None if nothing is kept."""
    fault = _why_not(configured, make=True) if configured else os.strerror(errno.ENOENT).lower()
    if not fault:
        return (configured,)
    read = (configured,) if configured and not _why_not(configured, make=False) else ()
    fallback = None if _why_not(temporary, make=True) else temporary
    if configured and not read:
        _warn(configured, fault, fallback)
    return (*read, fallback)


def _warn(folder, fault, fallback):
    instead = f"kept in {fallback}" if fallback else "not kept: each process compiles it anew"
    warnings.warn(
        f"rushlight keeps no machine code in {folder}: {fault}. It is {instead}. Set "
        "RUSHLIGHT_CACHE_DIR to a folder that only you can write to (chmod 700)",
        RuntimeWarning,
        stacklevel=2,
    )


def places():
    """The folders that are read, in turn; the last is also written to, or None."""
    return _places(_configured(), _temporary())


def place() -> pathlib.Path | None:
    """Where the folders of all versions are that this process can add to."""
    return places()[-1]


@functools.cache
def _made(root, version):
    """The folder of a version, made at first need."""
    folder = root / version
    with contextlib.suppress(OSError, owned_folders.Untrusted):
        if not folder.is_dir():
            with owned_folders.opened(folder, make=True):
                _remove_unused(folder)
    return folder


@functools.cache
def _used(root, version):
    """The folder of a version, marked as used."""
    with contextlib.suppress(OSError):  # not there, or not to be written
        os.utime(root / version)
    return root / version


def _remove_unused(current):
    for other in current.parent.iterdir():
        if other != current and _VERSIONS.fullmatch(other.name) and other.is_dir():
            if time.time() - other.stat().st_mtime > KEPT_FOR:
                shutil.rmtree(other, ignore_errors=True)


def folder(version: str) -> pathlib.Path | None:
    """The folder that files of a version are added to; None where nothing can be kept."""
    root = place()
    return None if root is None else _made(root, version)


# ---- entries -------------------------------------------------------------------------------------


_needed: dict[tuple[str, str], None] = {}


def needed() -> list[tuple[str, str]]:
    """Version and key of the entries that this process has found or made, in order."""
    return list(_needed)


def stored(version: str, key: str):
    """What was stored under `key`, or None if it is missing, damaged or could be someone else's."""
    for root in places():
        if root is not None:
            found = object_files.read(_used(root, version) / f"{key}.o")
            if found is not None:
                return found
    return None


def store(version: str, key: str, body: bytes) -> None:
    """Store under `key`; processes may do so at once. A full disk loses the entry, not the run."""
    into = folder(version)
    if into is not None:
        object_files.write(into / f"{key}.o", body)


def read(version: str, key: str):
    """:func:`stored`, for a kernel that this process needs."""
    found = stored(version, key)
    if found is not None:
        _needed[version, key] = None
    return found


def write(version: str, key: str, body: bytes) -> None:
    """:func:`store`, for a kernel that this process has made."""
    _needed[version, key] = None
    store(version, key, body)


def made(version: str, key: str, make) -> bytes:
    """What is stored under `key`, for a kernel that this process needs; where nothing is,
    ``make()`` gives it, in one process at a time."""
    found = read(version, key)
    if found is not None:
        return found
    into = folder(version)
    with contextlib.nullcontext() if into is None else compile_lock.alone(into / key):
        found = read(version, key)
        if found is None:
            found = make()
            write(version, key, found)
    return found
