"""Losses and weights that are no numbers any more: told once, and not written over good ones."""

from __future__ import annotations

import math
from typing import Any

import rushlight as rl
from lightning_lite.messages import warn


def is_finite(loss: Any) -> bool:
    """Whether a loss is a number; True for what is not one number: the backward pass says so."""
    try:
        return math.isfinite(loss.item())
    except (RuntimeError, TypeError):
        return True


def watch_loss(trainer: Any, loss: Any, batch_idx: int, arguments: tuple[Any, ...]) -> None:
    """Warn of the first loss of a fit that is NaN or infinite, and say where it comes from.

    On the CPU each loss is looked at, before it is differentiated. A GPU would have to be waited
    for, so that there only those of the steps that are logged are.
    """
    if trainer.told_non_finite or not isinstance(loss, rl.Tensor):
        return
    if loss.is_cuda and (batch_idx + 1) % (trainer.log_every_n_steps or 1):
        return
    if is_finite(loss):
        return
    trainer.told_non_finite = True
    from lightning_lite.non_finite_search import source_of

    warn(
        f"the loss is {loss.item()} in epoch {trainer.current_epoch}, batch {batch_idx}, and "
        f"training goes on: no other is told. {source_of(trainer, arguments)} "
        "Trainer(detect_anomaly=True) raises at the operation "
        "that gives the first NaN of a backward pass; a lower learning rate and gradient_clip_val "
        "are the usual cures",
        RuntimeWarning,
    )


def non_finite_parameter(module: Any) -> str:
    """The name of a parameter in training that has NaN or infinite elements in this process; "" if
    none has. Frozen ones may hold infinities for a purpose, as masks do."""
    for name, parameter in module.named_parameters():
        if parameter.requires_grad:
            held = parameter.detach()
            held = held.to_local() if hasattr(held, "to_local") else held
            if not bool(rl.isfinite(held).all()):
                return str(name)
    return ""


def check_finite_loss(loss: Any) -> None:
    """ValueError for a loss with NaN or infinite elements; None passes.

    >>> check_finite_loss(rl.tensor(1.5))
    """
    if loss is not None and not bool(rl.isfinite(loss).all()):
        raise ValueError(
            f"check_finite_loss: the loss of training_step is {loss}; expected numbers"
        )
