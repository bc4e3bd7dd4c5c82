"""Snips: requests to an assistant, spoken by synthetic voices."""

from __future__ import annotations

import os
from pathlib import Path

import rushlight as rl
from rushlight_audio.datasets.archives import Location
from rushlight_audio.datasets.recordings import Recordings, one_of, require_folder, waveform

__all__ = ["Snips"]

_RATE = 16000
_SPEAKERS = (
    "Aditi Amy Brian Emma Geraint Ivy Joanna Joey Justin Kendra Kimberly Matthew Nicole Raveena "
    "Russell Salli"
).split()


def _labels(line: str) -> tuple[str, tuple[str, str, str]]:
    """Name, and transcript, tags of the words, and intent: what stands between the marks of the
    beginning and the end of a sentence."""
    words, _, tags = line.strip().partition("\t")
    name, *spoken = words.split(" ")
    *inner, intent = tags.split(" ")
    return name, (" ".join(spoken[1:-1]), " ".join(inner[1:]), intent)


class Snips(Recordings):
    """Snips: seven intents, with the words that fill their slots.

    Args:
        root: folder with ``SNIPS``.
        subset: ``"train"``, ``"valid"``, ``"test"``.
        speakers: names of voices; None for all sixteen.
        audio_format: ``"mp3"`` or ``"wav"``.

    Items are (waveform ``[1, T]``, sample rate, name, transcript, tags of the words, intent).
    """

    def __init__(
        self,
        root: Location,
        subset: str,
        speakers: list[str] | None = None,
        audio_format: str = "mp3",
    ) -> None:
        one_of("subset", subset, ["train", "valid", "test"])
        one_of("audio_format", audio_format, ["mp3", "wav"])
        self._path = Path(root) / "SNIPS"
        require_folder(self._path, "its publisher hands it out: see the SLURP and SNIPS papers")
        wanted = _SPEAKERS if speakers is None else speakers
        paths = sorted((self._path / subset).glob(f"*.{audio_format}"))
        self._walker = [path for path in paths if path.name.split("-")[0] in wanted]
        lines = (self._path / "all.iob.snips.txt").read_text().splitlines()
        self.labels = dict(_labels(line) for line in lines if subset in line.split(" ")[0])

    def get_metadata(self, n: int) -> tuple[str, int, str, str, str, str]:
        """The item with the path of the file instead of the waveform."""
        path = self._walker[n]
        place = os.path.relpath(path, self._path)
        return (place, _RATE, path.stem, *self.labels[path.stem])

    def __getitem__(self, n: int) -> tuple[rl.Tensor, int, str, str, str, str]:
        found = self.get_metadata(n)
        return (waveform(self._path, found[0], found[1]), *found[1:])
