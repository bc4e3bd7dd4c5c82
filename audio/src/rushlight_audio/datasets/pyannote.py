"""Half a minute of a telephone call, from pyannote.audio."""

from __future__ import annotations

from dataclasses import dataclass

import rushlight as rl
from rushlight_audio.datasets.archives import Location
from rushlight_audio.datasets.packages import folder_of, wheel
from rushlight_audio.datasets.recordings import Recordings
from rushlight_audio.io import load

__all__ = ["PyannoteSample", "Turn"]

_PACKAGE = wheel(
    "pyannote-audio",
    "pyannote_audio-4.0.7-py3-none-any.whl",
    "852ea15c4d85bc34773e618267603ffca6a521669a74d33742692cc67fc700d6",
)


@dataclass(frozen=True)
class Turn:
    """What one speaker says without a break: begin and end in seconds, the words or None."""

    speaker: str
    start: float
    end: float
    words: str | None = None


class PyannoteSample(Recordings):
    """Two speakers on the telephone, 30 s of 16 kHz, with turns and transcript, from the wheel of
    ``pyannote-audio`` 4.0.7 (rights in the recording are not stated).

    Args:
        root: folder of the wheel, or what it was unpacked into.
        download: fetch and unpack the wheel where it is not there.

    Items are (waveform ``[1, T]``, sample rate, `Turn` with words), one for each sentence. `turns`
    are the turns without words, `recording` is the whole with its rate.
    """

    def __init__(self, root: Location, download: bool = False) -> None:
        folder = folder_of(root, "pyannote/audio/sample", _PACKAGE, download)
        self.recording = load(folder / "sample.wav")
        rows = [line.split() for line in (folder / "sample.rttm").read_text().splitlines()]
        self.turns = [
            Turn(row[7], float(row[3]), round(float(row[3]) + float(row[4]), 3))
            for row in rows
            if row and row[0] == "SPEAKER"
        ]
        lines = (folder / "sample.stm").read_text().splitlines()
        self._walker = [_sentence(line) for line in lines if line and not line.startswith(";;")]

    def __getitem__(self, n: int) -> tuple[rl.Tensor, int, Turn]:
        waveform, rate = self.recording
        turn = self._walker[n]
        return waveform[:, round(turn.start * rate) : round(turn.end * rate)], rate, turn


def _sentence(line: str) -> Turn:
    """A line ``file channel speaker start end words``."""
    _, _, speaker, start, end, words = line.split(" ", 5)
    return Turn(speaker, float(start), float(end), words)
