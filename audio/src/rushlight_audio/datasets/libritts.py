"""LibriTTS: LibriSpeech for synthesis."""

from __future__ import annotations

import os
from pathlib import Path

import rushlight as rl
from rushlight_audio.datasets.archives import Archive, Location
from rushlight_audio.datasets.recordings import Recordings
from rushlight_audio.io import load

__all__ = ["FOLDER_IN_ARCHIVE", "LIBRITTS", "URL"]

URL = "train-clean-100"
FOLDER_IN_ARCHIVE = "LibriTTS"
_ADDRESS = "http://www.openslr.org/resources/60/{}.tar.gz"
_SUMS = {
    "dev-clean": "da0864e1bd26debed35da8a869dd5c04dfc27682921936de7cff9c8a254dbe1a",
    "dev-other": "d413eda26f3a152ac7c9cf3658ef85504dfb1b625296e5fa83727f5186cca79c",
    "test-clean": "234ea5b25859102a87024a4b9b86641f5b5aaaf1197335c95090cde04fe9a4f5",
    "test-other": "33a5342094f3bba7ccc2e0500b9e72d558f72eb99328ac8debe1d9080402f10d",
    "train-clean-100": "c5608bf1ef74bb621935382b8399c5cdd51cd3ee47cec51f00f885a64c6c7f6b",
    "train-clean-360": "ce7cff44dcac46009d18379f37ef36551123a1dc4e5c8e4eb73ae57260de4886",
    "train-other-500": "e35f7e34deeb2e2bdfe4403d88c8fdd5fbf64865cae41f027a185a6965f0a5df",
}


class LIBRITTS(Recordings):
    """LibriTTS: sentences of LibriSpeech with their written text, http://www.openslr.org/60.

    Args:
        root: folder.
        url: the part, as of `LIBRISPEECH`, or the address of an archive.
        folder_in_archive: folder of the parts in `root`.
        download: fetch and unpack the part where it is not there.

    Items are (waveform ``[1, T]``, sample rate, text, normalized text, speaker, chapter, name).
    """

    def __init__(
        self,
        root: Location,
        url: str = URL,
        folder_in_archive: str = FOLDER_IN_ARCHIVE,
        download: bool = False,
    ) -> None:
        archive = Archive(_ADDRESS.format(url), _SUMS[url]) if url in _SUMS else Archive(url)
        self._path = os.path.join(root, folder_in_archive, archive.name.split(".")[0])
        archive.bring(root, self._path, download)
        self._walker = sorted(path.stem for path in Path(self._path).glob("*/*/*.wav"))

    def __getitem__(self, n: int) -> tuple[rl.Tensor, int, str, str, int, int, str]:
        name = self._walker[n]
        speaker, chapter, _, _ = name.split("_")
        base = os.path.join(self._path, speaker, chapter, name)
        found, rate = load(f"{base}.wav")
        written, normalized = (
            _first_line(f"{base}.{kind}.txt") for kind in ("original", "normalized")
        )
        return found, rate, written, normalized, int(speaker), int(chapter), name


def _first_line(path: str) -> str:
    with open(path) as file:
        return file.readline()
