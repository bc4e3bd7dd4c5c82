"""Device-recorded VCTK: clean speech and what a room and a cheap device make of it."""

from __future__ import annotations

from pathlib import Path

import rushlight as rl
from rushlight_audio.datasets.archives import Archive, Location
from rushlight_audio.datasets.recordings import Recordings, one_of
from rushlight_audio.io import load

__all__ = ["DR_VCTK"]

_URL = "https://datashare.ed.ac.uk/bitstream/handle/10283/3038/DR-VCTK.zip"
_SUM = "781f12f4406ed36ed27ae3bce55da47ba176e2d8bae67319e389e07b2c9bd769"
_TITLES = {"train": 2, "test": 1}  # lines before the table of a subset


class DR_VCTK(Recordings):  # noqa: N801 - torchaudio's name
    """Device-recorded VCTK (small subset): pairs for the enhancement of speech.

    Args:
        root: folder.
        subset: ``"train"`` or ``"test"``.
        download: fetch and unpack it where it is not there.
        url: address of the archive.

    Items are (clean waveform, its rate, recorded waveform, its rate, speaker, utterance, source,
    channel).
    """

    def __init__(
        self, root: Location, subset: str = "train", *, download: bool = False, url: str = _URL
    ) -> None:
        self._subset = one_of("subset", subset, list(_TITLES), RuntimeError)
        root = Path(root).expanduser()
        self._path = root / "DR-VCTK" / "DR-VCTK"
        Archive(url, _SUM).bring(root, self._path, download)
        table = self._path / "configurations" / f"{subset}_ch_log.txt"
        rows = [line.split("\t") for line in table.read_text().splitlines()[_TITLES[subset] :]]
        self._config = {name: (source, int(channel)) for name, source, channel in filter(any, rows)}
        self._walker = sorted(self._config)

    def __getitem__(self, n: int) -> tuple[rl.Tensor, int, rl.Tensor, int, str, str, str, int]:
        name = self._walker[n]
        speaker, utterance = name.split(".")[0].split("_")
        clean = load(self._path / f"clean_{self._subset}set_wav_16k" / name)
        noisy = load(self._path / f"device-recorded_{self._subset}set_wav_16k" / name)
        return (*clean, *noisy, speaker, utterance, *self._config[name])
