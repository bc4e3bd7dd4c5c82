"""Files of packaged networks: matrices as signed bytes or halves, notes beside them."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import rushlight as rl
from rushlight.serialization import safetensors
from rushlight_text.models.pretrained import load_weights
from rushlight_text.zoo.bags import notes_of

__all__ = ["SCALE", "as_bytes", "as_floats", "read_network", "write_network"]

SCALE = ".scale"


def as_bytes(state: dict[str, rl.Tensor]) -> dict[str, rl.Tensor]:
    """Tensors as they are written.

    A matrix ``[R, C]`` becomes int8 ``[R, C]`` and, under its name with ``.scale``, float32
    ``[R]``: the largest magnitude of the row by 127, so that a value is off by at most half of it.
    Weights of convolutions ``[R, C, ...]`` too, `R` being their outputs. Other tensors become
    float16.

    Example
    -------
    >>> as_bytes({"a": rl.tensor([[0.0, -127.0], [0.5, 0.25]])})["a"].tolist()
    [[0, -127], [127, 64]]
    """
    found = {}
    for name, value in state.items():
        value = value.detach().float()
        if value.dim() < 2:
            found[name] = value.half()
            continue
        rows = value.flatten(1)
        scale = rows.abs().amax(1).clamp(min=1e-12) / 127
        found[name] = (rows / scale[:, None]).round().to(rl.int8).view(value.shape)
        found[name + SCALE] = scale
    return found


def as_floats(state: dict[str, rl.Tensor]) -> dict[str, rl.Tensor]:
    """What :func:`as_bytes` wrote, in float32; tensors without a scale are converted."""
    return {
        name: (value.float().flatten(1) * state[name + SCALE][:, None]).view(value.shape)
        if name + SCALE in state
        else value.float()
        for name, value in state.items()
        if not name.endswith(SCALE)
    }


def write_network(path: str | os.PathLike, model: Any, **notes: Any) -> None:
    """One safetensors file: weights as by :func:`as_bytes`, tied ones once; configuration and
    `notes`, which JSON can hold, are strings of its header."""
    state, seen = {}, set()
    for name, value in model.state_dict(keep_vars=True).items():
        if id(value) not in seen:
            seen.add(id(value))
            state[name] = value
    written = {"config": dict(model.config), **notes}
    metadata = {key: json.dumps(value, ensure_ascii=False) for key, value in written.items()}
    safetensors.save_file(as_bytes(state), path, metadata=metadata)


def read_network(
    path: str | os.PathLike, build: Callable[[dict[str, Any]], Any]
) -> tuple[Any, dict[str, Any]]:
    """The model that `build` makes of the configuration, in evaluation mode, and the notes.

    Raises ValueError where the file was not written by :func:`write_network`.
    """
    notes = {key: json.loads(value) for key, value in notes_of(Path(path), "config").items()}
    model = build(notes["config"])
    state = as_floats(safetensors.load_file(path))
    load_weights(model, state, dtype=rl.float32, source=os.fspath(path))
    return model.eval(), notes
