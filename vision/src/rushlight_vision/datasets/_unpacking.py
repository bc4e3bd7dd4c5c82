"""Unpacking archives: nothing lands outside the folder, and a damaged archive is named."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import shutil
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rushlight_vision.datasets.integrity import Location

_OPENERS: dict[str, Callable[..., Any]] = {
    ".gz": gzip.open,
    ".bz2": bz2.open,
    ".xz": lzma.open,
}
_TAR_ENDINGS = (".tar", ".tgz", ".tbz", ".tbz2", ".tar.gz", ".tar.bz2", ".tar.xz")
_DAMAGE = (
    EOFError,
    gzip.BadGzipFile,
    lzma.LZMAError,
    tarfile.TarError,
    zipfile.BadZipFile,
    zlib.error,
    ValueError,
)


def kind_of(path: Location) -> str:
    """``"tar"``, ``"zip"``, or the ending of a single packed file; "" of anything else."""
    name = os.fspath(path).lower()
    if name.endswith(_TAR_ENDINGS):
        return "tar"
    if name.endswith(".zip"):
        return "zip"
    return next((ending for ending in _OPENERS if name.endswith(ending)), "")


def unpack(source: Location, folder: Location) -> Path:
    """Unpack a tar or zip file into `folder`, or a single packed file under its name less the
    ending. Gives the folder or the file.

    Members whose paths climb out of the folder, links that leave it and devices are refused. What
    is unpacked appears when all of it is there; files of the same names are replaced. Raises
    ValueError with the path if the archive is damaged or has such members, RuntimeError if its name
    says no kind that is known, OSError with both paths where the disk is full.
    """
    kind, folder = kind_of(source), Path(folder)
    if not kind:
        known = ", ".join((*_TAR_ENDINGS, ".zip", *_OPENERS))
        raise RuntimeError(f"{source}: expected an archive (a name that ends in {known})")
    folder.mkdir(parents=True, exist_ok=True)
    try:
        if kind in _OPENERS:
            return _unpack_one(source, folder / Path(source).name[: -len(kind)], _OPENERS[kind])
        # Data sets take a folder that is there for a whole one.
        with tempfile.TemporaryDirectory(prefix=".unpacking-", dir=folder) as aside:
            (_unpack_tar if kind == "tar" else _unpack_zip)(source, Path(aside))
            _merge(Path(aside), folder)
    except _DAMAGE as error:
        raise ValueError(f"{source} is truncated, altered or unsafe: {error}") from None
    except OSError as error:
        if error.errno is not None:
            raise named(error, source, folder) from None
        raise ValueError(f"{source} is truncated or altered: {error}") from None
    return folder


def named(error: OSError, source: Location, target: Location) -> OSError:
    """The disk's own trouble with a path: what fails while it is written, as on a full disk, has
    none."""
    if error.filename is not None:
        return error
    words = f"cannot unpack {os.fspath(source)}: {error.strerror}"
    return OSError(error.errno, words, os.fspath(target))


def _unpack_tar(source: Location, folder: Path) -> None:
    with tarfile.open(source) as archive:
        members = archive.getmembers()
        for member in members:
            tarfile.data_filter(member, str(folder.resolve()))  # raises before anything is written
        archive.extractall(folder, members=members, filter="data")


def _unpack_zip(source: Location, folder: Path) -> None:
    with zipfile.ZipFile(source) as archive:
        for member in archive.infolist():
            parts = Path(member.filename.replace("\\", "/")).parts
            if ".." in parts or Path(member.filename).is_absolute():
                raise ValueError(f"its member {member.filename!r} leads out of the folder")
        archive.extractall(folder)


def _merge(source: Path, target: Path) -> None:
    """Move what is in a folder into another one of the same disk, folder by folder."""
    for entry in sorted(source.iterdir()):
        place = target / entry.name
        if entry.is_dir() and not entry.is_symlink() and place.is_dir():
            _merge(entry, place)
        else:
            os.replace(entry, place)


def _unpack_one(source: Location, target: Path, opener: Callable[..., Any]) -> Path:
    """The file appears under its name only when all of it is there."""
    part = target.with_name(target.name + ".part")
    try:
        with opener(source, "rb") as packed, open(part, "wb") as file:
            shutil.copyfileobj(packed, file, 1 << 20)
        os.replace(part, target)
    finally:
        part.unlink(missing_ok=True)
    return target
