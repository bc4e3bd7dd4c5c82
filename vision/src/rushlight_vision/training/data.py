"""The data of a training: a folder or data sets, in two parts, with the transforms of a task."""

from __future__ import annotations

import os
from typing import Any

import rushlight as rl
from rushlight.utils.data import DataLoader, Dataset
from rushlight_vision.datasets.layouts.reading import FolderDataset, from_folder
from rushlight_vision.training.settings import Settings
from rushlight_vision.training.tasks import Task

HELD_OUT = 0.2  # share of a folder without splits


class Changed(Dataset):
    """Items of a data set, some or all, changed by transforms of image and target."""

    def __init__(self, data: Any, transforms: Any, indices: list[int] | None = None) -> None:
        self.data, self.transforms = data, transforms
        self.indices = list(range(len(data))) if indices is None else indices

    def __len__(self) -> int:
        return len(self.indices)

    def __getitem__(self, index: int) -> Any:
        """The item of a number."""
        return self.transforms(*self.data[self.indices[index]])


def opened(data: Any, val_data: Any, task: str | None, on_error: str) -> tuple[Any, Any, str]:
    """Training data, other data (None: a share is to be held out), and the task."""
    data, val_data = _read(data, task, on_error), _read(val_data, task, on_error)
    task = task or getattr(data, "task", None)
    if task is None:
        raise ValueError("fit: task is None, and the data set does not say; give task=...")
    splits = data.splits if isinstance(data, FolderDataset) else {}
    if val_data is None and "train" in splits:
        other = next((name for name in ("val", "test") if name in splits), None)
        val_data = None if other is None else data.only(other)
        data = data.only("train")
    return data, val_data, task


def _read(data: Any, task: str | None, on_error: str) -> Any:
    """A data set as it is, or that of a folder."""
    if not isinstance(data, (str, os.PathLike)):
        return data
    return from_folder(data, "classification" if task == "similarity" else task, on_error)


def check_classes(data: Any, val_data: Any) -> list[str]:
    """The names of the classes; ValueError if the data do not say or the parts differ."""
    classes = getattr(data, "classes", None)
    if not classes:
        raise ValueError(f"fit: {type(data).__name__} has no `classes`, the names of its labels")
    others = getattr(val_data, "classes", classes)
    if list(others) != list(classes):
        raise ValueError(
            f"fit: classes of val_data {list(others)}; expected those of data, {list(classes)}"
        )
    return list(classes)


def loaders(data: Any, val_data: Any, task: Task, settings: Settings) -> tuple[Any, Any]:
    """The loaders of training and validation."""
    varied, plain = task.transforms(True), task.transforms(False)
    if val_data is None:
        generator = rl.Generator().manual_seed(settings.seed)
        order = rl.randperm(len(data), generator=generator).tolist()
        held = max(int(len(order) * HELD_OUT), 1)
        train, other = Changed(data, varied, order[held:]), Changed(data, plain, order[:held])
    else:
        train, other = Changed(data, varied), Changed(val_data, plain)
    if not len(train) or not len(other):
        raise ValueError(f"fit: {len(train)} training and {len(other)} other samples")
    options: Any = {
        "batch_size": settings.batch_size,
        "num_workers": settings.workers,
        "collate_fn": task.collate,
    }
    # A last batch of one picture cannot be normalised by its own statistics.
    drop = len(train) % settings.batch_size == 1 and len(train) > 1
    return DataLoader(train, shuffle=True, drop_last=drop, **options), DataLoader(other, **options)
