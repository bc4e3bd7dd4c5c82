"""Libri-light: small labelled parts of LibriSpeech for fine-tuning."""

from __future__ import annotations

import os
from pathlib import Path

import rushlight as rl
from rushlight_audio.datasets.archives import Archive, Location
from rushlight_audio.datasets.librispeech import utterance
from rushlight_audio.datasets.recordings import Recordings, one_of
from rushlight_audio.io import load

__all__ = ["LibriLightLimited"]

_ARCHIVE = Archive(
    "https://dl.fbaipublicfiles.com/librilight/data/librispeech_finetuning.tgz",
    "5d1efdc777b548194d7e09ba89126e2188026df9fd57aa57eb14408d2b2342af",
)
_FOLDERS = {"10min": ["1h/0"], "1h": ["1h/*"], "10h": ["1h/*", "9h"]}


class LibriLightLimited(Recordings):
    """Ten minutes, one hour or ten hours of LibriSpeech.

    Args:
        root: folder.
        subset: ``"10min"``, ``"1h"``, ``"10h"``.
        download: fetch and unpack it where it is not there.

    Items are (waveform ``[1, T]``, sample rate, transcript, speaker, chapter, utterance).
    """

    def __init__(self, root: Location, subset: str = "10min", download: bool = False) -> None:
        folders = _FOLDERS[one_of("subset", subset, list(_FOLDERS))]
        self._path = os.path.join(root, "librispeech_finetuning")
        _ARCHIVE.bring(root, self._path, download)
        base = Path(self._path)
        found = [path for each in folders for path in base.glob(f"{each}/*/*/*/*.flac")]
        pairs = [(str(path.parents[2].relative_to(base)), path.stem) for path in found]
        self._walker = sorted(pairs, key="".join)

    def __getitem__(self, n: int) -> tuple[rl.Tensor, int, str, int, int, int]:
        folder, name = self._walker[n]
        found = utterance(self._path, folder, name)
        return (load(os.path.join(self._path, found[0]))[0], *found[1:])
