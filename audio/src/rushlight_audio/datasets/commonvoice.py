"""Common Voice: sentences read by volunteers in many languages."""

from __future__ import annotations

import csv
import os

import rushlight as rl
from rushlight_audio.datasets.archives import Location
from rushlight_audio.datasets.recordings import Recordings
from rushlight_audio.io import load

__all__ = ["COMMONVOICE"]


class COMMONVOICE(Recordings):
    """Common Voice, https://commonvoice.mozilla.org.

    Args:
        root: folder of one language, with ``clips`` and tables.
        tsv: name of the table.

    Items are (waveform ``[1, T]``, sample rate, the row of the table by column).
    """

    def __init__(self, root: Location, tsv: str = "train.tsv") -> None:
        self._path = os.fspath(root)
        self._tsv = os.path.join(self._path, tsv)
        with open(self._tsv, newline="", encoding="utf-8") as file:
            self._header, *self._walker = csv.reader(file, delimiter="\t")

    def __getitem__(self, n: int) -> tuple[rl.Tensor, int, dict[str, str]]:
        if self._header[1] != "path":
            raise ValueError(
                f"{self._tsv}: expected 'path' as the second column, got {self._header[1]!r}"
            )
        row = self._walker[n]
        name = row[1] if row[1].endswith(".mp3") else f"{row[1]}.mp3"
        clip = load(os.path.join(self._path, "clips", name))
        return (*clip, dict(zip(self._header, row, strict=False)))
