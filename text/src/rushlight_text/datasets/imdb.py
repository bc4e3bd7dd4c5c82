"""Movie reviews, negative (1) and positive (2) (Maas et al. 2011)."""

from __future__ import annotations

import tarfile
from collections.abc import Iterator
from pathlib import Path

from rushlight_text.datasets._files import fetched
from rushlight_text.datasets._published import published

DATASET_NAME = "IMDB"
URL = "http://ai.stanford.edu/~amaas/data/sentiment/aclImdb_v1.tar.gz"
MD5 = "7c2ac02c03563afcf9b574c7e56c153a"
NUM_LINES = {"train": 25000, "test": 25000}
MAP_LABELS = {"neg": 1, "pos": 2}


@published(DATASET_NAME, ("train", "test"))
def IMDB(folder: str, split: str) -> Iterator[tuple[int, str]]:
    """Pairs of a label and a review, all of one label after those of the other.

    `root` is the folder of all data sets, `split` ``train``, ``test`` or both (default).
    """
    files = [Path(folder, "aclImdb", split, f"{label}.txt") for label in MAP_LABELS]
    if not all(file.is_file() for file in files):
        _gather(fetched(folder, URL, MD5), split, files)
    for file in files:
        for line in file.read_text(encoding="utf-8").split("\n"):
            if line:
                yield MAP_LABELS[file.stem], line


def _gather(archive: Path, split: str, files: list[Path]) -> None:
    """Write the reviews of each label into one file; the published ones are a line each."""
    texts: dict[str, list[str]] = {label: [] for label in MAP_LABELS}
    with tarfile.open(archive) as packed:
        for member in packed:
            parts = Path(member.name).parts
            source = packed.extractfile(member) if parts[-3:-2] == (split,) else None
            if source is not None and parts[-2] in texts:
                texts[parts[-2]].append("\n".join(source.read().decode("utf-8").splitlines()))
    for file in files:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("\n".join(texts[file.stem]) + "\n", encoding="utf-8")
