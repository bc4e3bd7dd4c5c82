"""Recorder: what a Learner's trainings gave: losses, rates, and a row of numbers for each epoch."""

from __future__ import annotations

from typing import Any

from lightning_lite.callbacks.callback import Callback
from lightning_lite.easy.data.showing import pyplot
from lightning_lite.easy.schedules import values_of


class Recorder(Callback):
    """`losses` (smoothed) and `lrs` of every batch, `values` of every epoch in the order of
    `names`: training loss, validation loss, metrics."""

    def __init__(self, metrics: list[str], smoothing: float = 0.98) -> None:
        self.names = ["train_loss", "valid_loss", *metrics]
        self.smoothing = smoothing
        self.reset()

    def reset(self) -> None:
        """Forget what earlier trainings gave."""
        self.losses: list[float] = []
        self.lrs: list[float] = []
        self.values: list[list[float | None]] = []
        self._average = 0.0

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        """Begin anew."""
        self.reset()

    def on_train_batch_end(
        self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """Note loss and rate of a batch."""
        loss = float(outputs["loss"]) * trainer.accumulate_grad_batches
        self._average = self.smoothing * self._average + (1 - self.smoothing) * loss
        self.losses.append(self._average / (1 - self.smoothing ** (len(self.losses) + 1)))
        self.lrs.append(values_of(trainer.optimizers[0], "lr")[-1])

    def on_train_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        """Note the numbers of an epoch."""
        found = trainer.callback_metrics
        row = [None if found.get(name) is None else float(found[name]) for name in self.names]
        self.values.append(row)

    def plot_sched(self, ax: Any = None) -> Any:
        """Draw the rate of the last group by batches; matplotlib's axes. Needs the extra `plot`."""
        plt = pyplot("plot_sched")
        ax = plt.subplots(layout="constrained")[1] if ax is None else ax
        ax.plot(range(len(self.lrs)), self.lrs)
        ax.set_xlabel("batch")
        ax.set_ylabel("rate")
        return ax

    def plot_loss(self, skip_start: int = 5, ax: Any = None) -> Any:
        """Draw the smoothed training loss; matplotlib's axes. Needs the extra `plot`."""
        plt = pyplot("plot_loss")
        ax = plt.subplots(layout="constrained")[1] if ax is None else ax
        steps = range(skip_start, len(self.losses))
        ax.plot(steps, self.losses[skip_start:], label="train")
        validated = [row[1] for row in self.values]
        if self.values and None not in validated:
            each = len(self.losses) // len(self.values)
            ends = [each * (number + 1) for number in range(len(self.values))]
            ax.plot(ends, validated, label="valid")
        ax.set_xlabel("batch")
        ax.set_ylabel("loss")
        ax.legend()
        return ax
