"""Helpers of data sets by the names that torchaudio had for them: `datasets.utils`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from rushlight.utils.download import fetch
from rushlight_audio.datasets.archives import Location, unpack

__all__ = ["download_url", "extract_archive"]


def download_url(
    url: str,
    download_folder: Location,
    filename: str | None = None,
    hash_value: str | None = None,
    hash_type: str = "sha256",
    progress_bar: bool = True,
    resume: bool = False,
) -> None:
    """Fetch an address into a folder, under its own name or `filename`.

    `hash_value` is a sum of the content, of the kind ``"sha256"`` or ``"md5"``. A download that was
    cut off is gone on with, whatever `resume` says.

    Raises:
        rushlight.utils.download.DownloadError: it cannot be fetched, or is not what was expected.
    """
    if hash_type not in ("sha256", "md5"):
        raise ValueError(f"download_url(): hash_type must be 'sha256' or 'md5', got {hash_type!r}")
    name = filename or url.split("?")[0].rstrip("/").rsplit("/", 1)[-1]
    sums: dict[str, Any] = {hash_type: hash_value} if hash_value else {}
    fetch([url], Path(download_folder) / name, progress=progress_bar, **sums)


def extract_archive(
    from_path: str, to_path: str | None = None, overwrite: bool = False
) -> list[str]:
    """Unpack a tar or zip file beside itself or into a folder; gives the paths of its files.

    Files that are there are replaced, whatever `overwrite` says.
    """
    folder = os.path.dirname(from_path) if to_path is None else to_path
    before = _stamps(folder)
    unpack(from_path, folder or ".")
    after = _stamps(folder)
    return sorted(path for path, stamp in after.items() if before.get(path) != stamp)


def _stamps(folder: str) -> dict[str, tuple[int, int]]:
    found = {}
    for root, _, names in os.walk(folder or "."):
        for name in names:
            path = os.path.join(root, name)
            state = os.stat(path)
            found[path] = (state.st_ino, state.st_mtime_ns)
    return found
