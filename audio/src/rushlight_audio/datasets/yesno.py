"""YesNo: sixty recordings of one man saying yes or no eight times in Hebrew."""

from __future__ import annotations

from pathlib import Path

import rushlight as rl
from rushlight_audio.datasets.archives import Archive, Location
from rushlight_audio.datasets.recordings import Recordings
from rushlight_audio.io import load

__all__ = ["YESNO"]

_URL = "http://www.openslr.org/resources/1/waves_yesno.tar.gz"
_SUM = "c3f49e0cca421f96b75b41640749167b52118f232498667ca7a5f9416aef8e73"


class YESNO(Recordings):
    """YesNo, http://www.openslr.org/1.

    Args:
        root: folder.
        url: address of the archive.
        folder_in_archive: folder of the recordings in `root`.
        download: fetch and unpack it where it is not there.

    Items are (waveform ``[1, T]``, sample rate, eight labels of 0 and 1).
    """

    def __init__(
        self,
        root: Location,
        url: str = _URL,
        folder_in_archive: str = "waves_yesno",
        download: bool = False,
    ) -> None:
        self._path = Path(root) / folder_in_archive
        Archive(url, _SUM).bring(root, self._path, download)
        self._walker = sorted(path.stem for path in self._path.glob("*.wav"))

    def __getitem__(self, n: int) -> tuple[rl.Tensor, int, list[int]]:
        name = self._walker[n]
        return (*load(self._path / f"{name}.wav"), [int(label) for label in name.split("_")])
