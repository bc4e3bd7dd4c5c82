"""LibriMix: mixtures of speakers of LibriSpeech."""

from __future__ import annotations

import os
from pathlib import Path

import rushlight as rl
from rushlight_audio.datasets.archives import Location
from rushlight_audio.datasets.recordings import Recordings, one_of, waveform

__all__ = ["LibriMix"]

_MIXTURES = {
    "sep_clean": "mix_clean",
    "enh_single": "mix_single",
    "enh_both": "mix_both",
    "sep_noisy": "mix_both",
}
_FOLDERS = {8000: "wav8k", 16000: "wav16k"}


class LibriMix(Recordings):
    """LibriMix: two or three speakers at once, with or without noise; its scripts make the files.

    Args:
        root: folder with ``Libri2Mix`` or ``Libri3Mix``.
        subset: ``"train-360"``, ``"train-100"``, ``"dev"``, ``"test"``.
        num_speakers: 2 or 3.
        sample_rate: 8000 or 16000.
        task: ``"sep_clean"``, ``"sep_noisy"``, ``"enh_single"``, ``"enh_both"``.
        mode: ``"min"``: as long as the shortest utterance; ``"max"``: as the longest.

    Items are (sample rate, mixture ``[1, T]``, list of the waveforms in it).
    """

    def __init__(
        self,
        root: Location,
        subset: str = "train-360",
        num_speakers: int = 2,
        sample_rate: int = 8000,
        task: str = "sep_clean",
        mode: str = "min",
    ) -> None:
        self.root = Path(root) / f"Libri{num_speakers}Mix"
        if not self.root.exists():
            raise RuntimeError(
                f"The path {self.root} doesn't exist. Please check `root` and `num_speakers`, or "
                "make the data set by the scripts of github.com/JorisCos/LibriMix"
            )
        one_of("mode", mode, ["min", "max"])
        one_of("sample_rate", sample_rate, list(_FOLDERS))
        base = self.root / _FOLDERS[sample_rate] / mode / subset
        self.sample_rate, self.task = sample_rate, task
        self.mix_dir = base / _MIXTURES[one_of("task", task, list(_MIXTURES))]
        parts = [f"s{number + 1}" for number in range(num_speakers)]
        self.src_dirs = [base / part for part in (["mix_clean"] if task == "enh_both" else parts)]
        self.files = sorted(path.name for path in self.mix_dir.glob("*.wav"))
        self._walker = self.files

    def get_metadata(self, key: int) -> tuple[int, str, list[str]]:
        """The item with paths of files instead of waveforms."""
        name = self.files[key]
        mixture, *parts = (
            os.path.relpath(folder / name, self.root) for folder in (self.mix_dir, *self.src_dirs)
        )
        return self.sample_rate, mixture, parts

    def __getitem__(self, key: int) -> tuple[int, rl.Tensor, list[rl.Tensor]]:
        rate, mixture, parts = self.get_metadata(key)
        mixed = waveform(self.root, mixture, rate)
        found = [waveform(self.root, part, rate) for part in parts]
        for path, part in zip(parts, found, strict=True):
            if part.shape != mixed.shape:
                raise ValueError(
                    f"{self.root / path}: its shape {list(part.shape)} is not that of the mixture, "
                    f"{list(mixed.shape)}"
                )
        return rate, mixed, found
