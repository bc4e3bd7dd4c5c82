"""Whether a file is the one that was meant."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

BLOCK = 1 << 20
Location = str | os.PathLike[str]


def calculate_md5(fpath: Location, chunk_size: int = BLOCK) -> str:
    """The MD5 sum of a file, in hexadecimal."""
    digest = hashlib.md5(usedforsecurity=False)
    with open(fpath, "rb") as file:
        while block := file.read(chunk_size):
            digest.update(block)
    return digest.hexdigest()


def check_integrity(fpath: Location, md5: str | None = None) -> bool:
    """Whether the file exists and, where `md5` is given, has that sum."""
    if not Path(fpath).is_file():
        return False
    return md5 is None or calculate_md5(fpath) == md5
