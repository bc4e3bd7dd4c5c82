"""Talks in several languages: archives in an archive, XML and lines with tags in these."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rushlight_text.datasets._files import fetched, lines, take

__all__ = ["check_talks", "talks"]

_TAGS = (
    "<url <keywords <talkid <description <reviewer <translator <title <speaker <doc </doc".split()
)


def check_talks(
    supported: Mapping[str, Any],
    absent: Mapping[tuple[str, str], Sequence[str]],
    language_pair: Any,
    valid_set: str,
    test_set: str,
) -> None:
    """Raise ValueError for languages or sets that are not there, as torchtext does."""
    if not isinstance(language_pair, (list, tuple)):
        raise ValueError(
            f"language_pair must be list or tuple but got {type(language_pair)} instead"
        )
    if len(language_pair) != 2:
        raise AssertionError(
            "language_pair must contain only 2 elements: src and tgt language respectively"
        )
    source, target = language_pair
    pairs = supported["language_pair"]
    if source not in pairs:
        raise ValueError(
            f"src_language '{source}' is not valid. Supported source languages are {list(pairs)}"
        )
    if target not in pairs[source]:
        raise ValueError(
            f"tgt_language '{target}' is not valid for give src_language '{source}'. Supported "
            f"target language are {pairs[source]}"
        )
    missing = absent.get((source, target), ())
    sets = [each for each in supported["valid_test"] if each not in missing]
    for name, value in (("valid_set", valid_set), ("test_set", test_set)):
        if value not in sets:
            raise ValueError(
                f"{name} '{value}' is not valid for given language pair {tuple(language_pair)}. "
                f"Supported sets are {sets}"
            )


def talks(
    folder: str, archive: tuple[str, str | None, str], inner: str, names: Sequence[str]
) -> Iterator[tuple[str, str]]:
    """Pairs of lines, with their ends, of two files of an archive inside of the archive.

    Args:
        archive: address, digest and name of the outer one.
        inner: path of the inner one. names: of its two files.
    """
    clean = [Path(folder, "texts", name) for name in names]
    for name, target in zip(names, clean, strict=True):
        if not target.is_file():
            packed = Path(folder, inner)
            if not packed.is_file():
                take(fetched(folder, *archive), inner, packed)
            raw = target.with_name("raw." + target.name)
            take(packed, name, raw)
            target.write_text("".join(_sentences(raw, name)), encoding="utf-8")
    yield from zip(lines(clean[0], True), lines(clean[1], True), strict=False)


def _sentences(file: Path, name: str) -> Iterator[str]:
    if name.endswith(".xml"):
        for segment in ElementTree.parse(file).getroot()[0].findall("doc/seg"):
            yield (segment.text or "").strip() + "\n"
        return
    for line in lines(file):
        if not any(tag in line for tag in _TAGS):
            yield line.strip() + "\n"
