"""The file of a Learner's weights: the network's state, and the optimizer's if it is kept."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any

import rushlight as rl


def path_of(folder: str | PathLike[str], name: Any) -> Path:
    """Where `Learner.save(name)` writes."""
    return Path(folder, "models", f"{name}.pt")


def write_weights(path: Path, model: Any, optimizer: Any = None) -> Path:
    """Write them; the path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    state = {"model": model.state_dict()}
    if optimizer is not None:
        state["opt"] = optimizer.state_dict()
    rl.save(state, path)
    return path


def read_weights(path: Path, model: Any, optimizer: Any = None, strict: bool = True) -> None:
    """Give model and optimizer what the file holds of them. Nothing in the file is executed."""
    state = rl.load(path)
    model.load_state_dict(state["model"], strict=strict)
    if optimizer is not None and "opt" in state:
        optimizer.load_state_dict(state["opt"])
