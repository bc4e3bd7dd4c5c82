"""Japanese vowels: nine men saying /ae/, as cepstra."""

from __future__ import annotations

import rushlight as rl
from rushlight_audio.datasets.archives import Location
from rushlight_audio.datasets.packages import folder_of, wheel
from rushlight_audio.datasets.recordings import Recordings, one_of

__all__ = ["JapaneseVowels"]

_PACKAGE = wheel(
    "aeon",
    "aeon-1.6.0-py3-none-any.whl",
    "d05227086706f80111ac5fee8de4d5d3115bb3bcfd1c786c8629393055816409",
)


class JapaneseVowels(Recordings):
    """640 utterances of a pair of vowels by nine speakers, twelve cepstra of linear prediction a
    frame, from the wheel of ``aeon`` 1.6.0 (the UEA archive).

    Args:
        root: folder of the wheel, or what it was unpacked into.
        split: ``"train"`` (270) or ``"test"`` (370).
        download: fetch and unpack the wheel where it is not there.

    Items are (features ``[T, 12]`` float32, speaker from 0 to 8).
    """

    def __init__(self, root: Location, split: str = "train", download: bool = False) -> None:
        one_of("split", split, ["train", "test"])
        folder = folder_of(root, "aeon/datasets/data/JapaneseVowels", _PACKAGE, download)
        lines = (folder / f"JapaneseVowels_{split.upper()}.ts").read_text().splitlines()
        data = lines[lines.index("@data") + 1 :]
        self._walker = [_entry(line) for line in data if line.strip()]

    def __getitem__(self, n: int) -> tuple[rl.Tensor, int]:
        return self._walker[n]


def _entry(line: str) -> tuple[rl.Tensor, int]:
    """A line of series with commas, colons between them, and the class at the end."""
    *series, label = line.strip().split(":")
    values = [[float(value) for value in row.split(",")] for row in series]
    return rl.tensor(values).T.contiguous(), int(label) - 1
