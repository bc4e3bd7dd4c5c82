"""Fetching files: mirrors in turn, resumed where an earlier try stopped, checked, then renamed.

A file is written as `<name>.part` beside its place and takes its name only when it is complete and
its checksum is right, so that what has the name can be used.
"""

from __future__ import annotations

import gzip
import http.client
import os
import sys
import urllib.error
import urllib.request
import warnings
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rushlight_vision.datasets.integrity import BLOCK, Location, calculate_md5, check_integrity

AGENT = "rushlight-vision"
TIMEOUT = 30.0  # seconds without a byte
TRIES = 3  # of one address, each going on where the one before was cut off


class DownloadError(RuntimeError):
    """A file could not be fetched from any address."""


class _Unusable(Exception):
    """One address did not give the file."""


def _open(url: str, start: int) -> Any:
    headers = {"User-Agent": AGENT}
    if start:
        headers["Range"] = f"bytes={start}-"
    return urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=TIMEOUT)


def _write(file: Any, block: bytes, path: Path) -> None:
    try:
        file.write(block)
    except OSError as error:
        raise OSError(error.errno, f"cannot write the download: {error.strerror}", str(path)) from (
            None
        )


def _transfer(url: str, part: Path) -> bool:
    """Append to `part` what is missing; return whether an earlier part was gone on with."""
    start = part.stat().st_size if part.exists() else 0
    try:
        response = _open(url, start)
    except urllib.error.HTTPError as error:
        if error.code == 416 and start:  # nothing after what is there
            return True
        raise
    with response:
        resumed = start > 0 and response.status == 206
        if resumed:
            first = response.headers.get("Content-Range", "").removeprefix("bytes ").split("-")[0]
            if first != str(start):
                raise _Unusable(f"asked for bytes from {start} on, got them from {first!r} on")
        announced = response.headers.get("Content-Length")
        received = 0
        with open(part, "ab" if resumed else "wb") as file:
            while block := response.read(BLOCK):
                _write(file, block, part)
                received += len(block)
    if announced is not None and received < int(announced):
        raise http.client.IncompleteRead(b"", int(announced) - received)
    return resumed


def _fetch_from(url: str, part: Path, md5: str | None) -> None:
    """Complete `part` from one address, or raise `_Unusable`."""
    reason = ""
    for _ in range(TRIES):
        try:
            resumed = _transfer(url, part)
        except (http.client.IncompleteRead, ConnectionError, TimeoutError) as error:
            reason = f"cut off ({error})"
            continue
        except urllib.error.HTTPError as error:
            raise _Unusable(f"HTTP {error.code} {error.reason}") from None
        except urllib.error.URLError as error:
            raise _Unusable(str(error.reason)) from None
        except (http.client.HTTPException, ValueError) as error:
            raise _Unusable(str(error) or type(error).__name__) from None
        if md5 is None or calculate_md5(part) == md5:
            return
        part.unlink()
        reason = "what it gives does not match the checksum"
        if not resumed:  # the whole file came from here: again would bring the same
            break
        warnings.warn(
            f"{part}: an earlier part and its continuation from {url} do not match the checksum; "
            "fetching the whole file again",
            RuntimeWarning,
            stacklevel=4,
        )
    raise _Unusable(reason)


def fetch(urls: Sequence[str], path: Location, md5: str | None = None) -> None:
    """Bring a file to `path` from the first of `urls` that gives it whole and right.

    A file that is there with the right checksum stays. One with a wrong sum (truncated or altered)
    is named in a `RuntimeWarning` and fetched again. Raises `DownloadError` with the reason for
    every address if none works, and `OSError` with the path if the disk does not take the file.
    """
    path = Path(path)
    if path.exists():
        if check_integrity(path, md5):
            return
        warnings.warn(
            f"{path} does not match its checksum (truncated or altered); fetching it again",
            RuntimeWarning,
            stacklevel=2,
        )
        path.unlink()
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    reasons = []
    for url in urls:
        print(f"downloading {url} to {path}", file=sys.stderr)
        try:
            _fetch_from(url, part, md5)
        except _Unusable as error:
            reasons.append(f"{url}: {error}")
            print(f"  {error}", file=sys.stderr)
            continue
        os.replace(part, path)
        return
    raise DownloadError(f"{path.name} could not be downloaded: " + "; ".join(reasons))


def download_url(
    url: str, root: Location, filename: str | None = None, md5: str | None = None
) -> None:
    """Fetch one address into the folder `root`, as `filename` or under the address's own name."""
    name = filename or url.split("?")[0].rstrip("/").rsplit("/", 1)[-1]
    fetch([url], Path(root).expanduser() / name, md5)


def unpack_gzip(source: Location, target: Location, md5: str | None = None) -> None:
    """Unpack a gzip file to `target`, which appears only when all of it is there and right.

    Raises `ValueError` with the path if the file is damaged or its content has another checksum.
    """
    part = Path(target).with_name(Path(target).name + ".part")
    try:
        with gzip.open(source, "rb") as packed, open(part, "wb") as file:
            while block := packed.read(BLOCK):
                _write(file, block, part)
        if not check_integrity(part, md5):
            raise ValueError("its content does not match the checksum")
    except (EOFError, gzip.BadGzipFile, zlib.error, ValueError) as error:
        part.unlink(missing_ok=True)
        raise ValueError(f"{source} is truncated or altered: {error}") from None
    os.replace(part, target)
