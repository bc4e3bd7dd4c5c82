"""One file from one address, or none of it: what a server sends is checked before it has a name.

The bytes are appended to ``NAME.part`` beside the place, which is locked, so that of several
processes one fetches and the others find the file. What is there of an earlier try is gone on with,
also of a process that was killed, where the server says that it is still the same file (RFC 9110,
``If-Range``) or a checksum will tell.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import http.client
import os
import re
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path
from typing import BinaryIO

from rushlight.serialization.atomic import is_at, locked

BLOCK = 1 << 17
TIMEOUT = 30.0  # seconds without a byte
SLOWEST, FOR = 200, 60.0  # bytes a second, over so many seconds: less is no transfer
TRIES = 3  # of one address, each going on where the one before was cut off
AGENT = "rushlight"
_PAGES = (b"<!doctype html", b"<html", b"<!--")
_CUT_OFF = (http.client.IncompleteRead, ConnectionError, TimeoutError)


class Unusable(Exception):
    """One address did not give the file; the text says why."""


class Expected:
    """What is known of a file beforehand: digests in hexadecimal, the beginning of which is
    enough, and its bytes."""

    def __init__(self, md5=None, sha256=None, size=None):
        self.digests = {name: d for name, d in (("md5", md5), ("sha256", sha256)) if d}
        self.size = size

    def fault(self, path) -> str:
        """What is wrong with the file at `path`; "" if nothing."""
        size = os.path.getsize(path)
        if self.size is not None and size != self.size:
            return f"it has {size} bytes instead of {self.size}"
        for name, digest in self.digests.items():
            with open(path, "rb") as file:
                found = _hexdigest(file, name)
            if not found.startswith(digest.lower()):
                return f'invalid hash value (expected "{digest}", got "{found}")'
        return ""


def _hexdigest(file, name):
    digest = hashlib.new(name, usedforsecurity=False)
    while block := file.read(BLOCK):
        digest.update(block)
    return digest.hexdigest()


class Part:
    """The file that bytes are appended to, locked while it is open; `mark` beside it says of what
    version on the server they are."""

    file: BinaryIO

    def __init__(self, target: Path):
        self.target = target
        self.path = target.with_name(target.name + ".part")
        self.mark = target.with_name(target.name + ".part-of")
        self.before = _identity(target)

    def __enter__(self):
        if self.target.is_dir():
            raise IsADirectoryError(errno.EISDIR, "expected the name of a file", str(self.target))
        while True:
            self.file = open(_opened_here(self.path), "ab")  # closed by __exit__
            _lock(self.file, self.target)
            if is_at(self.file.fileno(), self.path):  # else another process has just finished it
                return self
            self.file.close()

    def __exit__(self, *_):
        if is_at(self.file.fileno(), self.path) and not self.size():
            self.remove()  # nothing has come, which helps no later try
        self.file.close()

    def is_done(self) -> bool:
        """Whether another process has brought the file since this one looked."""
        now = _identity(self.target)
        return now is not None and now != self.before

    def size(self) -> int:
        """Bytes that have arrived."""
        return os.fstat(self.file.fileno()).st_size

    def begin(self, position, mark) -> None:
        """Go on at `position`, with what the server says of its version."""
        self.file.truncate(position)
        self.mark.write_text(mark)

    def write(self, block) -> None:
        """Append; an OSError names the file."""
        try:
            self.file.write(block)
        except OSError as error:
            message = f"cannot write the download: {error.strerror}"
            raise OSError(error.errno, message, str(self.path)) from None

    def drop(self) -> None:
        """Remove what has arrived."""
        self.file.truncate(0)
        self.mark.unlink(missing_ok=True)

    def finish(self) -> None:
        """Give the file its name."""
        self.file.flush()
        os.replace(self.path, self.target)
        self.mark.unlink(missing_ok=True)

    def remove(self) -> None:
        """Leave nothing behind."""
        self.path.unlink(missing_ok=True)
        self.mark.unlink(missing_ok=True)


def _opened_here(path):
    """A descriptor to append by; a link of that name is not followed."""
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
    return os.open(path, flags | getattr(os, "O_CLOEXEC", 0), 0o666)


def _lock(file, target):
    """Keep other processes from the part, where the file system has locks."""
    if locked(file.fileno()) is False:
        print(f"waiting for another process, which fetches {target}", file=sys.stderr)
        fcntl.flock(file, fcntl.LOCK_EX)


def _identity(path):
    with contextlib.suppress(OSError):
        status = os.stat(path)
        return status.st_dev, status.st_ino, status.st_mtime_ns
    return None


# ---- the transfer --------------------------------------------------------------------------------


def _opened(url, start, mark):
    headers = {"User-Agent": AGENT, "Accept-Encoding": "identity"}
    if start:
        headers["Range"] = f"bytes={start}-"
        if mark:
            headers["If-Range"] = mark
    request = urllib.request.Request(url, headers=headers)
    return urllib.request.urlopen(request, timeout=TIMEOUT)  # noqa: S310 - the user's address


def _mark_of(headers):
    """What names a version of the file: a strong entity tag, else its date."""
    tag = headers.get("ETag", "")
    return tag if tag.startswith('"') else headers.get("Last-Modified", "")


def _read_mark(path):
    """What a mark says; nothing where it is damaged, since a header could not hold it."""
    with contextlib.suppress(OSError, UnicodeDecodeError):
        text = path.read_text("ascii")
        if text.isprintable():
            return text
    return ""


def _start(part, expected):
    """Where to go on, and the mark that the server has to agree with."""
    mark = _read_mark(part.mark)
    return (part.size() if mark or expected.digests else 0), mark


def _resumes(response, start, mark):
    if not start or getattr(response, "status", None) != 206:
        return False
    first = response.headers.get("Content-Range", "").removeprefix("bytes ").split("-")[0]
    if first != str(start):
        raise Unusable(f"asked for bytes from {start} on, got them from {first!r} on")
    now = _mark_of(response.headers)
    if mark and now and now != mark:
        raise Unusable("it goes on with another version of the file")
    return True


def _whole(response, position):
    """Bytes of the whole file, as the server says them; None where it does not."""
    span = re.fullmatch(r"bytes \d+-\d+/(\d+)", response.headers.get("Content-Range", ""))
    if span and getattr(response, "status", None) == 206:
        return int(span[1])
    announced = response.headers.get("Content-Length", "")
    return position + int(announced) if announced.isdigit() else None


def _refuse_pages(block, url, name):
    """Many servers send a page that explains an error, or asks to sign in, with status 200."""
    wanted = Path(name).suffix.lower() in (".html", ".htm", ".xhtml", ".xml", ".svg")
    begin = block.removeprefix(b"\xef\xbb\xbf").lstrip()[:20].lower()
    if not wanted and begin.startswith(_PAGES):
        raise Unusable(f"{url} gives an HTML page instead of the file")


class _Pace:
    """Raises TimeoutError when bytes arrive more slowly than SLOWEST for a time of FOR."""

    def __init__(self):
        self.since, self.bytes = time.monotonic(), 0

    def count(self, size):
        self.bytes += size
        passed = time.monotonic() - self.since
        if passed > FOR:
            if self.bytes < SLOWEST * passed:
                raise TimeoutError(f"stalled: {self.bytes} bytes in {passed:.0f} s")
            self.since, self.bytes = time.monotonic(), 0


class _Progress:
    """How much has arrived, on a terminal."""

    def __init__(self, shown, total):
        self.shown, self.total = shown and sys.stderr is not None and sys.stderr.isatty(), total

    def show(self, done):
        if self.shown:
            share = f" of {self.total / 1e6:.1f}" if self.total else ""
            sys.stderr.write(f"\r{done / 1e6:.1f}{share} MB")

    def end(self):
        if self.shown:
            sys.stderr.write("\n")


def _receive(url, part, expected, progress) -> bool:
    """Append what is missing; returns whether an earlier part was gone on with."""
    start, mark = _start(part, expected)
    try:
        response = _opened(url, start, mark)
    except urllib.error.HTTPError as error:
        if error.code != 416 or not start:
            raise
        if error.headers.get("Content-Range", "").endswith(f"/{start}"):
            return True  # nothing after what is there
        part.drop()
        raise ConnectionError("what was there is no part of the file") from None
    with response:
        resumed = _resumes(response, start, mark)
        position = start if resumed else 0
        if getattr(response, "status", None) == 206 and not resumed:
            raise Unusable("it gives a part of the file, which nobody asked for")
        total = _whole(response, position)
        _refuse_sizes(total, expected)
        part.begin(position, _mark_of(response.headers))
        _copy(response, part, position, total, expected, url, progress)
    return resumed


def _refuse_sizes(total, expected):
    if expected.size is not None and total is not None and total != expected.size:
        raise Unusable(f"it has {total} bytes instead of {expected.size}")


def _copy(response, part, position, total, expected, url, progress):
    pace, bar, done = _Pace(), _Progress(progress, total), position
    while block := response.read1(BLOCK) if hasattr(response, "read1") else response.read(BLOCK):
        if not done:
            _refuse_pages(block, url, part.target.name)
        part.write(block)
        done += len(block)
        if expected.size is not None and done > expected.size:
            raise Unusable(f"it sends more than the {expected.size} bytes of the file")
        pace.count(len(block))
        bar.show(done)
    bar.end()
    part.file.flush()
    if total is not None and done < total:
        raise http.client.IncompleteRead(b"", total - done)


def complete(url, part, expected, progress) -> None:
    """Bring the part to its end from one address, or raise Unusable (HTTPError as it is)."""
    reason = ""
    for _ in range(TRIES):
        try:
            resumed = _receive(url, part, expected, progress)
        except _CUT_OFF as error:
            reason = f"the connection was cut off ({error})"
            continue
        except urllib.error.HTTPError:
            raise
        except urllib.error.URLError as error:
            if isinstance(error.reason, TimeoutError):
                reason = f"nothing came for {TIMEOUT:g} s"
                continue
            raise Unusable(str(error.reason)) from None
        except (http.client.HTTPException, ValueError) as error:
            raise Unusable(str(error) or type(error).__name__) from None
        reason = expected.fault(part.path)
        if not reason:
            return
        part.drop()
        if not resumed:  # the whole file came from here: again would bring the same
            break
    raise Unusable(reason)
