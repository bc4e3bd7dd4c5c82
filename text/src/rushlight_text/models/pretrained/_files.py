"""Weights in folders of Hugging Face: one file or several, safetensors or PyTorch's."""

from __future__ import annotations

import json
import os
from pathlib import Path

import rushlight as rl
from rushlight.serialization import safetensors

__all__ = ["read_weights"]

_ONE = ("model.safetensors", "pytorch_model.bin")


def read_weights(folder: str | os.PathLike) -> dict[str, rl.Tensor]:
    """All tensors of a folder by name.

    Raises FileNotFoundError naming the files where none is there, or naming the missing part.
    """
    folder = Path(folder)
    for name in _ONE:
        if (folder / name).is_file():
            return _read(folder / name)
        index = folder / f"{name}.index.json"
        if index.is_file():
            return _parts(index)
    raise FileNotFoundError(
        f"{folder}: no weights: none of {', '.join(_ONE)}, or their .index.json"
    )


def _parts(index: Path) -> dict[str, rl.Tensor]:
    try:
        where = json.loads(index.read_text(encoding="utf-8"))["weight_map"]
        files = sorted(set(where.values()))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{index}: no map from names to files: {error}") from error
    found: dict[str, rl.Tensor] = {}
    for name in files:
        path = index.parent / Path(name).name
        if not path.is_file():
            raise FileNotFoundError(f"{path}: a part that {index.name} names is missing")
        found.update(_read(path))
    missing = sorted(set(where) - set(found))
    if missing:
        raise ValueError(f"{index}: the files do not hold {missing[:3]} ({len(missing)} in all)")
    return found


def _read(path: Path) -> dict[str, rl.Tensor]:
    if path.suffix == ".safetensors":
        return safetensors.load_file(path)
    return rl.load(path, map_location="cpu")
