"""fit: train a network on a folder or data sets."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import lightning_lite as L
import rushlight as rl
from lightning_lite.callbacks import ModelCheckpoint
from rushlight import nn
from rushlight_vision import models
from rushlight_vision.training import data as data_parts
from rushlight_vision.training.exporting import export as export_model
from rushlight_vision.training.module import TrainingModule
from rushlight_vision.training.settings import Settings
from rushlight_vision.training.tasks import TASKS, Task

if TYPE_CHECKING:
    from os import PathLike

    from rushlight.utils.data import Dataset

LAST, INTERRUPTED = "last.ckpt", "interrupted.ckpt"  # the names that the trainer gives
EMBEDDING = 64  # numbers that similarity keeps of a picture


@dataclass
class Result:
    """What a training left: the model (the moving average, if there is one), the names of its
    classes, the metric of the last epoch in percent, a dict for every epoch, and files."""

    model: nn.Module
    classes: list[str]
    task: str
    metric: str
    score: float
    history: list[dict[str, float]]
    files: dict[str, Path]


def built(model: Any, task: str, classes: list[str]) -> nn.Module:
    """A model as it is, or by name with as many classes as the data have."""
    if isinstance(model, nn.Module):
        return model
    count = EMBEDDING if task == "similarity" else len(classes)
    options: dict[str, Any] = {"num_classes": count}
    if "weights_backbone" in inspect.signature(models.get_model_builder(model)).parameters:
        options["weights_backbone"] = None  # nothing is downloaded
    return models.get_model(model, **options)


def _checkpoint(resume: Any, out: Path) -> Any:
    """The checkpoint to go on from; FileNotFoundError if it is not there."""
    if resume in (None, False):
        return None
    if resume in (True, "last"):
        there = [out / name for name in (LAST, INTERRUPTED) if (out / name).exists()]
        path = max(there, key=lambda each: each.stat().st_mtime_ns, default=out / LAST)
    else:
        path = Path(resume)
    if not path.exists():
        raise FileNotFoundError(f"fit: there is no checkpoint {path} to resume from")
    return path


def _trainer(settings: Settings, out: Path, quiet: bool) -> L.Trainer:
    return L.Trainer(
        max_epochs=settings.epochs,
        precision=settings.precision,
        gradient_clip_val=settings.clip or None,
        default_root_dir=out,
        logger=False,
        callbacks=[ModelCheckpoint(dirpath=out, filename="epoch", save_last=True)],
        enable_progress_bar=not quiet,
        enable_model_summary=False,
        num_sanity_val_steps=0,
    )


def fit(
    model: nn.Module | str,
    data: str | PathLike[str] | Dataset,
    val_data: str | PathLike[str] | Dataset | None = None,
    *,
    task: str | None = None,
    out: str | PathLike[str] = "runs/train",
    resume: str | PathLike[str] | None = None,
    export: Iterable[str] = ("state_dict",),
    on_error: str = "raise",
    stop_after: int | None = None,
    quiet: bool = False,
    **settings: Any,
) -> Result:
    """Train a network and measure it after every epoch.

    All generators of random numbers are seeded by the setting `seed`.

    Parameters
    ----------
    model : Module or str
        The name of a model is built anew with as many classes as the data have (64 numbers for
        similarity); a module is trained in place. Classification and similarity take models
        (N, 3, H, W) -> (N, classes).
    data : str, path or data set
        A folder that :func:`~rushlight_vision.datasets.from_folder` reads, what that made, or a
        data set of images and targets as it makes them, with `classes`.
    val_data : str, path, data set or None
        What is measured. None: the split val (or test) of the folder, or a fifth that is held out.
    task : str or None
        "classification", "detection", "segmentation", "similarity"; None: as the data say.
    out : path, default "runs/train"
        Folder of ``last.ckpt``, ``history.json`` and what is exported.
    resume : path, True or None
        A checkpoint to go on from as if there had been no break; True: the newer one of
        ``last.ckpt`` and ``interrupted.ckpt`` in `out`.
    export : iterable of str, default ("state_dict",)
        Formats; see :func:`export`.
    on_error : str, default "raise"
        As of :func:`~rushlight_vision.datasets.from_folder`.
    stop_after : int or None
        End after this epoch, to go on later; rates are those of all `epochs`.
    quiet : bool, default False
        Without a progress bar.
    **settings
        Fields of :class:`Settings`: `epochs`, `batch_size`, `lr`, `precision`, `ema`, `mixup`, ...

    Returns
    -------
    Result

    Raises
    ------
    ValueError, TypeError, FileNotFoundError
        For a task, setting, folder or checkpoint that is not there or not right.
    KeyboardInterrupt
        After Ctrl-C; it names the checkpoint to go on from.

    Example
    -------
    >>> result = fit("resnet18", "photos", epochs=5, ema=0.999)  # doctest: +SKIP
    >>> result.score, result.files["state_dict"]  # doctest: +SKIP
    """
    chosen = Settings.of(settings)
    if task is not None and task not in TASKS:
        raise ValueError(f"fit: task {task!r}; expected None or one of {list(TASKS)}")
    where = Path(out)
    checkpoint = _checkpoint(resume, where)
    data, val_data, task = data_parts.opened(data, val_data, task, on_error)
    classes = data_parts.check_classes(data, val_data)
    L.seed_everything(chosen.seed)
    made = TASKS[task](chosen, classes)
    module = TrainingModule(built(model, task, classes), made, chosen, stop_after)
    train, other = data_parts.loaders(data, val_data, made, chosen)
    trainer = _trainer(chosen, where, quiet)
    module.train()  # a finished training leaves its network in eval mode
    trainer.fit(module, train, other, ckpt_path=checkpoint)
    if trainer.interrupted:
        raise KeyboardInterrupt(f"training was interrupted; resume={str(where / INTERRUPTED)!r}")
    return _finished(module, made, task, where, export, next(iter(other)))


def _finished(
    module: TrainingModule, made: Task, task: str, where: Path, formats: Any, batch: Any
) -> Result:
    """Write the files of a training; what it left."""
    (where / "history.json").write_text(json.dumps(module.history, indent=1), encoding="utf-8")
    model = module.kept.eval()
    for kept, trained in zip(model.parameters(), module.model.parameters(), strict=True):
        kept.requires_grad_(trained.requires_grad)
    example = None if task == "detection" else made.normalized(batch[0][:1])
    with rl.no_grad():
        files = export_model(model, where, formats, example)
    score = module.history[-1][made.metric]
    return Result(model, made.classes, task, made.metric, score, module.history, files)
