"""LibriSpeech: read books, in parts."""

from __future__ import annotations

import os
from pathlib import Path

import rushlight as rl
from rushlight_audio.datasets.archives import Archive, Location
from rushlight_audio.datasets.recordings import Recordings, one_of, waveform

__all__ = ["FOLDER_IN_ARCHIVE", "LIBRISPEECH", "SAMPLE_RATE", "URL"]

URL = "train-clean-100"
FOLDER_IN_ARCHIVE = "LibriSpeech"
SAMPLE_RATE = 16000
_ADDRESS = "http://www.openslr.org/resources/12/{}.tar.gz"
SUMS = {
    "dev-clean": "76f87d090650617fca0cac8f88b9416e0ebf80350acb97b343a85fa903728ab3",
    "dev-other": "12661c48e8c3fe1de2c1caa4c3e135193bfb1811584f11f569dd12645aa84365",
    "test-clean": "39fde525e59672dc6d1551919b1478f724438a95aa55f874b576be21967e6c23",
    "test-other": "d09c181bba5cf717b3dee7d4d592af11a3ee3a09e08ae025c5506f6ebe961c29",
    "train-clean-100": "d4ddd1d5a6ab303066f14971d768ee43278a5f2a0aa43dc716b0e64ecbbbf6e2",
    "train-clean-360": "146a56496217e96c14334a160df97fffedd6e0a04e66b9c5af0d40be3c792ecf",
    "train-other-500": "ddb22f27f96ec163645d53215559df6aa36515f26e01dd70798188350adcb6d2",
}

Metadata = tuple[str, int, str, int, int, int]


def utterance(root: Location, folder: str, name: str, ending: str = ".flac") -> Metadata:
    """Path, rate, transcript and numbers of speaker, chapter and utterance of a file's name.

    The transcripts of a chapter are lines ``name words`` of one file.
    """
    speaker, chapter, number = name.split("-")
    place = os.path.join(folder, speaker, chapter)
    transcripts = Path(root) / place / f"{speaker}-{chapter}.trans.txt"
    for line in transcripts.read_text().splitlines():
        key, _, words = line.strip().partition(" ")
        if key == name:
            path = os.path.join(place, name + ending)
            return path, SAMPLE_RATE, words, int(speaker), int(chapter), int(number)
    raise FileNotFoundError(f"{transcripts}: no transcript of {name}")


class LIBRISPEECH(Recordings):
    """LibriSpeech: a thousand hours of read books, http://www.openslr.org/12.

    Args:
        root: folder.
        url: the part: ``"dev-clean"``, ``"dev-other"``, ``"test-clean"``, ``"test-other"``,
            ``"train-clean-100"``, ``"train-clean-360"``, ``"train-other-500"``.
        folder_in_archive: folder of the parts in `root`.
        download: fetch and unpack the part where it is not there.

    Items are (waveform ``[1, T]``, sample rate, transcript, speaker, chapter, utterance).
    """

    def __init__(
        self,
        root: Location,
        url: str = URL,
        folder_in_archive: str = FOLDER_IN_ARCHIVE,
        download: bool = False,
    ) -> None:
        self._url = one_of("url", url, sorted(SUMS))
        self._archive = os.path.join(root, folder_in_archive)
        self._path = os.path.join(self._archive, url)
        Archive(_ADDRESS.format(url), SUMS[url]).bring(root, self._path, download)
        self._walker = sorted(path.stem for path in Path(self._path).glob("*/*/*.flac"))

    def get_metadata(self, n: int) -> Metadata:
        """The item with the path of the file, relative to the archive, instead of the waveform."""
        return utterance(self._archive, self._url, self._walker[n])

    def __getitem__(self, n: int) -> tuple[rl.Tensor, int, str, int, int, int]:
        found = self.get_metadata(n)
        return (waveform(self._archive, found[0], found[1]), *found[1:])
