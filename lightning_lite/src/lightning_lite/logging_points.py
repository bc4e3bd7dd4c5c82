"""The moments at which logged values reach loggers, progress bars and callbacks."""

from __future__ import annotations

from typing import Any

from lightning_lite.metrics import Views, to_scalar


def keep(trainer: Any, views: Views) -> None:
    """Remember values as the latest of their names."""
    kept = trainer.kept_metrics
    kept.logger.update(views.logger)
    kept.callback.update(views.callback)
    kept.progress_bar.update(views.progress_bar)


def send(trainer: Any, values: dict[str, Any], step: int | None = None) -> None:
    """Hand values to the loggers, with the number of the step.

    A value logged under the name `step` is that number. Otherwise the epoch goes with the values.
    """
    if not trainer.loggers or not values:
        return
    trainer.kept_metrics.logger.update(values)
    numbers = {name: to_scalar(value) for name, value in values.items()}
    if step is None:
        own = numbers.pop("step", None)
        if own is not None:
            step = int(own)
        else:
            numbers.setdefault("epoch", trainer.current_epoch)
            step = trainer.state.progress.logged_steps
    for logger in trainer.loggers:
        logger.log_metrics(numbers, step=step)
        logger.save()


def keep_step_metrics(trainer: Any) -> None:
    """Before something else logs: the values of the last batch are the latest."""
    if trainer.training_results:
        keep(trainer, trainer.training_results.views(on_step=True))


def log_step(trainer: Any) -> None:
    """After a step: its values, if there are any, reach the loggers every `log_every_n_steps`
    steps."""
    every = trainer.log_every_n_steps
    due = every and (trainer.state.progress.logged_steps + 1) % every == 0
    if due or trainer.should_stop or trainer.fast_dev_run:
        send(trainer, trainer.training_results.views(on_step=True).logger)


def keep_epoch_metrics(trainer: Any) -> None:
    """After an epoch: its values are the latest."""
    keep(trainer, trainer.training_results.views(on_step=False))


def log_epoch(trainer: Any) -> None:
    """After an epoch: its values reach the loggers, at the number of its last step."""
    values = trainer.training_results.views(on_step=False).logger
    progress = trainer.state.progress
    progress.logged_steps -= 1
    send(trainer, values)
    progress.logged_steps += 1
