"""TED-LIUM: talks with transcripts by sentence."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import rushlight as rl
from rushlight_audio.datasets.archives import Archive, Location
from rushlight_audio.datasets.recordings import Recordings, one_of
from rushlight_audio.io import load

__all__ = ["TEDLIUM"]

_RATE = 16000


@dataclass(frozen=True)
class _Release:
    """One release: its folder, its archive, its dictionary."""

    folder: str
    archive: Archive
    words: str


_RELEASES = {
    "release1": _Release(
        "TEDLIUM_release1",
        Archive(
            "http://www.openslr.org/resources/7/TEDLIUM_release1.tar.gz",
            "30301975fd8c5cac4040c261c0852f57cfa8adbbad2ce78e77e4986957445f27",
        ),
        "TEDLIUM.150K.dic",
    ),
    "release2": _Release(
        "TEDLIUM_release2",
        Archive(
            "http://www.openslr.org/resources/19/TEDLIUM_release2.tar.gz",
            "93281b5fcaaae5c88671c9d000b443cb3c7ea3499ad12010b3934ca41a7b9c58",
        ),
        "TEDLIUM.152k.dic",
    ),
    "release3": _Release(
        "TEDLIUM_release-3",
        Archive(
            "http://www.openslr.org/resources/51/TEDLIUM_release-3.tgz",
            "ad1e454d14d1ad550bc2564c462d87c7a7ec83d4dc2b9210f22ab4973b9eccdb",
        ),
        "TEDLIUM.152k.dic",
    ),
}


class TEDLIUM(Recordings):
    """TED-LIUM: up to 452 hours of talks, http://www.openslr.org/51.

    Args:
        root: folder.
        release: ``"release1"``, ``"release2"``, ``"release3"``.
        subset: ``"train"``, ``"dev"``, ``"test"``.
        download: fetch and unpack it where it is not there.
        audio_ext: ending of the recordings.

    Items are (waveform ``[1, T]``, sample rate, transcript, talk, speaker, identifier); of a talk
    only the part of the sentence is read.
    """

    def __init__(
        self,
        root: Location,
        release: str = "release1",
        subset: str = "train",
        download: bool = False,
        audio_ext: str = ".sph",
    ) -> None:
        found = _RELEASES[one_of("release", release, list(_RELEASES), RuntimeError)]
        subset = one_of("subset", subset or "train", ["train", "test", "dev"], RuntimeError)
        base = os.path.join(root, found.folder)
        part = subset
        if release == "release3":
            part = "data" if subset == "train" else os.path.join("legacy", subset)
        self._path = os.path.join(base, part)
        found.archive.bring(root, self._path, download)
        self._ext_audio = audio_ext
        self._walker = [
            (table.stem, line)
            for table in sorted(Path(self._path, "stm").glob("*.stm"))
            for line in table.read_text().splitlines(keepends=True)
        ]
        self._dict_path = os.path.join(base, found.words)
        self._words: dict[str, tuple[str, ...]] = {}

    def __getitem__(self, n: int) -> tuple[rl.Tensor, int, str, str, str, str]:
        name, line = self._walker[n]
        talk, _, speaker, start, end, identifier, transcript = line.split(" ", 6)
        first, last = (int(float(time) * _RATE) for time in (start, end))
        path = os.path.join(self._path, "sph", name + self._ext_audio)
        found, rate = load(path, frame_offset=first, num_frames=last - first)
        return found, rate, transcript, talk, speaker, identifier

    @property
    def phoneme_dict(self) -> dict[str, tuple[str, ...]]:
        """The sounds of words, as the release's dictionary has them."""
        if not self._words:
            with open(self._dict_path, encoding="utf-8") as file:
                rows = [line.split() for line in file]
            self._words = {word: tuple(sounds) for word, *sounds in filter(None, rows)}
        return dict(self._words)
