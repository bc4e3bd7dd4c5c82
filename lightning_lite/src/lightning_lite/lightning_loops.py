"""How far training has come, as Lightning's checkpoints write it down: read, and written beside our
own numbers, so that each can go on from the other's files.

Lightning counts what is ready, started, processed and completed, per epoch ("current") and over all
("total"). What is processed but not completed was saved in the hooks at its end.
"""

from __future__ import annotations

from typing import Any

from lightning_lite.state import Next, Progress

# The version whose form is written.
VERSION = "2.6.0"
COUNTS = ("ready", "completed", "started", "processed")


def _counts(total: int, current: int, open_: int = 0, names: Any = COUNTS) -> dict[str, Any]:
    """Counters of which the last `open_` are not completed."""

    def of(number: int) -> dict[str, int]:
        return {name: number - open_ * (name == "completed") for name in names}

    return {"total": of(total), "current": of(current)}


def _evaluation(prefix: str = "", batches: int = 0) -> dict[str, Any]:
    progress = {**_counts(batches, batches), "is_last_batch": batches > 0}
    return {f"{prefix}state_dict": {}, f"{prefix}batch_progress": progress}


def fit_loop(progress: Progress) -> dict[str, Any]:
    """Lightning's entries of the training loop."""
    in_batch = int(progress.next is Next.AFTER_BATCH)
    began = int(progress.next is not Next.EPOCH)
    ended = int(progress.next is Next.AFTER_EPOCH)
    epochs = progress.epoch + began
    epoch = {name: epochs for name in ("ready", "started")}
    epoch |= {"processed": progress.epoch + ended, "completed": progress.epoch}
    steps, zero = progress.optimizer_steps, _counts(0, 0, names=("ready", "completed"))
    in_epoch = min(progress.batch, steps)
    return {
        "state_dict": {},
        "epoch_progress": {"total": dict(epoch), "current": dict(epoch)},
        "epoch_loop.state_dict": {"_batches_that_stepped": progress.logged_steps},
        "epoch_loop.batch_progress": {
            **_counts(progress.total_batches, progress.batch, in_batch),
            "is_last_batch": progress.is_last_batch,
        },
        "epoch_loop.scheduler_progress": _counts(
            progress.scheduler_steps, 0, names=("ready", "completed")
        ),
        "epoch_loop.automatic_optimization.state_dict": {},
        "epoch_loop.automatic_optimization.optim_progress": {
            "optimizer": {
                "step": _counts(steps, in_epoch, names=("ready", "completed")),
                "zero_grad": _counts(steps, in_epoch, names=("ready", "completed", "started")),
            }
        },
        "epoch_loop.manual_optimization.state_dict": {},
        "epoch_loop.manual_optimization.optim_step_progress": zero,
        **_evaluation("epoch_loop.val_loop.", sum(progress.validated_batches)),
    }


def other_loops() -> dict[str, Any]:
    """Lightning's entries of the loops that do not train."""
    return {f"{name}_loop": _evaluation() for name in ("validate", "test", "predict")}


def is_lightnings(saved: dict[str, Any]) -> bool:
    """Whether Lightning alone wrote the entries of a training loop."""
    return "epoch_progress" in saved and "progress" not in saved


def progress_of(saved: dict[str, Any], global_step: int) -> Progress:
    """Our numbers from Lightning's."""
    epochs = saved["epoch_progress"]["current"]
    batches = saved["epoch_loop.batch_progress"]
    schedulers = saved.get("epoch_loop.scheduler_progress", {"total": {"completed": 0}})
    validated = saved.get("epoch_loop.val_loop.batch_progress", {"total": {"completed": 0}})
    last = bool(batches["is_last_batch"])
    following = _next(epochs, batches["current"], last)
    progress = Progress(
        epoch=epochs["completed"],
        batch=batches["current"]["processed"],
        total_batches=batches["total"]["processed"],
        optimizer_steps=global_step,
        logged_steps=saved["epoch_loop.state_dict"].get("_batches_that_stepped", global_step),
        scheduler_steps=schedulers["total"]["completed"],
        is_last_batch=last,
        next=following,
        validated_batches=[validated["total"]["completed"]],
    )
    if following is Next.AFTER_EPOCH or (last and following is Next.AFTER_VALIDATION):
        # What was logged is not kept, so hooks and schedulers at the epoch's end have nothing to
        # go by.
        progress.epoch += 1
        progress.begin_anew()
    return progress


def _next(epochs: dict[str, int], batches: dict[str, int], last: bool) -> Next:
    """What comes next, by what is not completed."""
    if epochs["ready"] == epochs["completed"]:
        return Next.EPOCH
    if epochs["processed"] > epochs["completed"]:
        return Next.AFTER_EPOCH
    if batches["processed"] > batches["completed"]:
        return Next.AFTER_BATCH
    return Next.AFTER_VALIDATION if last or batches["ready"] else Next.BATCH
