"""Archives from the network, unpacked so that nothing leaves the folder and no disk is filled."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import re
import shutil
import stat
import tarfile
import tempfile
import zipfile
import zlib
from pathlib import Path, PurePosixPath

from rushlight.serialization.atomic import usual_mode

__all__ = ["ArchiveError", "extract"]

BLOCK = 1 << 20
MOST_RATIO = 1100  # what deflate reaches at most, bzip2 and xz reach with real data
ALWAYS_ALLOWED = 1 << 30  # bytes that any archive may unpack to
_SINGLE = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open, ".lzma": lzma.open}
_TARS = re.compile(r"\.(tar(\.\w+)?|tgz|tbz2?|txz)$", re.IGNORECASE)
_ZIP = b"PK\x03\x04", b"PK\x05\x06"
_DRIVE = re.compile(r"[A-Za-z]:[/\\]")
_DAMAGE = (
    tarfile.TarError, zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, RecursionError,
    ValueError, RuntimeError, KeyError, FileExistsError, NotADirectoryError,
)  # fmt: skip


class ArchiveError(ValueError):
    """An archive is damaged, or wants what no archive should; the text names it and the member."""


def extract(archive, folder, *, most_bytes=None, members=None) -> list[str]:
    """Unpack a zip or tar file (also .gz, .bz2, .xz of one file) into `folder`; returns the paths
    of the files in it, relative to `folder`.

    A path that leads out of the folder, a link that does, devices and pipes are refused before
    anything is written; a link to another file of the archive becomes a copy of it, so that no link
    is ever made. So is an archive that unpacks to more than `most_bytes`: by default 1 GiB or 1,100
    times the archive, whichever is more, and no more than the disk has room for. `members` are
    names of those to unpack; all of them without. Files get ordinary modes. A file that is there
    is replaced when the new one is whole.

    Raises ArchiveError, ValueError for names that are not in it, and OSError from the disk.

    >>> import pathlib, tempfile, zipfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> with zipfile.ZipFile(folder / "a.zip", "w") as file:
    ...     file.writestr("x/y.txt", "text")
    >>> extract(folder / "a.zip", folder)
    ['x/y.txt']
    """
    archive, folder = Path(archive), Path(folder)
    if isinstance(members, str):
        raise TypeError("extract(): members must be names of files, not one string")
    folder.mkdir(parents=True, exist_ok=True)
    wanted = None if members is None else set(members)
    how = _kind(archive)
    try:
        return how(archive, folder, _Room(archive, folder, most_bytes), wanted)
    except ArchiveError:
        raise
    except _Missing as error:
        raise ValueError(f"{archive} has no member {error}") from None
    except (*_DAMAGE, NotImplementedError) as error:
        raise ArchiveError(f"{archive} is truncated or altered, or encrypted: {error}") from None
    except OSError as error:
        if error.errno is None:  # bz2's word for damage
            raise ArchiveError(f"{archive} is truncated or altered: {error}") from None
        raise


class _Missing(Exception):
    """A member that is asked for and is not there."""


def _kind(archive):
    """What unpacks a file: by its name, else by how it begins."""
    if _TARS.search(archive.name):
        return _tar
    with open(archive, "rb") as file:
        if file.read(4) in _ZIP:
            return _zip
    if archive.suffix.lower() in _SINGLE:
        return _single
    if archive.suffix.lower() == ".zip":
        return _zip
    if tarfile.is_tarfile(archive):
        return _tar
    raise ArchiveError(
        f"{archive} is neither a zip nor a tar file, nor one file by {', '.join(_SINGLE)}, or it "
        "is damaged"
    )


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
    if path.is_absolute() or ".." in path.parts or _DRIVE.match(name) or "\0" in name:
        raise ArchiveError(f"{archive}: the member {name!r} leads out of the folder")
    return path


def _made(folder, path, archive):
    """A folder of the archive, made step by step: none on the way is a link that leads out."""
    whole = folder.resolve()
    place = folder
    for part in path.parts:
        place = place / part
        if place.is_symlink() and not place.resolve().is_relative_to(whole):
            raise ArchiveError(f"{archive}: {str(path)!r} leads out of the folder by a link")
        if not place.is_dir():
            place.mkdir()
    return place


def _write(source, folder, path, most, archive):
    """Copy a member, which has no more than `most` bytes, under another name first; a link that has
    its name is replaced, not followed."""
    parent = _made(folder, path.parent, archive)
    place = parent / path.name
    if place.is_dir() and not place.is_symlink():
        raise ArchiveError(f"{archive}: the member {str(path)!r} is a folder already")
    handle, aside = tempfile.mkstemp(".part", dir=parent)
    try:
        with os.fdopen(handle, "wb") as file:
            while block := source.read(BLOCK):
                most -= len(block)
                if most < 0:
                    raise ArchiveError(f"{archive}: {place.name} has more bytes than it says")
                file.write(block)
        os.chmod(aside, usual_mode())
        os.replace(aside, place)
    finally:
        Path(aside).unlink(missing_ok=True)


def _chosen(infos, name_of, members):
    """The members that are asked for."""
    if members is None:
        return list(infos)
    found = [info for info in infos if name_of(info) in members]
    missing = members - {name_of(info) for info in found}
    if missing:
        raise _Missing(sorted(missing)[0])
    return found


def _unpacked(contents, opened, folder, archive):
    """Write members, given by name, size and what `opened` takes (None: a folder); the paths of the
    files."""
    written = []
    for name, size, source in contents:
        path = _inside(name, archive)
        if source is None:
            _made(folder, path, archive)
            continue
        with opened(source) as stream:
            _write(stream, folder, path, size, archive)
        written.append(path.as_posix())
    return written


def _zip(archive, folder, room, members):
    with zipfile.ZipFile(archive) as file:
        chosen = _chosen(file.infolist(), lambda info: info.filename, members)
        for info in chosen:
            _inside(info.filename, archive)
            kind = stat.S_IFMT(info.external_attr >> 16)
            if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
                raise ArchiveError(f"{archive}: {info.filename!r} is no file: a link or a device")
            room.take(info.file_size)
        contents = ((i.filename, i.file_size, None if i.is_dir() else i) for i in chosen)
        return _unpacked(contents, file.open, folder, archive)


def _tar(archive, folder, room, members):
    with tarfile.open(archive) as file:
        every = {info.name: _sized(info, archive) for info in file}
        if file.fileobj.tell() == file.offset:  # nothing was there to read
            raise ArchiveError(
                f"{archive} is truncated: the blocks that end a tar file are missing"
            )
        files = [(info, _source(info, every, archive)) for info in every.values()]
        chosen = _chosen(files, lambda pair: pair[0].name, members)
        for _, source in chosen:
            room.take(0 if source.isdir() else source.size)
        contents = ((i.name, s.size, None if s.isdir() else s) for i, s in chosen)
        return _unpacked(contents, file.extractfile, folder, archive)


def _sized(info, archive):
    """A member, whose length is a number; tarfile reads others as none."""
    said = info.pax_headers.get("size", "0")
    if info.size < 0 or not said.isdigit():
        raise ArchiveError(
            f"{archive}: {info.name!r} has {said if info.size >= 0 else info.size} bytes"
        )
    return info


def _source(info, every, archive):
    """The member whose content a member has: itself, or the file at the end of its links."""
    _inside(info.name, archive)
    seen = set()
    while info.issym() or info.islnk():
        if info.name in seen:
            raise ArchiveError(f"{archive}: the link {info.name!r} leads to itself")
        seen.add(info.name)
        name = _linked(info, archive)
        if name not in every:
            raise ArchiveError(
                f"{archive}: {info.name!r} is a link to {name!r}, which is not in it"
            )
        info = every[name]
    if not (info.isreg() or info.isdir()):
        raise ArchiveError(f"{archive}: {info.name!r} is a device or a pipe")
    if info.isdir() and seen:
        raise ArchiveError(
            f"{archive}: a link to the folder {info.name!r}; write its files instead"
        )
    return info


def _linked(info, archive):
    """The name of the member that a link leads to."""
    if info.islnk():
        _inside(info.linkname, archive)
        return info.linkname
    link = PurePosixPath(info.linkname)
    parts = [] if link.is_absolute() else list(PurePosixPath(info.name).parent.parts)
    for part in link.parts:
        if part != "..":
            parts.append(part)
        elif parts:
            parts.pop()
        else:
            link = PurePosixPath("/")
    if link.is_absolute():
        raise ArchiveError(f"{archive}: the link {info.name!r} leads out of the folder")
    return str(PurePosixPath(*parts))


def _single(archive, folder, room, members):
    path = PurePosixPath(archive.stem)
    if members is not None and members != {archive.stem}:
        raise _Missing(sorted(members)[0])
    with _SINGLE[archive.suffix.lower()](archive, "rb") as source:
        _write(_Counted(source, room), folder, path, room.most, archive)
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
