"""Pairs of sentences that say the same (1) or not (0) (Dolan and Brockett 2005)."""

from __future__ import annotations

from collections.abc import Iterator

from rushlight_text.datasets._files import fetched, rows
from rushlight_text.datasets._published import published

DATASET_NAME = "MRPC"
URL = {
    part: f"https://dl.fbaipublicfiles.com/senteval/senteval_data/msr_paraphrase_{part}.txt"
    for part in ("train", "test")
}
MD5 = {"train": "793daf7b6224281e75fe61c1f80afe35", "test": "e437fdddb92535b820fe8852e2df8a49"}
NUM_LINES = {"train": 4076, "test": 1725}


@published(DATASET_NAME, ("train", "test"))
def MRPC(folder: str, split: str) -> Iterator[tuple[int, str, str]]:
    """Triples of a label and two sentences.

    `root` is the folder of all data sets, `split` one of ``train``, ``test``, or several
    of them (default: all).
    """
    file = fetched(folder, URL[split], MD5[split])
    for row in rows(file, "\t", skip=1, quoted=False):
        yield int(row[0]), row[3], row[4]
