"""Where a training goes on that a checkpoint was written of, and the flags that say so."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from lightning_lite import lightning_loops
from lightning_lite.state import Next, Progress


def limit_reached(trainer: Any) -> bool:
    """Whether `max_steps` or `max_epochs` leaves nothing to do."""
    progress = trainer.state.progress
    if trainer.max_steps != -1 and progress.optimizer_steps >= trainer.max_steps:
        return True
    epochs = trainer.max_epochs
    if epochs in (None, -1):
        return False
    started = progress.epoch - (progress.cut_short and progress.next is Next.EPOCH)
    return started >= epochs


def reenter(trainer: Any, progress: Progress) -> None:
    """Stand inside of the epoch again that a limit had cut short, if the limit is gone."""
    if not progress.cut_short or limit_reached(trainer):
        return
    if progress.next is Next.EPOCH:  # written after the run had ended
        progress.epoch -= 1
        progress.next = Next.BATCH
    elif progress.next is Next.AFTER_EPOCH:
        progress.next = Next.BATCH


def set_restart_flags(trainer: Any, counters: dict[str, Any] | None) -> None:
    """Set the flags of `trainer.fit_loop`: by `counters`, where Lightning wrote the checkpoint,
    else by where our loop goes on, which may be inside of an epoch that a limit cut short."""
    if counters is None:
        progress = replace(trainer.state.progress)
        reenter(trainer, progress)
        counters = lightning_loops.fit_loop(progress)
    trainer.fit_loop.load_counters(counters, trainer.max_steps != -1)
    if limit_reached(trainer):
        trainer.fit_loop.reset_restart_stages()
