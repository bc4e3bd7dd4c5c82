"""LJ Speech: one reader, 24 hours."""

from __future__ import annotations

import csv
from pathlib import Path

import rushlight as rl
from rushlight_audio.datasets.archives import Archive, Location
from rushlight_audio.datasets.recordings import Recordings
from rushlight_audio.io import load

__all__ = ["LJSPEECH"]

_URL = "https://data.keithito.com/data/speech/LJSpeech-1.1.tar.bz2"
_SUM = "be1a30453f28eb8dd26af4101ae40cbf2c50413b1bb21936cbcdc6fae3de8aa5"


class LJSPEECH(Recordings):
    """LJ Speech 1.1: passages of seven books, https://keithito.com/LJ-Speech-Dataset.

    Args:
        root: folder.
        url: address of the archive.
        folder_in_archive: folder of the recordings in the archive.
        download: fetch and unpack it where it is not there.

    Items are (waveform ``[1, T]``, sample rate, transcript, normalized transcript).
    """

    def __init__(
        self,
        root: Location,
        url: str = _URL,
        folder_in_archive: str = "wavs",
        download: bool = False,
    ) -> None:
        archive = Archive(url, _SUM)
        base = Path(root) / archive.stem
        self._path = base / folder_in_archive
        archive.bring(root, self._path, download)
        with open(base / "metadata.csv", newline="") as file:
            self._walker = list(csv.reader(file, delimiter="|", quoting=csv.QUOTE_NONE))

    def __getitem__(self, n: int) -> tuple[rl.Tensor, int, str, str]:
        name, transcript, normalized = self._walker[n]
        return (*load(self._path / f"{name}.wav"), transcript, normalized)
