"""Sentences that are grammatical (1) or not (0) (Warstadt et al. 2018)."""

from __future__ import annotations

from collections.abc import Iterator

from rushlight_text.datasets._files import member, rows
from rushlight_text.datasets._published import published

DATASET_NAME = "CoLA"
URL = "https://nyu-mll.github.io/CoLA/cola_public_1.1.zip"
MD5 = "9f6d88c3558ec424cd9d66ea03589aba"
NUM_LINES = {"train": 8551, "dev": 527, "test": 516}
_FILES = {"train": "in_domain_train", "dev": "in_domain_dev", "test": "out_of_domain_dev"}


@published(DATASET_NAME, ("train", "dev", "test"))
def CoLA(folder: str, split: str) -> Iterator[tuple[str, int, str]]:
    """Triples of a source, a label and a sentence.

    `root` is the folder of all data sets, `split` one of ``train``, ``dev``, ``test``, or several
    of them (default: all).
    """
    file = member(folder, f"cola_public/raw/{_FILES[split]}.tsv", URL, MD5)
    for row in rows(file, "\t", skip=1, quoted=False):
        if len(row) == 4:
            yield row[0], int(row[1]), row[3]
