"""IEMOCAP: actors in conversation, with the feelings that listeners heard."""

from __future__ import annotations

from pathlib import Path

import rushlight as rl
from rushlight_audio.datasets.archives import Location
from rushlight_audio.datasets.recordings import Recordings, one_of, require_folder, waveform

__all__ = ["IEMOCAP"]

_RATE = 16000
_FEELINGS = ("neu", "hap", "ang", "sad", "exc", "fru")
_TABLES = {"scripted": "*script*.txt", "improvised": "*impro*.txt", None: "*.txt"}


class IEMOCAP(Recordings):
    """IEMOCAP: twelve hours of ten actors, https://sail.usc.edu/iemocap.

    Args:
        root: folder with ``IEMOCAP``, which its publisher hands out on request.
        sessions: numbers of the sessions.
        utterance_type: ``"scripted"``, ``"improvised"``, or None for both.

    Items are (waveform ``[1, T]``, sample rate, name, feeling, speaker); the feeling is one of
    neu, hap, ang, sad, exc, fru.
    """

    def __init__(
        self,
        root: Location,
        sessions: tuple[int, ...] = (1, 2, 3, 4, 5),
        utterance_type: str | None = None,
    ) -> None:
        self._path = Path(root) / "IEMOCAP"
        require_folder(self._path, "https://sail.usc.edu/iemocap hands it out on request")
        one_of("utterance_type", utterance_type, list(_TABLES))
        self.mapping: dict[str, dict[str, str]] = {}
        self.data: list[str] = []
        for session in sessions:
            self._add(self._path / f"Session{session}", _TABLES[utterance_type])
        self._walker = self.data

    def _add(self, folder: Path, tables: str) -> None:
        labels = {}
        for table in sorted((folder / "dialog" / "EmoEvaluation").glob(tables)):
            for line in table.read_text().splitlines():
                if line.startswith("["):
                    _, name, feeling, *_ = line.split("\t")
                    labels[name] = feeling
        for path in sorted((folder / "sentences" / "wav").glob("*/*.wav")):
            if labels.get(path.stem) in _FEELINGS:
                place = str(path.relative_to(self._path))
                self.mapping[path.stem] = {"label": labels[path.stem], "path": place}
                self.data.append(path.stem)

    def get_metadata(self, n: int) -> tuple[str, int, str, str, str]:
        """The item with the path of the file instead of the waveform."""
        name = self.data[n]
        found = self.mapping[name]
        return found["path"], _RATE, name, found["label"], name.split("_")[0]

    def __getitem__(self, n: int) -> tuple[rl.Tensor, int, str, str, str]:
        found = self.get_metadata(n)
        return (waveform(self._path, found[0], found[1]), *found[1:])
