"""Where sound comes from: paths, web addresses, file objects."""

from __future__ import annotations

import contextlib
import io
import os
import tempfile
import urllib.parse
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

__all__ = ["Source", "is_address", "is_path", "opened", "shown"]

Source = str | os.PathLike | BinaryIO


def is_path(uri: Any) -> bool:
    """Whether a source is named rather than handed over."""
    return isinstance(uri, (str, os.PathLike))


def is_address(uri: Any) -> bool:
    """Whether a source is on the web."""
    return isinstance(uri, str) and uri.startswith(("http://", "https://"))


def shown(uri: Any) -> str:
    """What error messages call a source."""
    return str(uri) if is_path(uri) else f"<{type(uri).__name__}>"


@contextlib.contextmanager
def opened(op: str, uri: Source) -> Iterator[Path | BinaryIO]:
    """A path that exists or a file object that can seek; what is on the web is fetched first."""
    if is_address(uri):
        with _fetched(op, str(uri)) as path:
            yield path
    elif isinstance(uri, (str, os.PathLike)):
        yield _existing(op, Path(uri))
    elif hasattr(uri, "read"):
        yield _seekable(uri)
    else:
        raise TypeError(
            f"{op}(): argument 'uri' must be a path, an address or a binary file object, not "
            f"{type(uri).__name__}"
        )


def _existing(op: str, path: Path) -> Path:
    if not path.exists():
        raise FileNotFoundError(f"{op}(): no such file: {str(path)!r}")
    if path.is_dir():
        raise IsADirectoryError(f"{op}(): {path}: is a folder, not a sound file")
    if path.stat().st_size == 0:
        raise RuntimeError(f"{op}(): {path}: the file is empty (0 bytes)")
    return path


def _seekable(file: Any) -> BinaryIO:
    """The object itself, or what it holds where it can only be read from front to back."""
    ask = getattr(file, "seekable", None)
    if hasattr(file, "seek") and hasattr(file, "tell") and (ask is None or ask()):
        return file
    return io.BytesIO(b"".join(iter(lambda: file.read(1 << 20), b"")))


@contextlib.contextmanager
def _fetched(op: str, address: str) -> Iterator[Path]:
    # Here: it takes a fifth of the time that importing the package does.
    from rushlight.utils.download import DownloadError, fetch

    name = Path(urllib.parse.urlsplit(address).path).name or "sound"
    with tempfile.TemporaryDirectory(prefix="rushlight-audio-") as folder:
        path = Path(folder) / name
        try:
            fetch([address], path, progress=False)
        except DownloadError as error:
            raise DownloadError(
                f"{op}(): {address} cannot be fetched; download it yourself and pass its path "
                f"({error})"
            ) from None
        yield _existing(op, path)
