"""MUSAN: music, speech and noise to mix with other sounds."""

from __future__ import annotations

from pathlib import Path

import rushlight as rl
from rushlight_audio.datasets.archives import Location
from rushlight_audio.datasets.recordings import Recordings, one_of, require_folder, waveform

__all__ = ["Musan"]

_RATE = 16000


class Musan(Recordings):
    """MUSAN, http://www.openslr.org/17: 109 hours of music, noise and speech.

    Args:
        root: the folder ``musan`` of the archive.
        subset: ``"music"``, ``"noise"``, ``"speech"``.

    Items are (waveform ``[1, T]``, sample rate, name of the file), sorted by path.
    """

    def __init__(self, root: Location, subset: str) -> None:
        one_of("subset", subset, ["music", "noise", "speech"])
        folder = Path(root) / subset
        require_folder(folder, "http://www.openslr.org/resources/17/musan.tar.gz has it")
        self._walker = sorted(str(path) for path in folder.glob("*/*.*") if _is_sound(path))

    def get_metadata(self, n: int) -> tuple[str, int, str]:
        """The item with the path of the file instead of the waveform."""
        path = self._walker[n]
        return path, _RATE, Path(path).name

    def __getitem__(self, n: int) -> tuple[rl.Tensor, int, str]:
        path, rate, name = self.get_metadata(n)
        return waveform("", path, rate), rate, name


def _is_sound(path: Path) -> bool:
    return path.suffix.lower() == ".wav"
