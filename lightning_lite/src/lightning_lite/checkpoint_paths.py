"""Which file `ckpt_path` means: a path, "last", "best", "registry"; where an interrupted run is
kept."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from lightning_lite.errors import MisconfigurationException
from lightning_lite.messages import info, warn
from lightning_lite.state import TrainerFn
from lightning_lite.utilities.model_registry import (
    download_model_from_registry,
    find_model_local_ckpt_path,
    is_registry,
)

INTERRUPTED = "interrupted.ckpt"


def resolve(trainer: Any, fn: TrainerFn, given: Any, given_model: bool) -> str | None:
    """The path of the checkpoint to load, or None for none.

    Without a module, validate, test and predict use the best weights of the last fit, if any were
    kept. "registry:name" downloads a model of Lightning AI's registry.
    """
    if given is None:
        if given_model or fn is TrainerFn.FITTING:
            return None
        best = best_path(trainer)
        if best is None:
            info(f"Trainer.{fn.value}: no checkpoint was kept; the module is used as it is")
        return best
    if is_registry(given):
        download_model_from_registry(given, trainer)
        return find_model_local_ckpt_path(given, None, trainer.default_root_dir)
    if given in ("last", "hpc"):
        if given != "last":
            raise NotImplementedError(f'ckpt_path="{given}": give a path, "last" or "best"')
        found = last_path(trainer)
        if found is None:
            warn(
                f'Trainer.{fn.value}: ckpt_path="last", but there is no last checkpoint; none is '
                "loaded"
            )
        return found
    if given == "best":
        found = best_path(trainer)
        if found is None:
            raise ValueError(
                f'Trainer.{fn.value}: ckpt_path="best", but no ModelCheckpoint has kept one in '
                "this run"
            )
        return found
    return os.fspath(given)


def best_path(trainer: Any) -> str | None:
    """The best checkpoint of the first callback that has one."""
    for callback in trainer.checkpoint_callbacks:
        path = getattr(callback, "best_model_path", "")
        if path:
            return path
    return None


def last_path(trainer: Any) -> str | None:
    """The newest of the `last` and interrupted checkpoints that the callbacks' folders hold."""
    found: set[Path] = set()
    for callback in trainer.checkpoint_callbacks:
        folders = callback.candidate_folders(trainer)
        found.update(callback.last_files(folders))
        found.update(folder / INTERRUPTED for folder in folders)
    found.add(Path(trainer.default_root_dir) / INTERRUPTED)
    existing = [path for path in found if path.exists()]
    return str(max(existing, key=lambda path: path.stat().st_mtime_ns)) if existing else None


def interrupted_path(trainer: Any) -> Path | None:
    """Where the state of an interrupted run is written; None if checkpoints are switched off."""
    if trainer.fast_dev_run:
        return None
    for callback in trainer.checkpoint_callbacks:
        folder = getattr(callback, "dirpath", None)
        return Path(folder or trainer.default_root_dir) / INTERRUPTED
    return None


def check_local(path: Any) -> None:
    """Complain of a path on another machine."""
    if "://" in os.fspath(path):
        raise MisconfigurationException(f"{path}: checkpoints are kept on this machine only")
