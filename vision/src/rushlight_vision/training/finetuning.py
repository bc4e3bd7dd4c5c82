"""finetune: adapt a trained network to other data; find_learning_rate."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import TYPE_CHECKING, Any

import lightning_lite as L
from rushlight import nn
from rushlight_vision import models
from rushlight_vision.training import data as data_parts
from rushlight_vision.training.fitting import EMBEDDING, Result, fit
from rushlight_vision.training.heads import replace_head
from rushlight_vision.training.module import optimizer_of
from rushlight_vision.training.settings import Settings
from rushlight_vision.training.tasks import TASKS

if TYPE_CHECKING:
    from os import PathLike

    from rushlight.utils.data import Dataset


def find_learning_rate(
    model: nn.Module,
    data: str | PathLike[str] | Dataset,
    *,
    task: str | None = None,
    least: float = 1e-5,
    most: float = 1.0,
    steps: int = 40,
    **settings: Any,
) -> float:
    """A learning rate at which the loss falls fastest (Smith, Cyclical learning rates, 2017).

    A copy of the model takes `steps` steps while the rate grows from `least` to `most`, or until
    the loss is four times the best; the answer is a tenth of the rate at which the smoothed loss
    was least. `model` and `data` stay as they are; arguments as of :func:`fit`.

    Raises ValueError if `least` is not below `most` or `steps` are fewer than 4.
    """
    if not 0.0 < least < most or steps < 4:
        raise ValueError(
            f"find_learning_rate: least {least}, most {most}, steps {steps}; expected "
            "0 < least < most and 4 steps"
        )
    chosen = Settings.of(settings)
    data, val_data, task = data_parts.opened(data, None, task, "raise")
    L.seed_everything(chosen.seed)
    made = TASKS[task](chosen, data_parts.check_classes(data, val_data))
    train, _ = data_parts.loaders(data, val_data, made, chosen)
    return _searched(copy.deepcopy(model).train(), made, train, (least, most, steps), chosen)


def _searched(model: nn.Module, made: Any, train: Any, limits: Any, chosen: Settings) -> float:
    """Train with a growing rate; a tenth of that with the least loss."""
    least, most, steps = limits
    optimizer = optimizer_of(model, chosen)
    batches, smooth, best, found = iter(train), 0.0, float("inf"), least
    for step in range(steps):
        rate = least * (most / least) ** (step / (steps - 1))
        for group in optimizer.param_groups:
            group["lr"] = rate
        batch = next(batches, None)
        if batch is None:
            batches = iter(train)
            batch = next(batches)
        loss = made.loss(model, batch)
        smooth = 0.7 * smooth + 0.3 * loss.item()
        average = smooth / (1.0 - 0.7 ** (step + 1))
        if not average < 4.0 * best:  # NaN, too
            break
        if average < best:
            best, found = average, rate
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), chosen.clip or float("inf"))
        optimizer.step()
    return max(found / 10.0, least)


def finetune(
    model: nn.Module | str,
    data: str | PathLike[str] | Dataset,
    val_data: str | PathLike[str] | Dataset | None = None,
    *,
    task: str | None = None,
    epochs: tuple[int, int] = (2, 4),
    lr: float | None = None,
    out: Any = "runs/finetune",
    **options: Any,
) -> Result:
    """Adapt a trained network to other data, in two parts.

    The last layer is replaced by a new one for the classes of the data (Faster and Mask R-CNN,
    RetinaNet, FCOS and SSD among detectors). First it is trained alone (all else is frozen), then
    everything, at a tenth of the rate.

    Parameters
    ----------
    model : Module or str
        A module is copied; a name stands for ``get_model(name, weights="DEFAULT")``.
    data, val_data, task
        As of :func:`fit`.
    epochs : (int, int), default (2, 4)
        Of the two parts.
    lr : float or None
        The rate of the first; None: :func:`find_learning_rate` finds it.
    out : path, default "runs/finetune"
        What the parts leave is in ``head`` and ``all`` there.
    **options
        What else :func:`fit` takes.

    Returns
    -------
    Result
        Of the second part; its `history` has the epochs of both.

    Example
    -------
    >>> result = finetune("mobilenet_v2", "photos")  # doctest: +SKIP
    """
    data, val_data, task = data_parts.opened(data, val_data, task, options.get("on_error", "raise"))
    classes = data_parts.check_classes(data, val_data)
    if isinstance(model, nn.Module):
        adapted = copy.deepcopy(model)
    else:
        adapted = models.get_model(model, weights="DEFAULT")
    heads = replace_head(adapted, task, EMBEDDING if task == "similarity" else len(classes))
    for name, each in adapted.named_parameters():
        each.requires_grad_(any(name.startswith(head + ".") for head in heads))
    if lr is None:
        known = {key: options[key] for key in Settings.__dataclass_fields__ if key in options}
        lr = find_learning_rate(adapted, data, task=task, **known)
    where = Path(out)
    first = fit(
        adapted, data, val_data, task=task, epochs=epochs[0], lr=lr, out=where / "head", **options
    )
    first.model.requires_grad_(True)
    second = fit(
        first.model, data, val_data, task=task, epochs=epochs[1], lr=lr / 10.0, out=where / "all",
        **options,
    )  # fmt: skip
    second.history[:0] = first.history
    return second
