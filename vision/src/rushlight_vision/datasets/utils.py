"""Helpers for data sets: checksums, downloads, archives, listings; `torchvision.datasets.utils`."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

from rushlight_vision.datasets._unpacking import unpack
from rushlight_vision.datasets.download import (
    DownloadError,
    download_url,
    fetch,
    google_drive_url,
)
from rushlight_vision.datasets.integrity import Location, calculate_md5, check_integrity

__all__ = [
    "DownloadError",
    "calculate_md5",
    "check_integrity",
    "check_md5",
    "download_and_extract_archive",
    "download_file_from_google_drive",
    "download_url",
    "extract_archive",
    "iterable_to_str",
    "list_dir",
    "list_files",
    "verify_str_arg",
]


def check_md5(fpath: Location, md5: str, **kwargs: Any) -> bool:
    """Whether a file has an MD5 sum. `kwargs` go to :func:`calculate_md5`."""
    return calculate_md5(fpath, **kwargs) == md5


def download_file_from_google_drive(
    file_id: str, root: Location, filename: str | None = None, md5: str | None = None
) -> None:
    """Fetch a file of Google Drive into `root`, as `filename` (by default its id).

    A page that asks or refuses, which the service sends instead of a file when many want it, counts
    as a failure: DownloadError says so.
    """
    fetch([google_drive_url(file_id)], Path(root).expanduser() / (filename or file_id), md5=md5)


def extract_archive(
    from_path: Location, to_path: Location | None = None, remove_finished: bool = False
) -> Location:
    """Unpack a tar or zip file, or a file packed by gzip, bzip2 or xz, beside itself or into
    `to_path`.

    Gives the folder, or the file of a single packed one: a string for a string, else a path. With
    `remove_finished` the archive goes. Members that would land outside the folder are refused.

    >>> import gzip, pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "a.txt.gz").write_bytes(gzip.compress(b"text"))
    >>> extract_archive(folder / "a.txt.gz").read_bytes()
    b'text'

    """
    found = unpack(from_path, os.path.dirname(from_path) if to_path is None else to_path)
    if remove_finished:
        os.remove(from_path)
    return os.fspath(found) if isinstance(from_path, str) else found


def download_and_extract_archive(
    url: str,
    download_root: Location,
    extract_root: Location | None = None,
    filename: str | None = None,
    md5: str | None = None,
    remove_finished: bool = False,
) -> None:
    """Fetch an archive into `download_root` and unpack it there or in `extract_root`."""
    folder = Path(download_root).expanduser()
    download_url(url, folder, filename, md5)
    archive = folder / (filename or os.path.basename(url))
    extract_archive(archive, extract_root or folder, remove_finished)


def list_dir(root: Location, prefix: bool = False) -> list[str]:
    """The names of folders in a folder, sorted; with `prefix` their paths."""
    return _listed(root, prefix, lambda entry: entry.is_dir())


def list_files(root: Location, suffix: str, prefix: bool = False) -> list[str]:
    """The names of files in a folder that end in `suffix`, sorted; with `prefix` their paths."""
    return _listed(root, prefix, lambda entry: entry.is_file() and entry.name.endswith(suffix))


def _listed(root: Location, prefix: bool, wanted: Any) -> list[str]:
    root = os.path.expanduser(root)
    names = sorted(entry.name for entry in os.scandir(root) if wanted(entry))
    return [os.path.join(root, name) for name in names] if prefix else names


def iterable_to_str(iterable: Iterable[Any]) -> str:
    """Values in quotation marks with commas between them.

    >>> iterable_to_str(["train", "test"])
    "'train', 'test'"
    """
    return ", ".join(f"'{value}'" for value in iterable)


def verify_str_arg(
    value: Any,
    arg: str | None = None,
    valid_values: Collection[str] | None = None,
    custom_msg: str | None = None,
) -> str:
    """The value, if it is a string and one of `valid_values`; ValueError otherwise.

    >>> verify_str_arg("val", "split", ("train", "test"))
    Traceback (most recent call last):
    ...
    ValueError: split must be one of 'train', 'test', got 'val'
    """
    name = arg or "value"
    if not isinstance(value, str):
        raise ValueError(f"{name} must be a string, got {type(value).__name__}")
    if valid_values is not None and value not in valid_values:
        expected = iterable_to_str(valid_values)
        raise ValueError(custom_msg or f"{name} must be one of {expected}, got {value!r}")
    return value
