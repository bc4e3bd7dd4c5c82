"""News with highlights, for summaries (Hermann et al. 2015, See et al. 2017)."""

from __future__ import annotations

import hashlib
import tarfile
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath

from rushlight_text.datasets._files import fetched, lines
from rushlight_text.datasets._published import published

DATASET_NAME = "CNNDM"
_LISTS = "https://raw.githubusercontent.com/abisee/cnn-dailymail/master/url_lists"
_PARTS = {"train": "training", "val": "validation", "test": "test"}
SPLIT_LIST = {
    f"{source}_{split}": f"{_LISTS}/{source}_wayback_{part}_urls.txt"
    for source in ("cnn", "dailymail")
    for split, part in _PARTS.items()
}
URL = {
    "cnn": "https://drive.google.com/uc?export=download&id=0BwmD_VLjROrfTHk4NFg2SndKcjQ",
    "dailymail": "https://drive.google.com/uc?export=download&id=0BwmD_VLjROrfM1BxdkxVaTY2bWs",
}
PATH_LIST = {"cnn": "cnn_stories.tgz", "dailymail": "dailymail_stories.tgz"}
MD5 = {
    "cnn": "85ac23a1926a831e8f46a6b8eaf57263",
    "dailymail": "f9c5f565e8abe86c38bfa4ae8f96fd72",
}
NUM_LINES = {"train": 287227, "val": 13368, "test": 11490}
_ENDS = (".", "!", "?", "'", "`", '"', "\u2019", "\u201d", ")")


@published(DATASET_NAME, ("train", "val", "test"))
def CNNDM(folder: str, split: str) -> Iterator[tuple[str, str]]:
    """Pairs of an article and its highlights.

    `root` is the folder of all data sets, `split` one of ``train``, ``val``, ``test``, or several
    of them (default: all).
    """
    for source in URL:
        addresses = fetched(folder, SPLIT_LIST[f"{source}_{split}"], None)
        names = {_name(address) for address in lines(addresses)}
        archive = fetched(folder, URL[source], MD5[source], PATH_LIST[source])
        yield from map(_parsed, _stories(archive, names))


def _name(address: str) -> str:
    digest = hashlib.sha1(address.encode("utf-8"), usedforsecurity=False)
    return digest.hexdigest() + ".story"


def _stories(archive: Path, names: set[str]) -> Iterator[list[str]]:
    with tarfile.open(archive) as packed:
        for member in packed:
            source = None
            if PurePosixPath(member.name).name in names:
                source = packed.extractfile(member)
            if source is not None:
                yield source.read().decode("utf-8").split("\n")


def _parsed(story: Iterable[str]) -> tuple[str, str]:
    """The article, and the lines after the mark of highlights; lines end in a full stop."""
    article: list[str] = []
    highlights: list[str] = []
    marked = False
    for line in map(str.strip, story):
        if not line:
            continue
        if line.startswith("@highlight"):
            marked = True
            continue
        ended = line.endswith(_ENDS) or "@highlight" in line
        (highlights if marked else article).append(line if ended else line + " .")
    return " ".join(article), " ".join(highlights)
