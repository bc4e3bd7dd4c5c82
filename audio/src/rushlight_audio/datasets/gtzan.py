"""GTZAN: thirty seconds of a thousand songs in ten genres."""

from __future__ import annotations

import os
import re
from pathlib import Path

import rushlight as rl
from rushlight_audio.datasets.archives import Archive, Location
from rushlight_audio.datasets.recordings import Recordings, one_of
from rushlight_audio.io import load

__all__ = ["FOLDER_IN_ARCHIVE", "GTZAN", "URL", "gtzan_genres"]

URL = "http://opihi.cs.uvic.ca/sound/genres.tar.gz"
FOLDER_IN_ARCHIVE = "genres"
_SUM = "24347e0223d2ba798e0a558c4c172d9d4a19c00bb7963fe055d183dadb4ef2c6"
# The filtered split that avoids songs and singers in two parts: runs of the hundred songs of each
# genre that are for (t)raining, (v)alidation, t(e)sting, or (-) in no part.
_PARTS = {
    "blues": "12v17e21t11v12e25t2e",
    "classical": "11v19e4t8e1-6t1e18t9v3e20t",
    "country": "8v1-10v8t1v2t11e2v2e1v3e1v2e1-12e35t",
    "disco": "1v1e3v1t9v6t1e16t1-7t1v1t1v1t2-1v2t1-2t1e1t1-1t5e2v1e1t1-1v2t1v13e1t1v4e1v2e1-1e",
    "hiphop": "1e1-24t2e2t1e8t1-1e2t3e5-4e7t14e1-4t18v1e",
    "jazz": "2t9v14t8v8-1t5-26t27e",
    "metal": "2v2t1-1t6v4e5v1t2e1t9e1-1t2v2e6-12t1-8t1e1v1t1e2t3e2v1e2t2v1e1t1e1t2e11t",
    "pop": "2e8t1v2t2e1-5t2-7t1-6t1-5t1e1t1-1t2-2t2-1v1-1v2-5v4e2-11e1t1v1e4v1-9e3t",
    "reggae": "3t1-1t1-1t2-1t1-2t1-19t1-7e1-4t3e3t2e7t2v1t5e1t1v1e1v1-1v1-3v1e2-3e1v1-4e1-8v",
    "rock": "10t6e11t11e1v10e8v14t15v5e9t",
}
_LETTERS = {"training": "t", "validation": "v", "testing": "e"}
gtzan_genres = list(_PARTS)


def _split(letter: str) -> list[str]:
    """The names of the songs of a part."""
    found = []
    for genre, runs in _PARTS.items():
        letters = re.sub(r"(\d+)(.)", lambda run: int(run[1]) * run[2], runs)
        found += [f"{genre}.{n:05}" for n, each in enumerate(letters) if each == letter]
    return found


class GTZAN(Recordings):
    """GTZAN, http://marsyas.info/downloads/datasets.html.

    Args:
        root: folder.
        url: address of the archive.
        folder_in_archive: folder of the genres in `root`.
        download: fetch and unpack it where it is not there.
        subset: ``"training"``, ``"validation"``, ``"testing"`` of the filtered split, or None for
            all songs that are there.

    Items are (waveform ``[1, T]``, sample rate, genre).
    """

    def __init__(
        self,
        root: Location,
        url: str = URL,
        folder_in_archive: str = FOLDER_IN_ARCHIVE,
        download: bool = False,
        subset: str | None = None,
    ) -> None:
        one_of("subset", subset, [None, *_LETTERS])
        self.root, self.url, self.subset = os.fspath(root), url, subset
        self.folder_in_archive, self.download = folder_in_archive, download
        self._path = os.path.join(root, folder_in_archive)
        Archive(url, _SUM if url == URL else None).bring(root, self._path, download)
        self._walker = self._songs() if subset is None else _split(_LETTERS[subset])

    def _songs(self) -> list[str]:
        return [
            path.stem
            for genre in gtzan_genres
            for path in sorted(Path(self._path, genre).glob("*.*"))
            if path.suffix.lower() == ".wav" and _is_song(path.stem)
        ]

    def __getitem__(self, n: int) -> tuple[rl.Tensor, int, str]:
        name = self._walker[n]
        genre = name.split(".")[0]
        return (*load(os.path.join(self._path, genre, f"{name}.wav")), genre)


def _is_song(name: str) -> bool:
    genre, _, number = name.partition(".")
    return genre in gtzan_genres and re.fullmatch(r"\d{5}", number) is not None
