"""ThroughputMonitor: batches, samples and operations per second, logged."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from lightning_lite.callbacks.callback import Callback
from lightning_lite.state import RunningStage
from lightning_lite.utilities.throughput import Throughput


class ThroughputMonitor(Callback):
    """Logs rates every `log_every_n_steps` steps, as `train/device/samples_per_sec` and so on.

    `batch_size_fn(batch)` is the number of samples of a batch, `length_fn(batch)` its number of
    tokens; a module with the attribute `flops_per_batch` gets rates of operations. `kwargs` go to
    `Throughput`, whose window defaults to `window_size=100`.

    Args:
        batch_size_fn: a function of a batch that says how many samples it has.
        length_fn: one that says how long they are, for `length_per_sec`.

    >>> import lightning_lite as L
    >>> monitor = ThroughputMonitor(batch_size_fn=lambda batch: batch[0].size(0), window_size=50)
    """

    def __init__(
        self,
        batch_size_fn: Callable[[Any], int],
        length_fn: Callable[[Any], int] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__()
        self.batch_size_fn, self.length_fn, self.kwargs = batch_size_fn, length_fn, kwargs
        self._throughputs: dict[RunningStage, Throughput] = {}
        self._totals: dict[RunningStage, list[int]] = {}
        self._started: dict[RunningStage, float] = {}

    def _start(self, trainer: Any) -> None:
        stage = trainer.state.stage
        made = Throughput(world_size=trainer.world_size, **self.kwargs)
        self._throughputs.setdefault(stage, made).reset()
        self._totals[stage] = [0, 0, 0]
        self._started[stage] = time.perf_counter()

    def _update(self, trainer: Any, pl_module: Any, batch: Any) -> None:
        stage = trainer.state.stage
        totals = self._totals[stage]
        totals[0] += 1
        totals[1] += self.batch_size_fn(batch)
        if self.length_fn is not None:
            totals[2] += self.length_fn(batch)
        self._throughputs[stage].update(
            time=time.perf_counter() - self._started[stage],
            batches=totals[0],
            samples=totals[1],
            lengths=None if self.length_fn is None else totals[2],
            flops=getattr(pl_module, "flops_per_batch", None),
        )

    def _log(self, trainer: Any, step: int) -> None:
        stage = trainer.state.stage
        found = self._throughputs[stage].compute()
        named = {f"{stage.value}/{name}": value for name, value in found.items()}
        named["epoch"] = trainer.current_epoch
        for logger in trainer.loggers:
            logger.log_metrics(named, step=step)

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        """Start the clock of training."""
        self._start(trainer)

    def on_train_batch_end(
        self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """Count a training batch, and log if it is time."""
        self._update(trainer, pl_module, batch)
        progress, every = trainer.state.progress, trainer.log_every_n_steps
        if every and (progress.logged_steps + 1) % every == 0:
            self._log(trainer, progress.logged_steps)

    def on_validation_start(self, trainer: Any, pl_module: Any) -> None:
        """Start the clock of validation."""
        if not trainer.sanity_checking:
            self._start(trainer)

    def on_validation_batch_end(
        self,
        trainer: Any,
        pl_module: Any,
        outputs: Any,
        batch: Any,
        batch_idx: int,
        dataloader_idx: int = 0,
    ) -> None:
        """Count a validation batch."""
        if not trainer.sanity_checking:
            self._update(trainer, pl_module, batch)

    def on_validation_end(self, trainer: Any, pl_module: Any) -> None:
        """Log what validation did."""
        if not trainer.sanity_checking and trainer.loggers:
            self._log(trainer, trainer.state.progress.logged_steps)

    def on_test_start(self, trainer: Any, pl_module: Any) -> None:
        """Start the clock of the test."""
        self._start(trainer)

    def on_test_batch_end(
        self,
        trainer: Any,
        pl_module: Any,
        outputs: Any,
        batch: Any,
        batch_idx: int,
        dataloader_idx: int = 0,
    ) -> None:
        """Count a test batch."""
        self._update(trainer, pl_module, batch)

    def on_test_end(self, trainer: Any, pl_module: Any) -> None:
        """Log what the test did."""
        self._log(trainer, self._totals[trainer.state.stage][0])
