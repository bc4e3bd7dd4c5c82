"""Files: download, check, unpack; the names of ``torchtext.utils``."""

from __future__ import annotations

import gzip
import hashlib
import os
import re
import shutil
import tarfile
import urllib.parse
import zipfile
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import IO, Any, Protocol

from rushlight.utils.download import DownloadError, fetch, mirrors, torch_home

__all__ = [
    "download_from_url",
    "extract_archive",
    "get_asset_local_path",
    "reporthook",
    "validate_file",
]

BUCKET = "https://download.pytorch.org/models/text/"
_DRIVE = "https://drive.usercontent.google.com/download?export=download&confirm=t&id="
_HASHES = ("sha256", "md5")


class Bar(Protocol):
    """What :func:`reporthook` moves, such as a bar of tqdm."""

    total: Any

    def update(self, count: int, /) -> Any:
        """Move on by so many bytes."""


def reporthook(t: Bar) -> Callable[..., None]:
    """A hook for ``urllib.request.urlretrieve`` that moves a tqdm bar `t`.

    >>> class Bar:
    ...     total, done = None, 0
    ...     def update(self, count): self.done += count
    >>> bar = Bar()
    >>> reporthook(bar)(3, 10, 100)
    >>> bar.done, bar.total
    (30, 100)
    """
    reached = [0]

    def inner(b: int = 1, bsize: int = 1, tsize: int | None = None) -> None:
        if tsize is not None:
            t.total = tsize
        t.update((b - reached[0]) * bsize)
        reached[0] = b

    return inner


def validate_file(file_obj: IO[bytes], hash_value: str, hash_type: str = "sha256") -> bool:
    """Whether the rest of an open binary file has a digest; `hash_type` is sha256 or md5."""
    if hash_type not in _HASHES:
        raise ValueError(f"validate_file(): hash_type must be one of {_HASHES}, got {hash_type!r}")
    digest = hashlib.new(hash_type)
    while block := file_obj.read(1 << 20):
        digest.update(block)
    return digest.hexdigest() == hash_value


def download_from_url(
    url: str,
    path: str | None = None,
    root: str = ".data",
    overwrite: bool = False,
    hash_value: str | None = None,
    hash_type: str = "sha256",
) -> str:
    """Fetch a file unless it is there, and give its absolute path.

    Args:
        url: the address; a link of Google Drive stands for the file it shows.
        path: the file to write; default: the address's own name in `root`.
        root: folder for it; made if need be.
        overwrite: fetch it again even if it is there.
        hash_value: digest it must have, in hexadecimal digits.
        hash_type: ``"sha256"`` or ``"md5"``.

    Raises:
        DownloadError: no address gave it; the text says where to put the file by hand.
        RuntimeError: a file that is there, or was fetched, has another digest.
    """
    if hash_value is not None and hash_type not in _HASHES:
        raise ValueError(f"download_from_url(): hash_type must be one of {_HASHES}: {hash_type!r}")
    name = os.path.basename(urllib.parse.urlparse(url).path) if path is None else path
    target = Path(os.path.abspath(name if path is not None else os.path.join(root, name)))
    if overwrite:
        target.unlink(missing_ok=True)
    if not target.is_file():
        digest = {hash_type: hash_value} if hash_value else {}
        _bring(url, target, digest)
    if hash_value is not None:
        with open(target, "rb") as file:
            if not validate_file(file, hash_value, hash_type):
                raise RuntimeError(
                    f"The hash of {target} does not match. Delete the file manually and retry."
                )
    return str(target)


def _bring(url: str, target: Path, digest: dict[str, Any]) -> None:
    try:
        fetch([*mirrors(target.name), _direct(url)], target, **digest)
    except DownloadError as error:
        raise DownloadError(
            f"{error}. Without network, put the file into {target.parent} as {target.name}, or "
            "name a folder or server that has it in RUSHLIGHT_MIRRORS"
        ) from None


def _direct(url: str) -> str:
    drive = re.search(r"drive\.google\.com/(?:file/d/|uc\?.*?id=)([\w-]+)", url)
    return _DRIVE + drive[1] if drive else url


def extract_archive(
    from_path: str, to_path: str | None = None, overwrite: bool = False
) -> list[str]:
    """Unpack a tar, zip or gzip file into a folder and give the paths of its files.

    Args:
        from_path: the archive.
        to_path: the folder; default: that of the archive.
        overwrite: write files that are there anew.

    Raises:
        NotImplementedError: another kind of file.
        ValueError: a member would land outside the folder, or the archive is damaged.
    """
    folder = os.path.dirname(from_path) if to_path is None else to_path
    if from_path.endswith((".tar.gz", ".tgz", ".tar")):
        return _untar(from_path, folder, overwrite)
    if from_path.endswith(".zip"):
        return _unzip(from_path, folder, overwrite)
    if from_path.endswith(".gz"):
        target = os.path.join(folder, os.path.basename(from_path)[:-3])
        with gzip.open(from_path, "rb") as packed:
            _write(packed, target, overwrite)
        return [target]
    raise NotImplementedError(
        f"extract_archive(): {from_path!r} is none of .tar.gz, .tgz, .tar, .gz, .zip; unpack it "
        "with the library of its format"
    )


def _untar(path: str, folder: str, overwrite: bool) -> list[str]:
    found = []
    try:
        with tarfile.open(path) as archive:
            for member in archive:
                source = archive.extractfile(member) if member.isfile() else None
                if source is not None:
                    found.append(_member(path, folder, member.name))
                    _write(source, found[-1], overwrite)
    except (tarfile.TarError, EOFError) as error:
        raise ValueError(f"{path}: damaged archive: {error}") from error
    return found


def _unzip(path: str, folder: str, overwrite: bool) -> list[str]:
    found = []
    try:
        with zipfile.ZipFile(path) as archive:
            for entry in archive.infolist():
                if not entry.is_dir():
                    found.append(_member(path, folder, entry.filename))
                    with archive.open(entry) as source:
                        _write(source, found[-1], overwrite)
    except zipfile.BadZipFile as error:
        raise ValueError(f"{path}: damaged archive: {error}") from error
    return found


def _member(archive: str, folder: str, name: str) -> str:
    inner = PurePosixPath(name)
    if inner.is_absolute() or ".." in inner.parts:
        raise ValueError(f"{archive}: member {name!r} would land outside {folder!r}")
    return os.path.join(folder, *inner.parts)


def _write(source: Any, target: str, overwrite: bool) -> None:
    """Write a file that appears only when it is whole."""
    if os.path.exists(target) and not overwrite:
        return
    os.makedirs(os.path.dirname(target) or ".", exist_ok=True)
    part = target + ".part"
    with open(part, "wb") as file:
        shutil.copyfileobj(source, file)
    os.replace(part, target)


def get_asset_local_path(asset_path: str, overwrite: bool = False) -> str:
    """A local path as it is; the file of an address in the cache (``$TORCH_HOME/text``), fetched
    if need be.

    Raises DownloadError as :func:`download_from_url`, FileNotFoundError for a path without a file.
    """
    if os.path.exists(asset_path):
        return asset_path
    if "://" not in asset_path:
        raise FileNotFoundError(f"no such file: {asset_path!r}")
    name = os.path.basename(urllib.parse.urlparse(asset_path).path)
    return download_from_url(
        asset_path, path=os.path.join(torch_home(), "text", name), overwrite=overwrite
    )
