"""Archives from the network, unpacked so that nothing leaves the folder and no disk is filled."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import shutil
import stat
import tarfile
import zipfile
import zlib
from pathlib import Path, PurePosixPath

__all__ = ["ArchiveError", "extract"]

BLOCK = 1 << 20
MOST_RATIO = 1100  # what deflate reaches at most, bzip2 and xz reach with real data
ALWAYS_ALLOWED = 1 << 30  # bytes that any archive may unpack to
_SINGLE = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open, ".lzma": lzma.open}
_DAMAGE = (
    tarfile.TarError, zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, gzip.BadGzipFile,
)  # fmt: skip


class ArchiveError(ValueError):
    """An archive is damaged, or wants what no archive should; the text names it and the member."""


def extract(archive, folder, *, most_bytes=None, members=None) -> list[str]:
    """Unpack a zip or tar file (also .gz, .bz2, .xz of one file) into `folder`; returns the paths
    of the files in it, relative to `folder`.

    Members with a path that leads out of the folder, links that do, devices and pipes are refused
    before anything is written. So is an archive that unpacks to more than `most_bytes`: by default
    1 GiB or 1,100 times the archive, whichever is more, and no more than the disk has room for.
    `members` are names of those to unpack; all of them without. Files get ordinary modes. A file
    that is there is replaced when the new one is whole.

    Raises ArchiveError, and OSError from the disk.

    >>> import pathlib, tempfile, zipfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> with zipfile.ZipFile(folder / "a.zip", "w") as file:
    ...     file.writestr("x/y.txt", "text")
    >>> extract(folder / "a.zip", folder)
    ['x/y.txt']
    """
    archive, folder = Path(archive), Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    room = _Room(archive, folder, most_bytes)
    try:
        if zipfile.is_zipfile(archive):
            return _zip(archive, folder, room, members)
        if tarfile.is_tarfile(archive):
            return _tar(archive, folder, room, members)
        return _single(archive, folder, room)
    except _DAMAGE as error:
        raise ArchiveError(f"{archive} is truncated or altered: {error}") from None


class _Room:
    """Counts bytes that are about to be written, or that have been."""

    def __init__(self, archive, folder, most_bytes):
        self.archive, self.left = archive, most_bytes
        if most_bytes is None:
            packed = archive.stat().st_size
            self.left = max(ALWAYS_ALLOWED, MOST_RATIO * packed)
            self.left = min(self.left, shutil.disk_usage(folder).free)
        self.most = self.left

    def take(self, size):
        """Raise ArchiveError where that is more than may be unpacked."""
        self.left -= size
        if self.left < 0:
            raise ArchiveError(
                f"{self.archive} unpacks to more than {self.most} bytes; if that is meant, pass "
                "most_bytes, and see that the disk has room"
            )


def _inside(name, archive):
    """The path of a member in the folder."""
    path = PurePosixPath(name.replace("\\", "/"))
    if path.is_absolute() or ".." in path.parts or ":" in name[:2] or "\0" in name:
        raise ArchiveError(f"{archive}: the member {name!r} leads out of the folder")
    return Path(*path.parts)


def _place(folder, path, archive):
    """Where a member is written, made sure of: no folder on the way is a link to outside."""
    place = folder / path
    place.parent.mkdir(parents=True, exist_ok=True)
    if not place.parent.resolve().is_relative_to(folder.resolve()):
        raise ArchiveError(f"{archive}: the member {str(path)!r} leads out of the folder by a link")
    if place.is_dir() and not place.is_symlink():
        raise ArchiveError(f"{archive}: the member {str(path)!r} is a folder already")
    return place


def _write(source, place, most, archive):
    """Copy a member, which has no more than `most` bytes (None: what there is room for)."""
    aside = place.with_name(place.name + ".part")
    try:
        with open(aside, "wb") as file:
            while block := source.read(BLOCK):
                most -= len(block)
                if most < 0:
                    raise ArchiveError(f"{archive}: {place.name} has more bytes than it says")
                file.write(block)
        os.replace(aside, place)
    finally:
        aside.unlink(missing_ok=True)


def _zip(archive, folder, room, members):
    with zipfile.ZipFile(archive) as file:
        chosen = [i for i in file.infolist() if members is None or i.filename in set(members)]
        for info in chosen:
            _inside(info.filename, archive)
            kind = stat.S_IFMT(info.external_attr >> 16)
            if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
                raise ArchiveError(f"{archive}: {info.filename!r} is no file: a link or a device")
            room.take(info.file_size)
        written = []
        for info in chosen:
            if info.is_dir():
                (folder / _inside(info.filename, archive)).mkdir(parents=True, exist_ok=True)
                continue
            path = _inside(info.filename, archive)
            with file.open(info) as source:
                _write(source, _place(folder, path, archive), info.file_size, archive)
            written.append(path.as_posix())
    return written


def _tar(archive, folder, room, members):
    with tarfile.open(archive) as file:
        chosen = []
        for info in file:
            if members is None or info.name in members:
                _check_tar(info, archive)
                room.take(info.size if info.isreg() else 0)
                chosen.append(info)
        return [path for info in chosen if (path := _tar_member(file, info, folder, archive))]


def _check_tar(info, archive):
    _inside(info.name, archive)
    if info.issym():
        _inside(str(_joined(PurePosixPath(info.name).parent, info.linkname, archive)), archive)
    elif info.islnk():
        _inside(info.linkname, archive)
    elif not (info.isreg() or info.isdir()):
        raise ArchiveError(f"{archive}: {info.name!r} is a device or a pipe")


def _joined(parent, link, archive):
    """Where a symbolic link leads, from the folder of the archive."""
    parts = [] if PurePosixPath(link).is_absolute() else list(parent.parts)
    if PurePosixPath(link).is_absolute():
        raise ArchiveError(f"{archive}: a link to {link!r} leads out of the folder")
    for part in PurePosixPath(link).parts:
        if part != "..":
            parts.append(part)
        elif not parts:
            raise ArchiveError(f"{archive}: a link to {link!r} leads out of the folder")
        else:
            parts.pop()
    return PurePosixPath(*parts)


def _tar_member(file, info, folder, archive):
    path = _inside(info.name, archive)
    if info.isdir():
        (folder / path).mkdir(parents=True, exist_ok=True)
        return None
    place = _place(folder, path, archive)
    if info.issym():
        place.unlink(missing_ok=True)
        place.symlink_to(info.linkname)
        return path.as_posix()
    source = file.extractfile(info)  # of a hard link: the file that it names
    if source is None:
        raise ArchiveError(f"{archive}: {info.name!r} is a link to nothing")
    with source:
        _write(source, place, file.getmember(info.linkname).size if info.islnk() else info.size,
               archive)  # fmt: skip
    return path.as_posix()


def _single(archive, folder, room):
    opener = _SINGLE.get(archive.suffix.lower())
    if opener is None:
        raise ArchiveError(
            f"{archive} is neither a zip nor a tar file, nor one file by "
            f"{', '.join(_SINGLE)}, or it is damaged"
        )
    place = _place(folder, Path(archive.stem), archive)
    with opener(archive, "rb") as source:
        _write(_Counted(source, room), place, room.most, archive)
    return [archive.stem]


class _Counted:
    """A stream whose length is not known beforehand."""

    def __init__(self, source, room):
        self.source, self.room = source, room

    def read(self, size):
        """The next block, if there is room for it."""
        block = self.source.read(size)
        self.room.take(len(block))
        return block
