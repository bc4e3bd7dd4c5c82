"""The training loop as plain functions. What they know stands in `trainer.state.progress`.

An epoch is a row of steps (`Next`); each function names the step after it *before* it runs the
hooks in which checkpoints are written. So a checkpoint names the first thing that has not
happened, and `fit_loop` enters the row there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lightning_lite import random_state
from lightning_lite.data_sources import is_tensors
from lightning_lite.errors import MisconfigurationException
from lightning_lite.evaluation import validate_in_training
from lightning_lite.feeding import INFINITE
from lightning_lite.logging_points import keep_epoch_metrics, keep_step_metrics, log_epoch, log_step
from lightning_lite.messages import info
from lightning_lite.optimization import optimize, steps_now, update_schedulers
from lightning_lite.reentry import reenter
from lightning_lite.state import Next


def fit_loop(trainer: Any) -> None:
    """Train until a limit is reached or somebody wishes to stop."""
    trainer.hooks.call("on_train_start")
    if trainer.resume_point is not None:
        go_on(trainer)
    progress, restart = trainer.state.progress, trainer.fit_loop
    while not finished(trainer):
        rest = progress.next is Next.AFTER_EPOCH
        run_epoch(trainer)
        restart.epoch_done(rest)
    restart.end_run()
    trainer.hooks.call("on_train_end")


def go_on(trainer: Any) -> None:
    """Stand where the checkpoint was written: loader, then random numbers."""
    progress, point = trainer.state.progress, trainer.resume_point
    trainer.resume_point = None
    reenter(trainer, progress)
    if progress.next in (Next.BATCH, Next.AFTER_BATCH, Next.AFTER_VALIDATION):
        trainer.feed.reopen(point["loader"], progress.epoch, progress.batch)
    if point["random_states"] is not None:
        random_state.restore(point["random_states"])


def may_stop_early(trainer: Any) -> bool:
    """Whether somebody wishes to stop and `min_epochs` and `min_steps` allow it."""
    if not trainer.should_stop:
        return False
    progress = trainer.state.progress
    if trainer.min_steps and progress.optimizer_steps < trainer.min_steps:
        return False
    return not trainer.min_epochs or progress.epoch >= trainer.min_epochs


def finished(trainer: Any) -> bool:
    """Whether training is over; says why. An epoch that is under way is finished first."""
    progress = trainer.state.progress
    if trainer.feed.length == 0:
        info("Trainer.fit stopped: the loader has no batches")
        return True
    if progress.next is not Next.EPOCH:
        return False
    if trainer.max_steps != -1 and progress.optimizer_steps >= trainer.max_steps:
        info(f"Trainer.fit stopped: max_steps={trainer.max_steps} reached")
        return True
    if trainer.max_epochs not in (None, -1) and progress.epoch >= trainer.max_epochs:
        info(f"Trainer.fit stopped: max_epochs={trainer.max_epochs} reached")
        return True
    return may_stop_early(trainer)


def run_epoch(trainer: Any) -> None:
    """One epoch, or the rest of one."""
    progress = trainer.state.progress
    trainer.interrupt.check()
    if progress.next is Next.EPOCH:
        begin_epoch(trainer)
    restart = trainer.fit_loop.epoch_loop
    if progress.next in (Next.AFTER_BATCH, Next.AFTER_VALIDATION):
        validated = progress.next is Next.AFTER_VALIDATION
        finish_batch(trainer)
        if validated:
            restart.on_iteration_done()
    if progress.next is Next.BATCH:
        resuming, interrupt, quiet = restart.is_resuming, trainer.interrupt, quiet_step(trainer)
        goes_on = Next.BATCH
        for batch in trainer.feed.batches():
            if quiet is None or not quiet(batch):
                if quiet is None:
                    train_batch(trainer, batch)
                finish_batch(trainer)
            if resuming:
                restart.on_iteration_done()
                resuming = False
            if interrupt.requested:
                interrupt.check()
            if progress.next is not goes_on:
                break
        else:
            loader_ended(trainer)
    if progress.next is Next.EPOCH_HOOKS:
        run_epoch_hooks(trainer)
    if progress.next is Next.AFTER_EPOCH:
        finish_epoch(trainer)


def loader_ended(trainer: Any) -> None:
    """The loader gave less than its length said, or nothing at all."""
    progress = trainer.state.progress
    if progress.batch == 0:
        raise MisconfigurationException("Trainer.fit: the training loader gave no batch")
    progress.is_last_batch = True
    end_batches(trainer)


def begin_epoch(trainer: Any) -> None:
    """New loaders if due, the hooks, the iterator."""
    progress = trainer.state.progress
    progress.batch = 0
    progress.is_last_batch = progress.cut_short = False
    trainer.reload_loaders_if_due()
    trainer.hooks.call("on_train_epoch_start")
    trainer.feed.open(progress.epoch)
    progress.next = Next.BATCH


def train_batch(trainer: Any, batch: Any) -> None:
    """Train on one batch, up to and with `on_train_batch_end`."""
    progress, hooks = trainer.state.progress, trainer.hooks
    batch_idx = progress.batch
    progress.is_last_batch = trainer.feed.at_end
    batch = trainer.mover(batch, 0)
    results = trainer.training_results
    results.batch = batch
    begins = "on_train_batch_start" in hooks.used
    if begins and hooks.call("on_train_batch_start", batch, batch_idx) == -1:
        progress.is_last_batch = True
        end_batches(trainer)
        update_schedulers(trainer, "epoch", progress.epoch + 1, plateau=False)
        return
    if trainer.plain_step is not None and trainer.accumulate_grad_batches == 1:
        outputs = trainer.plain_step(batch, batch_idx)
    else:
        outputs = optimize(trainer, trainer.step_arguments(batch, batch_idx), batch_idx)
    if trainer.lr_scheduler_configs:
        if steps_now(trainer, batch_idx + 1):
            update_schedulers(trainer, "step", batch_idx + 1, plateau=False)
        if progress.is_last_batch:
            update_schedulers(trainer, "epoch", progress.epoch + 1, plateau=False)
    progress.batch += 1
    progress.total_batches += 1
    progress.next = Next.AFTER_BATCH
    if "on_train_batch_end" in hooks.used:
        hooks.call("on_train_batch_end", outputs, batch, batch_idx)
    results.batch = None


def quiet_step(trainer: Any) -> Callable[[Any], bool] | None:
    """A function that trains on a batch and says whether that was all, where nobody is to be told
    of a batch, no scheduler steps and validation waits for the epoch's end; None elsewhere.

    Then it does what `train_batch` and `finish_batch` do, and leaves to the latter the last batch
    and one that logged something or after which somebody wishes to stop.
    """
    plain, hooks = trainer.plain_step, trainer.hooks
    listened = "on_train_batch_start" in hooks.used or "on_train_batch_end" in hooks.used
    validates = trainer.enable_validation and trainer.val_check_batch != INFINITE
    if plain is None or trainer.accumulate_grad_batches != 1:
        return None
    if listened or validates or trainer.lr_scheduler_configs:
        return None
    progress, feed, mover = trainer.state.progress, trainer.feed, trainer.mover
    results, wishes, loop = trainer.training_results, trainer.stop_wishes, trainer.fit_loop
    length, may_end = feed.length, feed.reads_ahead
    logged, leaves_tensors = results.entries, mover.leaves_tensors

    def train(batch: Any) -> bool:
        last = progress.is_last_batch = feed.taken >= length or (may_end and feed.at_end)
        if not (leaves_tensors and is_tensors(batch)):
            batch = mover(batch, 0)
        results.batch = batch
        plain(batch, progress.batch)
        results.batch = None
        progress.batch += 1
        progress.total_batches += 1
        if last or wishes or logged or -1 != loop.max_steps <= progress.optimizer_steps:
            progress.next = Next.AFTER_BATCH
            return False
        progress.logged_steps += 1
        return True

    return train


def finish_batch(trainer: Any) -> None:
    """What follows a batch: log the step, validate if due, let plateau schedulers step."""
    progress = trainer.state.progress
    if progress.next is Next.EPOCH_HOOKS:
        return
    stepped = steps_now(trainer, progress.batch)
    if progress.next is Next.AFTER_BATCH:
        logs = stepped or not trainer.lightning_module.automatic_optimization
        if logs and trainer.training_results:
            log_step(trainer)
        if trainer.enable_validation and validation_due(trainer):
            keep_step_metrics(trainer)
            validate_in_training(trainer, free_gradients=stepped)
        progress.next = Next.AFTER_VALIDATION
    if stepped:
        if trainer.lr_scheduler_configs:
            update_schedulers(trainer, "step", progress.batch, plateau=True)
        progress.logged_steps += 1
    wishes, most = trainer.stop_wishes, trainer.fit_loop.max_steps
    if wishes:
        trainer.save_loggers()
    steps_done = most != -1 and progress.optimizer_steps >= most
    if progress.is_last_batch:
        end_batches(trainer)
    elif steps_done or (wishes and may_stop_early(trainer)):
        progress.cut_short = True
        end_batches(trainer)
        # training may go on from here, as if the hooks of the epoch's end had not drawn any numbers
        trainer.boundary_random_state = random_state.snapshot()
    else:
        progress.next = Next.BATCH


def end_batches(trainer: Any) -> None:
    """No batch follows in this epoch: what the last ones logged is the latest from now on."""
    keep_step_metrics(trainer)
    trainer.state.progress.next = Next.EPOCH_HOOKS


def validation_due(trainer: Any) -> bool:
    """Whether validation, where there is one, follows the batch that was just finished."""
    progress = trainer.state.progress
    every = trainer.check_val_every_n_epoch
    if every is not None and (progress.epoch + 1) % every:
        return False
    if may_stop_early(trainer):
        return True
    interval = trainer.val_check_batch
    if interval == INFINITE:
        return progress.is_last_batch
    count = progress.total_batches if every is None else progress.batch
    return count % interval == 0


def run_epoch_hooks(trainer: Any) -> None:
    """`on_train_epoch_end`, at whose end checkpoints are written."""
    trainer.state.progress.next = Next.AFTER_EPOCH
    if trainer.world_size > 1:
        trainer.training_results.synchronize()
    trainer.hooks.call("on_train_epoch_end")


def finish_epoch(trainer: Any) -> None:
    """What follows an epoch: plateau schedulers, its metrics, the next number."""
    progress = trainer.state.progress
    keep_epoch_metrics(trainer)
    if progress.is_last_batch:
        update_schedulers(trainer, "epoch", progress.epoch + 1, plateau=True)
    log_epoch(trainer)
    trainer.training_results.reset()
    progress.epoch += 1
    progress.next = Next.EPOCH
    if not progress.cut_short:
        trainer.feed.close()
