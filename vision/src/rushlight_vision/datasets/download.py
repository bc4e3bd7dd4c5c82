"""Fetching files by :func:`rushlight.utils.download.fetch`, and unpacking what was fetched."""

from __future__ import annotations

import gzip
import os
import re
import urllib.parse
import zlib
from pathlib import Path

from rushlight.utils.download import DownloadError, fetch
from rushlight_vision.datasets import integrity
from rushlight_vision.datasets._unpacking import named
from rushlight_vision.datasets.integrity import BLOCK, Location

__all__ = ["DownloadError", "download_url", "fetch", "unpack_gzip"]


_DRIVE = "https://drive.usercontent.google.com/download?export=download&confirm=t&id="


def google_drive_url(file_id: str) -> str:
    """The address under which Google Drive hands out a file without asking questions."""
    return _DRIVE + urllib.parse.quote(file_id)


def download_url(
    url: str,
    root: Location,
    filename: str | None = None,
    md5: str | None = None,
    max_redirect_hops: int = 3,
) -> None:
    """Fetch one address into the folder `root`, as `filename` or under the address's own name.

    Pages of Google Drive (``https://drive.google.com/file/d/ID/...``) stand for the file they show.
    `max_redirect_hops` is accepted for torchvision's sake; Python's own limit of redirects holds.
    """
    name = filename or url.split("?")[0].rstrip("/").rsplit("/", 1)[-1]
    drive = re.match(r"https?://(?:drive|docs)\.google\.com/file/d/([^/?]+)", url)
    if drive:
        url = google_drive_url(drive[1])
    fetch([url], Path(root).expanduser() / name, md5=md5)


def unpack_gzip(source: Location, target: Location, md5: str | None = None) -> None:
    """Unpack a gzip file to `target`, which appears only when all of it is there and right.

    Raises `ValueError` with the path if the file is damaged or its content has another checksum.
    """
    part = Path(target).with_name(Path(target).name + ".part")
    try:
        with gzip.open(source, "rb") as packed, open(part, "wb") as file:
            while block := packed.read(BLOCK):
                file.write(block)
        if not integrity.check_integrity(part, md5):
            raise ValueError("its content does not match the checksum")
    except (EOFError, gzip.BadGzipFile, zlib.error, ValueError) as error:
        part.unlink(missing_ok=True)
        raise ValueError(f"{source} is truncated or altered: {error}") from None
    except OSError as error:
        part.unlink(missing_ok=True)
        raise named(error, source, part) from None
    os.replace(part, target)
