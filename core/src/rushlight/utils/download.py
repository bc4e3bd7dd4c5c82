"""Files from the network: checkpoints that are fetched once, checked, and kept."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import sys
import tempfile
import urllib.parse
import urllib.request
from pathlib import Path

_HASH = re.compile(r"-([a-f0-9]*)\.")  # of ``resnet18-f37072fd.pth``
_BLOCK = 1 << 17
_chosen: list = [None]


def torch_home() -> str:
    """The cache folder: ``$TORCH_HOME``, or ``torch`` under ``$XDG_CACHE_HOME`` or ``~/.cache``:
    PyTorch's own, so that files that are there already serve both."""
    default = os.path.join(os.getenv("XDG_CACHE_HOME", "~/.cache"), "torch")
    return os.path.expanduser(os.getenv("TORCH_HOME", default))


def get_dir() -> str:
    """Where downloads are kept: what :func:`set_dir` said, or ``hub`` in the cache folder."""
    return os.path.join(torch_home(), "hub") if _chosen[0] is None else _chosen[0]


def set_dir(d: str | os.PathLike) -> None:
    """Keep downloads in another folder."""
    _chosen[0] = os.path.expanduser(d)


def download_url_to_file(
    url: str, dst: str, hash_prefix: str | None = None, progress: bool = True
) -> None:
    """Fetch `url` into the file `dst`, which appears only when all of it is there.

    With `hash_prefix` the SHA-256 of the content, in hexadecimal digits, must begin with it.
    `progress` shows how much has arrived, on a terminal.
    """
    dst = os.path.expanduser(dst)
    request = urllib.request.Request(url, headers={"User-Agent": "rushlight.hub"})
    digest = hashlib.sha256()
    handle, temporary = tempfile.mkstemp(".partial", dir=os.path.dirname(os.path.abspath(dst)))
    try:
        with os.fdopen(handle, "wb") as file, urllib.request.urlopen(request) as source:  # noqa: S310
            total, done = int(source.headers.get("Content-Length") or 0), 0
            show = progress and sys.stderr.isatty()
            while block := source.read(_BLOCK):
                file.write(block)
                digest.update(block)
                done += len(block)
                if show:
                    share = f" of {total / 1e6:.1f}" if total else ""
                    sys.stderr.write(f"\r{done / 1e6:.1f}{share} MB")
            if show:
                sys.stderr.write("\n")
        if total and done != total:
            raise RuntimeError(f"{url}: the connection ended after {done} of {total} bytes")
        if hash_prefix and not digest.hexdigest().startswith(hash_prefix):
            raise RuntimeError(
                f'invalid hash value (expected "{hash_prefix}", got "{digest.hexdigest()}")'
            )
        shutil.move(temporary, dst)
    finally:
        Path(temporary).unlink(missing_ok=True)


def load_state_dict_from_url(
    url: str,
    model_dir: str | None = None,
    map_location=None,
    progress: bool = True,
    check_hash: bool = False,
    file_name: str | None = None,
    weights_only: bool = True,
):
    """The object in the checkpoint at `url`, fetched unless `model_dir` (default: ``checkpoints``
    in :func:`get_dir`) has it.

    `check_hash` takes the digits between the last dash and the dot of the file's name for the
    beginning of its SHA-256. Unlike in PyTorch `weights_only` is True by default: a file from the
    network runs no code unless it is asked for.
    """
    from rushlight.serialization import load

    folder = Path(os.path.join(get_dir(), "checkpoints") if model_dir is None else model_dir)
    folder.mkdir(parents=True, exist_ok=True)
    name = file_name or os.path.basename(urllib.parse.urlparse(url).path)
    path = folder / name
    if not path.exists():
        found = _HASH.search(name) if check_hash else None
        sys.stderr.write(f'Downloading: "{url}" to {path}\n')
        download_url_to_file(url, str(path), found.group(1) if found else None, progress)
    return load(str(path), map_location=map_location, weights_only=weights_only)
