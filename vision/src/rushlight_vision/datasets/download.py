"""Fetching files by :func:`rushlight.utils.download.fetch`, and unpacking what was fetched."""

from __future__ import annotations

import gzip
import os
import zlib
from pathlib import Path

from rushlight.utils.download import DownloadError, fetch
from rushlight_vision.datasets.integrity import BLOCK, Location, check_integrity

__all__ = ["DownloadError", "download_url", "fetch", "unpack_gzip"]


def download_url(
    url: str, root: Location, filename: str | None = None, md5: str | None = None
) -> None:
    """Fetch one address into the folder `root`, as `filename` or under the address's own name."""
    name = filename or url.split("?")[0].rstrip("/").rsplit("/", 1)[-1]
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
        if not check_integrity(part, md5):
            raise ValueError("its content does not match the checksum")
    except (EOFError, gzip.BadGzipFile, zlib.error, ValueError) as error:
        part.unlink(missing_ok=True)
        raise ValueError(f"{source} is truncated or altered: {error}") from None
    os.replace(part, target)
