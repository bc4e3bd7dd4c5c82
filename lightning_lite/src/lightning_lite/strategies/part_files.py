"""Checkpoints of which each process writes its part: a folder, as Lightning writes it.

The folder holds the files of `rushlight.distributed.checkpoint` with the weights and the states of
optimizers under names, and `meta.pt` with everything else. `meta.pt` is removed first and written
last, so a folder that has one is whole.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import rushlight as rl
import rushlight.distributed as dist
from rushlight.distributed import checkpoint as parts
from rushlight.distributed.checkpoint import state_dict as states

METADATA = "meta.pt"


def is_divided(path: Any) -> bool:
    """Whether a path is a folder that processes wrote together."""
    return Path(path, METADATA).is_file()


def state_of(obj: Any, model: Any) -> Any:
    """What is written of a module, or of an optimizer of a module's parameters, by their names."""
    if isinstance(obj, rl.nn.Module):
        return states.get_model_state_dict(obj)
    return states.get_optimizer_state_dict(model, obj)


def write(path: Path, held: dict[str, Any], rest: dict[str, Any], first: bool) -> None:
    """Write the states `held`, and in the `first` process the `rest`; all processes call it."""
    if first:
        if path.is_file():
            path.unlink()
        path.mkdir(parents=True, exist_ok=True)
        (path / METADATA).unlink(missing_ok=True)
    dist.barrier()
    parts.save(held, checkpoint_id=path)
    if first:
        rl.save(rest, path / METADATA)
    dist.barrier()


def read_rest(path: Path, weights_only: bool | None) -> dict[str, Any]:
    """What is not weights and states of optimizers."""
    safe = True if weights_only is None else weights_only
    return rl.load(path / METADATA, map_location="cpu", weights_only=safe)


def names(path: Path, start: str) -> list[str]:
    """The names of states that begin so, in order of the numbers behind."""
    known = parts.FileSystemReader(path).read_metadata().state_dict_metadata
    found = {name.partition(".")[0] for name in known if name.startswith(start)}
    return sorted(found, key=lambda name: int(name.removeprefix(start)))


def read(path: Path, name: str, obj: Any, model: Any, strict: bool = True) -> None:
    """Read the state of a module, or of an optimizer of a module's parameters, into it.

    Without `strict`, what the file lacks of a module stays as it is.
    """
    wanted = state_of(obj, model)
    if not strict and isinstance(obj, rl.nn.Module):
        known = parts.FileSystemReader(path).read_metadata().state_dict_metadata
        wanted = {key: value for key, value in wanted.items() if f"{name}.{key}" in known}
    parts.load({name: wanted}, checkpoint_id=path)
    if isinstance(obj, rl.nn.Module):
        options = states.StateDictOptions(strict=strict)
        states.set_model_state_dict(obj, wanted, options=options)
    else:
        states.set_optimizer_state_dict(model, obj, wanted)
