"""Files from the network: fetched once, checked, and kept."""

from __future__ import annotations

import contextlib
import os
import re
import sys
import time
import urllib.error
import urllib.parse
import warnings
from pathlib import Path

from rushlight.utils.transfer import Expected, Part, Unusable, complete

_HASH = re.compile(r"-([a-f0-9]{8,64})\.")  # of ``resnet18-f37072fd.pth``
_FORMER_PARTS = "tmp*.partial"  # of versions that did not go on with them
_MIRRORS = "RUSHLIGHT_MIRRORS"
_chosen: list = [None]


class DownloadError(urllib.error.URLError, RuntimeError):
    """A file could not be fetched from any address; the text says why for each."""

    def __init__(self, text):
        super().__init__(text)
        self.text = text

    def __str__(self):
        return self.text


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


def mirrors(name: str) -> list[str]:
    """Where else a file called `name` may be: in the folders and under the addresses that
    ``$RUSHLIGHT_MIRRORS`` names, separated by spaces.

    >>> os.environ["RUSHLIGHT_MIRRORS"] = "/srv/weights http://files.local/models"
    >>> mirrors("resnet18-f37072fd.pth")
    ['file:///srv/weights/resnet18-f37072fd.pth', 'http://files.local/models/resnet18-f37072fd.pth']
    >>> del os.environ["RUSHLIGHT_MIRRORS"]
    """
    found = []
    for place in os.getenv(_MIRRORS, "").split():
        base = place if "://" in place else Path(place).expanduser().absolute().as_uri()
        found.append(f"{base.rstrip('/')}/{urllib.parse.quote(name)}")
    return found


def fetch(urls, path, *, md5=None, sha256=None, size=None, progress=True) -> None:
    """Bring a file to `path` from the first of `urls` that gives it whole and right.

    `md5` and `sha256` are digests of the content in hexadecimal digits, or how they begin; `size`
    is its number of bytes. A file that is there and right stays; one that is not is named in a
    RuntimeWarning and fetched again. The file has its name only when all of it is there; a try that
    is cut off, or killed, is gone on with by the next. Of processes that want the same file at once
    one fetches it. An address is given up when nothing comes for 30 seconds, or next to nothing for
    a minute, three times; an HTML page is taken for a file only where the name ends like one.

    Raises DownloadError with the reason for every address if none works, and OSError with the path
    if the disk does not take the file.

    >>> import pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "a").write_bytes(b"content")
    >>> fetch([(folder / "a").as_uri()], folder / "b", size=7, progress=False)
    >>> (folder / "b").read_bytes()
    b'content'
    """
    if isinstance(urls, str):
        urls = [urls]
    path, expected = Path(path), Expected(md5, sha256, size)
    part = Part(path)  # looks at what is there, so that a change is seen
    if _is_there(path, expected):
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    _remove_former_parts(path.parent)
    with part:
        if _fetched_meanwhile(part, expected):
            return
        reasons = []
        for url in urls:
            reason = _try(url, part, expected, progress)
            if not reason:
                return
            reasons.append(reason)
    raise DownloadError(f"{path.name} could not be downloaded: " + "; ".join(reasons))


def _fetched_meanwhile(part, expected):
    """Whether another process has brought the file, and it is right."""
    return part.is_done() and not expected.fault(part.target)


def _try(url, part, expected, progress):
    """Why an address does not give the file; "" if it does."""
    print(f"downloading {url} to {part.target}", file=sys.stderr)
    try:
        complete(url, part, expected, progress)
        part.finish()
        return ""
    except urllib.error.HTTPError as error:
        reason = f"HTTP {error.code} {error.reason}"
    except Unusable as error:
        reason = str(error)
    print(f"  {reason}", file=sys.stderr)
    return f"{url}: {reason}"


def _is_there(path, expected):
    if not path.is_file():
        return False
    fault = expected.fault(path)
    if fault:
        warnings.warn(
            f"{path} is truncated or altered ({fault}); fetching it again",
            RuntimeWarning,
            stacklevel=3,
        )
        path.unlink()
    return not fault


def _remove_former_parts(folder):
    """What processes that were killed left, and nothing goes on with."""
    for part in folder.glob(_FORMER_PARTS):
        with contextlib.suppress(OSError):
            if time.time() - part.stat().st_mtime > 86400:
                part.unlink()


def download_url_to_file(
    url: str, dst: str, hash_prefix: str | None = None, progress: bool = True
) -> None:
    """Fetch `url` into the file `dst`, which appears only when all of it is there.

    With `hash_prefix` the SHA-256 of the content, in hexadecimal digits, must begin with it.
    `progress` shows how much has arrived, on a terminal. A try that was cut off is gone on with;
    see :func:`rushlight.utils.download.fetch`.

    Raises ``urllib.error.HTTPError`` where the server refuses, RuntimeError where the file is cut
    off, is another one, or is a page in HTML.
    """
    path, expected = Path(os.path.expanduser(dst)), Expected(sha256=hash_prefix)
    _remove_former_parts(path.parent)
    with Part(path) as part:
        if _fetched_meanwhile(part, expected):
            return
        try:
            complete(url, part, expected, progress)
            part.finish()
        except Unusable as error:
            raise DownloadError(f"{url}: {error}") from None


def _name_of(url, file_name):
    """The name of the file in the folder of checkpoints."""
    name = os.path.basename(urllib.parse.urlparse(url).path) if file_name is None else file_name
    if not name or name in (".", "..") or os.path.basename(name) != name or "\\" in name:
        raise ValueError(
            f"file_name: expected the name of a file in the folder of checkpoints, got {name!r} "
            f"(from {url!r})"
        )
    return name


def _hash_in(name):
    found = _HASH.search(name)
    if found is None:
        raise ValueError(
            f"check_hash: {name!r} has no hash in its name, as in 'resnet18-f37072fd.pth'; pass "
            "the file's published name as file_name, or check_hash=False"
        )
    return found[1]


def _bring(url, path, digest, progress):
    """Fetch a checkpoint; an error says what helps where there is no network."""
    others = mirrors(path.name)
    try:
        if others:
            fetch([*others, url], path, sha256=digest, progress=progress)
            return
        sys.stderr.write(f'Downloading: "{url}" to {path}\n')
        download_url_to_file(url, str(path), digest, progress)
    except DownloadError as error:
        raise DownloadError(
            f"{error}. Without network, put the file into {path.parent} as {path.name}, or name a "
            f"folder or server that has it in {_MIRRORS}"
        ) from None


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

    `check_hash` takes the eight or more digits between the last dash and the dot of the file's name
    for the beginning of its SHA-256, and checks a file that is there, too; a name without them is a
    ValueError, as is a `file_name` that leads out of the folder. Unlike in PyTorch `weights_only`
    is True by default: a file from the network runs no code unless it is asked for. Folders and
    addresses in ``$RUSHLIGHT_MIRRORS`` (see :func:`rushlight.utils.download.mirrors`) are asked
    before `url`.
    """
    from rushlight.serialization import load

    folder = Path(os.path.join(get_dir(), "checkpoints") if model_dir is None else model_dir)
    name = _name_of(url, file_name)
    digest = _hash_in(name) if check_hash else None
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    if not _is_there(path, Expected(sha256=digest)):
        _bring(url, path, digest, progress)
    return load(str(path), map_location=map_location, weights_only=weights_only)
