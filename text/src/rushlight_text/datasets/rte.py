"""Pairs of sentences, of which the first implies the second (0) or not (1) (Wang et al. 2018)."""

from __future__ import annotations

from collections.abc import Iterator

from rushlight_text.datasets._files import member, rows
from rushlight_text.datasets._published import published

DATASET_NAME = "RTE"
URL = "https://dl.fbaipublicfiles.com/glue/data/RTE.zip"
MD5 = "bef554d0cafd4ab6743488101c638539"
NUM_LINES = {"train": 2490, "dev": 277, "test": 3000}
MAP_LABELS = {"entailment": 0, "not_entailment": 1}


@published(DATASET_NAME, ("train", "dev", "test"))
def RTE(folder: str, split: str) -> Iterator[tuple]:
    """Triples of a label and two sentences; pairs in the test data.

    `root` is the folder of all data sets, `split` one of ``train``, ``dev``, ``test``, or several
    of them (default: all).
    """
    for row in rows(member(folder, f"RTE/{split}.tsv", URL, MD5), "\t", skip=1, quoted=False):
        texts = (row[1], row[2])
        yield texts if split == "test" else (MAP_LABELS[row[3]], *texts)
