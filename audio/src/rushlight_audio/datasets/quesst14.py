"""QUESST 2014: spoken questions to be found in spoken documents."""

from __future__ import annotations

import os
from pathlib import Path

import rushlight as rl
from rushlight_audio.datasets.archives import Archive, Location
from rushlight_audio.datasets.recordings import Recordings, one_of, waveform

__all__ = ["QUESST14", "SAMPLE_RATE", "URL"]

URL = "https://speech.fit.vutbr.cz/files/quesst14Database.tgz"
SAMPLE_RATE = 8000
_SUM = "4f869e06bc066bbe9c5dde31dbd3909a0870d70291110ebbb38878dcbc2fc5e4"
_LANGUAGES = ["albanian", "basque", "czech", "nnenglish", "romanian", "slovak"]
_LISTS = {"docs": "utterances", "dev": "dev", "eval": "eval"}


class QUESST14(Recordings):
    """QUESST 2014: 23 hours in six languages.

    Args:
        root: folder.
        subset: ``"docs"``, ``"dev"``, ``"eval"``.
        language: ``"albanian"``, ``"basque"``, ``"czech"``, ``"nnenglish"``, ``"romanian"``,
            ``"slovak"``, or None for all.
        download: fetch and unpack it where it is not there.

    Items are (waveform ``[1, T]``, sample rate, name).
    """

    def __init__(
        self,
        root: Location,
        subset: str,
        language: str | None = "nnenglish",
        download: bool = False,
    ) -> None:
        one_of("subset", subset, list(_LISTS))
        one_of("language", language, [None, *_LANGUAGES])
        self._path = os.path.join(root, "quesst14Database")
        Archive(URL, _SUM).bring(root, self._path, download)
        table = Path(self._path) / "scoring" / f"language_key_{_LISTS[subset]}.lst"
        rows = [line.split() for line in table.read_text().splitlines()]
        # Paths begin with the folder of the archive.
        self._walker = [
            Path(self._path, path.partition("/")[2])
            for path, spoken in rows
            if language in (None, spoken)
        ]
        self.data = self._walker

    def get_metadata(self, n: int) -> tuple[str, int, str]:
        """The item with the path of the file instead of the waveform."""
        path = self._walker[n]
        return os.path.relpath(path, self._path), SAMPLE_RATE, path.stem

    def __getitem__(self, n: int) -> tuple[rl.Tensor, int, str]:
        path, rate, name = self.get_metadata(n)
        return waveform(self._path, path, rate), rate, name
