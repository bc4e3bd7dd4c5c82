"""Fluent Speech Commands: spoken requests to a house."""

from __future__ import annotations

import csv
import os
from pathlib import Path

import rushlight as rl
from rushlight_audio.datasets.archives import Location
from rushlight_audio.datasets.recordings import Recordings, one_of, require_folder, waveform

__all__ = ["SAMPLE_RATE", "FluentSpeechCommands"]

SAMPLE_RATE = 16000
Metadata = tuple[str, int, str, str, str, str, str, str]


class FluentSpeechCommands(Recordings):
    """Fluent Speech Commands: 30,000 requests of 97 speakers with action, object and location.

    Args:
        root: folder with ``fluent_speech_commands_dataset``, which its publisher hands out by form.
        subset: ``"train"``, ``"valid"``, ``"test"``.

    Items are (waveform ``[1, T]``, sample rate, name, speaker, transcript, action, object,
    location).
    """

    def __init__(self, root: Location, subset: str = "train") -> None:
        one_of("subset", subset, ["train", "valid", "test"])
        self._path = os.path.join(root, "fluent_speech_commands_dataset")
        require_folder(
            Path(self._path), "https://fluent.ai/fluent-speech-commands-a-dataset has it"
        )
        with open(os.path.join(self._path, "data", f"{subset}_data.csv"), newline="") as file:
            self.header, *self.data = csv.reader(file)
        self._walker = self.data

    def get_metadata(self, n: int) -> Metadata:
        """The item with the path of the file instead of the waveform."""
        row = self.data[n]
        name = row[self.header.index("path")].split("/")[-1].split(".")[0]
        speaker, transcript, action, thing, location = row[2:]
        path = os.path.join("wavs", "speakers", speaker, f"{name}.wav")
        return path, SAMPLE_RATE, name, speaker, transcript, action, thing, location

    def __getitem__(self, n: int) -> tuple[rl.Tensor, int, str, str, str, str, str, str]:
        found = self.get_metadata(n)
        return (waveform(self._path, found[0], found[1]), *found[1:])
