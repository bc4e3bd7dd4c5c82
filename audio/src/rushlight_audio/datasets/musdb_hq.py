"""MUSDB18-HQ: songs in four tracks."""

from __future__ import annotations

import os
from pathlib import Path

import rushlight as rl
from rushlight_audio.datasets.archives import Archive, Location
from rushlight_audio.datasets.recordings import Recordings, one_of, waveform

__all__ = ["MUSDB_HQ"]

_ARCHIVE = Archive(
    "https://zenodo.org/record/3338373/files/musdb18hq.zip",
    "baac80d0483c61d74b2e5f3be75fa557eec52898339e6aa45c1fa48833c5d21d",
)
_RATE = 44100
# The songs of the training part that its publishers keep for validation, in torchaudio's order.
_VALIDATION = [
    "Actions - One Minute Smile",
    "Clara Berry And Wooldog - Waltz For My Victims",
    "Johnny Lokke - Promises & Lies",
    "Patrick Talbot - A Reason To Leave",
    "Triviul - Angelsaint",
    "Alexander Ross - Goodbye Bolero",
    "Fergessen - Nos Palpitants",
    "Leaf - Summerghost",
    "Skelpolu - Human Mistakes",
    "Young Griffo - Pennies",
    "ANiMAL - Rockshow",
    "James May - On The Line",
    "Meaxic - Take A Step",
    "Traffic Experiment - Sirens",
]


class MUSDB_HQ(Recordings):  # noqa: N801 - torchaudio's name
    """MUSDB18-HQ: 150 songs as bass, drums, vocals and the rest.

    Args:
        root: folder.
        subset: ``"train"`` or ``"test"``.
        sources: which tracks; None for all four.
        split: ``"train"`` or ``"validation"``, a part of the training songs; None for all.
        download: fetch and unpack it where it is not there.

    Items are (waveforms ``[tracks, 2, T]``, sample rate, T, name of the song).
    """

    def __init__(
        self,
        root: Location,
        subset: str,
        sources: list[str] | None = None,
        split: str | None = None,
        download: bool = False,
    ) -> None:
        self.sources = sources or ["bass", "drums", "other", "vocals"]
        one_of("subset", subset, ["test", "train"])
        self.split = one_of("split", split, [None, "train", "validation"])
        base = os.path.join(root, "musdb18hq")
        self._path = os.path.join(base, subset)
        _ARCHIVE.bring(root, self._path, download, into=base)
        self.names = _VALIDATION if split == "validation" else self._songs()
        self._walker = self.names

    def _songs(self) -> list[str]:
        """Folders without folders in them."""
        found = []
        for root, folders, _ in os.walk(self._path, followlinks=True):
            name = os.path.relpath(root, self._path)
            if folders or name == "." or Path(root).name.startswith("."):
                continue
            if not (self.split and name in _VALIDATION):
                found.append(name)
        return sorted(found)

    def __getitem__(self, n: int) -> tuple[rl.Tensor, int, int, str]:
        name = self.names[n]
        folder = os.path.join(self._path, name)
        tracks = [waveform(folder, f"{source}.wav", _RATE) for source in self.sources]
        lengths = sorted({track.shape[-1] for track in tracks})
        if len(lengths) > 1:
            raise ValueError(f"{folder}: the tracks have different lengths: {lengths}")
        return rl.stack(tracks), _RATE, lengths[0], name
