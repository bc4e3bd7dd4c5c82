"""Files of published data sets: fetch an archive, take one member out, read its rows."""

from __future__ import annotations

import csv
import gzip
import json
import lzma
import os
import shutil
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from rushlight_text.utils import download_from_url

__all__ = ["fetched", "lines", "member", "rows", "squad", "tagged", "unpacked"]

SHA256 = 64  # digits; others are MD5


def fetched(folder: str, url: str, digest: str | None, name: str | None = None) -> Path:
    """The file of an address in `folder`, under its own name or another."""
    kind = "sha256" if digest is not None and len(digest) == SHA256 else "md5"
    path = os.path.join(folder, name or os.path.basename(url))
    return Path(download_from_url(url, path=path, hash_value=digest, hash_type=kind))


def member(
    folder: str,
    inner: str,
    url: str,
    digest: str | None,
    name: str | None = None,
    written: str | None = None,
) -> Path:
    """The member of an archive whose path ends in `inner`, as the file `written` (default:
    `inner`) of `folder`; the archive is fetched if that is not there.

    Raises FileNotFoundError where the archive has no such member.
    """
    target = Path(folder, written or inner)
    if target.is_file():
        return target
    archive = fetched(folder, url, digest, name)
    take(archive, inner, target)
    return target


def take(archive: Path, inner: str, target: Path) -> None:
    """Write the member whose path ends in `inner` to `target`."""
    if archive.suffix == ".zip":
        with zipfile.ZipFile(archive) as packed:
            found = [each for each in packed.namelist() if _ends(each, inner)]
            if found:
                with packed.open(found[0]) as content:
                    _write(content, target)
                return
    else:
        with tarfile.open(archive) as packed:
            for each in packed:
                source = packed.extractfile(each) if _ends(each.name, inner) else None
                if source is not None:
                    _write(source, target)
                    return
    raise FileNotFoundError(f"{archive} has no member {inner!r}")


def _ends(path: str, inner: str) -> bool:
    return path == inner or path.endswith("/" + inner)


def unpacked(folder: str, url: str, digest: str | None) -> Path:
    """The content of a file packed by gzip or xz."""
    stem = os.path.splitext(os.path.basename(url))[0]
    target = Path(folder, stem)
    if not target.is_file():
        packed = fetched(folder, url, digest)
        with (lzma.open if packed.suffix == ".xz" else gzip.open)(packed, "rb") as source:
            _write(source, target)
    return target


def _write(source: IO[Any] | Any, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(target.name + ".part")
    with open(part, "wb") as file:
        shutil.copyfileobj(source, file)
    os.replace(part, target)


def rows(path: Path, delimiter: str = ",", skip: int = 0, quoted: bool = True) -> Iterator[list]:
    """The fields of each line, after `skip` lines; without `quoted` quotation marks are text."""
    quoting: Any = csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE
    with open(path, encoding="utf-8", newline="") as file:
        reader = csv.reader(file, delimiter=delimiter, quoting=quoting)
        for number, row in enumerate(reader):
            if number >= skip:
                yield row


def lines(path: Path, keep_newline: bool = False) -> Iterator[str]:
    """The lines of a file of any size."""
    with open(path, encoding="utf-8") as file:
        for line in file:
            yield line if keep_newline else line.rstrip("\r\n")


def tagged(path: Path, separator: str) -> Iterator[list[list[str]]]:
    """The columns of each sentence: a word a line, an empty line between sentences."""
    columns: list[list[str]] = []
    for line in lines(path):
        if not line.strip():
            if columns:
                yield columns
            columns = []
            continue
        for place, value in enumerate(line.strip().split(separator)):
            if place == len(columns):
                columns.append([])
            columns[place].append(value)
    if columns:
        yield columns


def squad(path: Path) -> Iterator[tuple[str, str, list[str], list[int]]]:
    """Context, question, answers and where they begin; [""] and [-1] without an answer."""
    for article in json.loads(path.read_text(encoding="utf-8"))["data"]:
        for paragraph in article["paragraphs"]:
            for question in paragraph["qas"]:
                answers = question["answers"] or [{"text": "", "answer_start": -1}]
                yield (
                    paragraph["context"],
                    question["question"],
                    [each["text"] for each in answers],
                    [each["answer_start"] for each in answers],
                )
