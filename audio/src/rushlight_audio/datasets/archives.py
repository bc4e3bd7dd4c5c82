"""Published archives: fetched, checked by their SHA-256 sums, and unpacked whole or not at all."""

from __future__ import annotations

import io
import lzma
import os
import shutil
import tarfile
import tempfile
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path

from rushlight.utils.download import fetch

__all__ = ["Archive", "Location", "unpack"]

Location = str | os.PathLike
_DAMAGE = (EOFError, lzma.LZMAError, tarfile.TarError, zipfile.BadZipFile, zlib.error, ValueError)
_ZIP = (".zip", ".whl")
_TAR = (".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tbz2", ".tar.xz", ".txz")


@dataclass(frozen=True)
class Archive:
    """One published file.

    Attributes:
        url: its address.
        sha256: its sum; None where none is known.
    """

    url: str
    sha256: str | None = None

    @property
    def name(self) -> str:
        """The name of the file."""
        return self.url.rstrip("/").rsplit("/", 1)[-1]

    @property
    def stem(self) -> str:
        """The name without the endings of archives."""
        lowered = self.name.lower()
        endings = (e for e in (*_TAR, *_ZIP, ".deb") if lowered.endswith(e))
        ending = max(endings, key=len, default="")
        return self.name[: len(self.name) - len(ending)]

    def bring(
        self, root: Location, folder: Location, download: bool, into: Location | None = None
    ) -> None:
        """See that `folder` is there: unpack the archive that lies in `root`, or fetch it first.

        Args:
            root: where the archive is kept.
            folder: what is in it, unpacked.
            download: fetch the archive where it is not there either.
            into: where to unpack; None for `root`.

        Raises:
            RuntimeError: nothing is there, and `download` is False.
            rushlight.utils.download.DownloadError: it cannot be fetched.
            ValueError: the archive is damaged.
        """
        if Path(folder).is_dir():
            return
        path = Path(root) / self.name
        if download:
            fetch([self.url], path, sha256=self.sha256)
        elif not path.is_file():
            raise RuntimeError(
                f"Dataset not found at {os.fspath(folder)}. Please set `download=True` to download "
                f"it, or fetch {self.url} yourself and put it into {os.fspath(root)}"
            )
        unpack(path, root if into is None else into)


def unpack(source: Location, folder: Location) -> Path:
    """Unpack a tar or zip file, a wheel or a Debian package into a folder, which gets nothing of
    a damaged archive.

    Members that would land outside the folder are refused.

    Raises:
        ValueError: the archive is damaged or unsafe, or its name says no kind that is known.
    """
    name, folder = os.fspath(source).lower(), Path(folder)
    if not name.endswith((*_TAR, *_ZIP, ".deb")):
        known = ", ".join((*_TAR, *_ZIP, ".deb"))
        raise ValueError(f"{source}: expected an archive (a name that ends in {known})")
    folder.mkdir(parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp(prefix=".unpacking-", dir=folder))
    try:
        if name.endswith(_ZIP):
            _unpack_zip(source, work)
        elif name.endswith(".deb"):
            with _data_of_deb(source) as archive:
                archive.extractall(work, filter="data")
        else:
            with tarfile.open(source) as archive:
                archive.extractall(work, filter="data")
        _move(work, folder)
    except _DAMAGE as error:
        raise ValueError(f"{source} is truncated, altered or unsafe: {error}") from error
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return folder


def _data_of_deb(source: Location) -> tarfile.TarFile:
    """The tar of files in a Debian package: an ar archive, each member behind 60 bytes that name
    it and say its size."""
    with open(source, "rb") as file:
        if file.read(8) != b"!<arch>\n":
            raise ValueError("it is no Debian package")
        while len(head := file.read(60)) == 60:
            name, size = head[:16].decode(errors="replace").strip(" /"), int(head[48:58])
            if name.startswith("data.tar"):
                return tarfile.open(fileobj=io.BytesIO(file.read(size)))
            file.seek(size + size % 2, os.SEEK_CUR)
    raise ValueError("it holds no data.tar")


def _unpack_zip(source: Location, folder: Path) -> None:
    with zipfile.ZipFile(source) as archive:
        for member in archive.infolist():
            parts = Path(member.filename.replace("\\", "/")).parts
            if ".." in parts or Path(member.filename).is_absolute():
                raise ValueError(f"its member {member.filename!r} leads out of the folder")
        archive.extractall(folder)


def _move(source: Path, target: Path) -> None:
    """Move what is in one folder into another; folders that are in both are joined."""
    for entry in source.iterdir():
        there = target / entry.name
        if entry.is_dir() and there.is_dir():
            _move(entry, there)
        else:
            os.replace(entry, there)
