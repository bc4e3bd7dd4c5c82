"""The files that torchaudio's tutorials and pipelines are made with."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from rushlight.utils.download import fetch, get_dir

__all__ = ["download_asset"]

_ADDRESS = "https://download.pytorch.org/torchaudio/"


def download_asset(
    key: str, hash: str = "", path: str | os.PathLike = "", *, progress: bool = True
) -> str:
    """The path of a file that torchaudio publishes; fetched where it is not there.

    Args:
        key: its name, ``"tutorial-assets/steam-train-whistle-daniel_simon.wav"``.
        hash: SHA-256 sum of the content; "" to look at none.
        path: where to keep it; "" for the cache folder of `rushlight.hub`.
        progress: show how far it is.

    Raises:
        ValueError: the file that is there has another sum.
        rushlight.utils.download.DownloadError: it cannot be fetched.
    """
    target = Path(path) if path else Path(get_dir()) / "torchaudio" / key
    if target.exists():
        _check(target, hash)
    else:
        sums: dict[str, Any] = {"sha256": hash} if hash else {}
        fetch([_ADDRESS + key], target, progress=progress, **sums)
    return str(target)


def _check(path: Path, expected: str) -> None:
    import hashlib

    digest = hashlib.sha256(path.read_bytes()).hexdigest() if expected else ""
    if digest != expected:
        raise ValueError(
            f"download_asset(): {path} has the SHA-256 sum {digest}, not {expected}; remove it to "
            "fetch it again"
        )
