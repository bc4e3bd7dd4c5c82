"""Speech Commands: single words of many speakers."""

from __future__ import annotations

import os
from pathlib import Path

import rushlight as rl
from rushlight_audio.datasets.archives import Archive, Location
from rushlight_audio.datasets.recordings import Recordings, one_of, waveform

__all__ = [
    "EXCEPT_FOLDER",
    "FOLDER_IN_ARCHIVE",
    "HASH_DIVIDER",
    "SAMPLE_RATE",
    "SPEECHCOMMANDS",
    "URL",
]

FOLDER_IN_ARCHIVE = "SpeechCommands"
URL = "speech_commands_v0.02"
HASH_DIVIDER = "_nohash_"
EXCEPT_FOLDER = "_background_noise_"
SAMPLE_RATE = 16000
_ADDRESS = "http://download.tensorflow.org/data/{}.tar.gz"
_SUMS = {
    "speech_commands_v0.01": "743935421bb51cccdb6bdd152e04c5c70274e935c82119ad7faeec31780d811d",
    "speech_commands_v0.02": "af14739ee7dc311471de98f5f9d2c9191b18aedfe957f4a6ff791c709868ff58",
}
_LISTS = {"validation": "validation_list.txt", "testing": "testing_list.txt"}


class SPEECHCOMMANDS(Recordings):
    """Speech Commands: 65,000 or 106,000 recordings of thirty-odd words.

    Args:
        root: folder.
        url: ``"speech_commands_v0.01"``, ``"speech_commands_v0.02"`` or an address.
        folder_in_archive: folder in `root` that the archive's folder is in.
        download: fetch and unpack it where it is not there.
        subset: ``"training"``, ``"validation"``, ``"testing"``, or None for all.

    Items are (waveform ``[1, T]``, sample rate, word, speaker, number of the utterance).
    """

    def __init__(
        self,
        root: Location,
        url: str = URL,
        folder_in_archive: str = FOLDER_IN_ARCHIVE,
        download: bool = False,
        subset: str | None = None,
    ) -> None:
        one_of("subset", subset, [None, "training", *_LISTS])
        archive = Archive(_ADDRESS.format(url), _SUMS[url]) if url in _SUMS else Archive(url)
        self._archive = os.path.join(root, folder_in_archive)
        self._path = os.path.join(self._archive, archive.stem)
        archive.bring(root, self._path, download, into=self._path)
        if subset in _LISTS:
            self._walker = self._listed(subset)
        else:
            others = set() if subset is None else {p for each in _LISTS for p in self._listed(each)}
            self._walker = [path for path in self._all() if os.path.normpath(path) not in others]

    def _listed(self, subset: str) -> list[str]:
        lines = Path(self._path, _LISTS[subset]).read_text().splitlines()
        return [os.path.normpath(os.path.join(self._path, line.strip())) for line in lines]

    def _all(self) -> list[str]:
        paths = sorted(str(path) for path in Path(self._path).glob("*/*.wav"))
        return [path for path in paths if HASH_DIVIDER in path and EXCEPT_FOLDER not in path]

    def get_metadata(self, n: int) -> tuple[str, int, str, str, int]:
        """The item with the path of the file instead of the waveform."""
        path = Path(self._walker[n])
        speaker, number = path.name.split(".")[0].split(HASH_DIVIDER)
        place = os.path.relpath(path, self._archive)
        return place, SAMPLE_RATE, path.parent.name, speaker, int(number)

    def __getitem__(self, n: int) -> tuple[rl.Tensor, int, str, str, int]:
        found = self.get_metadata(n)
        return (waveform(self._archive, found[0], found[1]), *found[1:])
