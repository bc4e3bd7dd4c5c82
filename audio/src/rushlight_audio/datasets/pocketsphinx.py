"""Ten clips with transcripts, from the tests of PocketSphinx."""

from __future__ import annotations

import re
from pathlib import Path

import rushlight as rl
from rushlight_audio.datasets.archives import Location
from rushlight_audio.datasets.packages import debian, folder_of
from rushlight_audio.datasets.recordings import Recordings, one_of
from rushlight_audio.io import load

__all__ = ["PocketSphinxClips"]

_PACKAGE = debian(
    "p/pocketsphinx/pocketsphinx-testdata_0.8+5prealpha+1-15_all.deb",
    "eaeb7a01d54f20b799d1a81ef110ec544b2cb47ea006614078220737a33019f0",
)
_TABLES = {"librivox": "transcription", "cards": "cards.transcription"}
_LINE = re.compile(r"<s>(.*)</s>\s*\((.*)\)")


class PocketSphinxClips(Recordings):
    """Five sentences of a read book and five phrases about playing cards, 16 kHz, from Debian's
    package ``pocketsphinx-testdata`` (a BSD licence).

    Args:
        root: folder of the package, or what it was unpacked into.
        subset: ``"librivox"``, ``"cards"``, or None for both.
        download: fetch and unpack the package where it is not there.

    Items are (waveform ``[1, T]``, sample rate, transcript, name).
    """

    def __init__(self, root: Location, subset: str | None = None, download: bool = False) -> None:
        one_of("subset", subset, [None, *_TABLES])
        folder = folder_of(root, "usr/share/pocketsphinx/test/data", _PACKAGE, download)
        self._walker = [
            entry for each in _TABLES if subset in (None, each) for entry in _entries(folder / each)
        ]

    def __getitem__(self, n: int) -> tuple[rl.Tensor, int, str, str]:
        path, transcript = self._walker[n]
        return (*load(path), transcript, path.stem)


def _entries(folder: Path) -> list[tuple[Path, str]]:
    """Paths and transcripts: lines ``<s> words </s> (name)``."""
    lines = (folder / _TABLES[folder.name]).read_text().splitlines()
    found = [match for match in map(_LINE.match, lines) if match]
    return [(folder / f"{match[2]}.wav", " ".join(match[1].split())) for match in found]
