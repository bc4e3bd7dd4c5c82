"""Can this model learn these data? One batch is learnt by heart, and a rate is looked for."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from itertools import repeat
from typing import Any

from lightning_lite import running
from lightning_lite.callbacks.callback import Callback
from lightning_lite.combined_loader import batches_of
from lightning_lite.data_sources import DataSources, check_module
from lightning_lite.errors import MisconfigurationException
from lightning_lite.tuner.lr_finder import lr_find
from lightning_lite.tuner.snapshot import quieten, untouched


class OneBatch:
    """A loader that gives the first batch of another again and again."""

    def __init__(self, batch: Any, count: int) -> None:
        self.batch, self.count = batch, count

    def __iter__(self) -> Any:
        return repeat(self.batch, self.count)

    def __len__(self) -> int:
        return self.count


@dataclass
class CheckReport:
    """What `Trainer.check` found; `str(report)` is the text.

    losses: the loss of every step on the one batch; learns: whether the last is less than half of
    the first; without_gradient: parameters that get none; learning_rate: what the learning rate
    test suggests, by the rule of the valley; seconds_per_step: after the first steps.
    """

    losses: list[float]
    without_gradient: list[str] = field(default_factory=list)
    learning_rate: float | None = None
    seconds_per_step: float = math.nan

    @property
    def learns(self) -> bool:
        """Whether one batch was learnt by heart, at least by half."""
        first, last = self.losses[0], self.losses[-1]
        if not math.isfinite(first) or not math.isfinite(last):
            return False
        return last < first - 0.5 * abs(first)

    def __str__(self) -> str:
        first, last = self.losses[0], self.losses[-1]
        verdict = "the model learns it" if self.learns else "the model does NOT learn it"
        lines = [f"one batch, {len(self.losses)} steps: loss {first:.4g} -> {last:.4g}; {verdict}"]
        if self.without_gradient:
            lines.append(f"no gradient reaches: {', '.join(self.without_gradient)}")
        if self.learning_rate is not None:
            lines.append(f"learning rate test suggests {self.learning_rate:.2g}")
        lines.append(f"{1e3 * self.seconds_per_step:.3g} ms a step")
        return "\n".join(lines)


class _Watch(Callback):
    """Notes losses, times, and parameters without a gradient."""

    def __init__(self) -> None:
        self.losses: list[float] = []
        self.times: list[float] = []
        self.without: set[str] | None = None

    def on_after_backward(self, trainer: Any, pl_module: Any) -> None:
        """Note who has no gradient; once is enough to have one."""
        found = {
            name
            for name, each in pl_module.named_parameters()
            if each.requires_grad and each.grad is None
        }
        self.without = found if self.without is None else self.without & found

    def on_train_batch_end(
        self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """Note loss and time."""
        self.times.append(time.perf_counter())
        if "loss" in outputs:
            self.losses.append(float(outputs["loss"]) * trainer.accumulate_grad_batches)


def check(trainer: Any, module: Any, loaders: Any, datamodule: Any, steps: int) -> CheckReport:
    """See `Trainer.check`."""
    check_module(module, "Trainer.check")
    given, datamodule = running.separate_datamodule({"train": loaders}, datamodule)
    watch = _Watch()
    with untouched(trainer, module, given["train"]):
        batch = _first_batch(module, datamodule, given)
        quieten(trainer, steps, [watch])
        trainer.accumulate_grad_batches = 1
        trainer.fit(module, OneBatch(batch, steps))
    if not watch.losses:
        raise MisconfigurationException("Trainer.check: training_step gave no loss")
    spent = watch.times[-1] - watch.times[len(watch.times) // 2]
    counted = max(1, len(watch.times) - 1 - len(watch.times) // 2)
    test = lr_find(
        trainer,
        module,
        {"train_dataloaders": given["train"], "datamodule": datamodule},
        *(1e-7, 1.0, 100, "exponential", 4.0, False, ""),
    )
    rate = None
    if test is not None and len(test.results["loss"]) > 16:
        rate = test.suggestion(10, 5, "valley")
    names = sorted(watch.without or ())
    return CheckReport(watch.losses, names, rate, spent / counted)


def _first_batch(module: Any, datamodule: Any, given: dict[str, Any]) -> Any:
    """The first batch of the training data."""
    if datamodule is not None:
        datamodule.prepare_data()
        datamodule.setup("fit")
    for batch in batches_of(DataSources(module, datamodule, given).training_loader()):
        return batch
    raise MisconfigurationException("Trainer.check: the training loader gave no batch")
