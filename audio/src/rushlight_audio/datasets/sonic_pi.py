"""The samples of Sonic Pi: drums, basses, loops."""

from __future__ import annotations

import rushlight as rl
from rushlight_audio.datasets.archives import Location
from rushlight_audio.datasets.packages import debian, folder_of
from rushlight_audio.datasets.recordings import Recordings
from rushlight_audio.io import load

__all__ = ["SonicPiSamples"]

_PACKAGE = debian(
    "s/sonic-pi/sonic-pi-samples_3.2.2~repack-8_all.deb",
    "25f2312d2fae005e6ad0f4726b8ed3084e776006a5a132083506e960224ac79d",
)


class SonicPiSamples(Recordings):
    """165 sounds in classes such as tabla, elec, drum, loop, bass, from Debian's package
    ``sonic-pi-samples`` (CC0); the class is the first word of a name.

    Args:
        root: folder of the package, or what it was unpacked into.
        download: fetch and unpack the package where it is not there.

    Items are (waveform ``[C, T]``, sample rate, class, name); `classes` lists the classes.
    """

    def __init__(self, root: Location, download: bool = False) -> None:
        folder = folder_of(root, "usr/share/sonic-pi/samples", _PACKAGE, download)
        self._walker = sorted(folder.glob("*.flac"))
        self.classes = sorted({path.stem.split("_")[0] for path in self._walker})

    def __getitem__(self, n: int) -> tuple[rl.Tensor, int, str, str]:
        path = self._walker[n]
        return (*load(path), path.stem.split("_")[0], path.stem)
