"""What data sets of sound have in common."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import rushlight as rl
from rushlight.utils.data import Dataset
from rushlight_audio.datasets.archives import Location
from rushlight_audio.io import load

__all__ = ["Recordings", "one_of", "require_folder", "waveform"]


class Recordings(Dataset):
    """Items by number, of the entries of `_walker`."""

    _walker: Sequence[Any]

    def __len__(self) -> int:
        return len(self._walker)


def waveform(root: Location, filename: str, rate: int) -> rl.Tensor:
    """The samples of a file; ValueError where it has another rate."""
    path = os.path.join(root, filename)
    found, sample_rate = load(path)
    if sample_rate != rate:
        raise ValueError(f"{path}: the sample rate should be {rate}, but it is {sample_rate}")
    return found


def one_of(name: str, value: Any, known: Sequence[Any], kind: type[Exception] = ValueError) -> Any:
    """The value, if it is known."""
    if value not in known:
        raise kind(f"`{name}` must be one of {list(known)}, got {value!r}")
    return value


def require_folder(path: Path, how: str) -> None:
    """RuntimeError where a data set that cannot be fetched is not there."""
    if not path.is_dir():
        raise RuntimeError(f"Dataset not found at {path}; {how}")
