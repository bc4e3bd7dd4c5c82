"""A network, a loss and metrics as a LightningModule; parameters in groups by depth."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import rushlight as rl
from lightning_lite.callbacks.finetuning import BATCH_NORMS
from lightning_lite.easy.metrics.of_losses import LossMetric
from lightning_lite.metric_objects import is_metric
from lightning_lite.module import LightningModule


def one_group(model: Any) -> list[list[Any]]:
    """All parameters in one group."""
    return [list(model.parameters())]


def name_of(metric: Any) -> str:
    """The name that a metric's numbers have."""
    return getattr(metric, "__name__", type(metric).__name__.lower())


def group_rates(rate: Any, count: int) -> list[float]:
    """A rate for each of `count` groups: the same, or, for `slice(low, high)`, spread by a constant
    factor; `slice(high)` gives all but the last a tenth.

    >>> group_rates(slice(0.01, 1.0), 3)
    [0.01, 0.1, 1.0]
    >>> group_rates(slice(1.0), 3)
    [0.1, 0.1, 1.0]
    """
    if isinstance(rate, list | tuple):
        if len(rate) != count:
            raise ValueError(f"lr: {len(rate)} rates for {count} parameter groups")
        return list(rate)
    if not isinstance(rate, slice):
        return [rate] * count
    if rate.start is None:
        return [rate.stop / 10] * (count - 1) + [rate.stop]
    if count == 1:
        return [rate.stop]
    factor = (rate.stop / rate.start) ** (1 / (count - 1))
    return [rate.start * factor**number for number in range(count - 1)] + [rate.stop]


class LearnerModule(LightningModule):
    """What a Learner trains: batches are `(*inputs, target)`."""

    def __init__(
        self,
        model: Any,
        loss_func: Callable,
        opt_func: Callable[..., Any],
        splitter: Callable[[Any], list[list[Any]]],
        metrics: list[Any],
    ) -> None:
        super().__init__()
        self.model = model
        self.loss_func, self.opt_func = loss_func, opt_func
        self.splitter, self.metrics = splitter, metrics
        self.mixer: Any = None
        self.optimizer: Any = None
        self.frozen_groups = 0
        self.n_inp: int | None = None  # how many inputs, where the data says it
        self.keeps_inputs = False

    def forward(self, *inputs: Any) -> Any:
        """The model's output."""
        return self.model(*inputs)

    def groups(self) -> list[list[Any]]:
        """The parameters in groups, the first layers' first."""
        return [list(group) for group in self.splitter(self.model)]

    def training_step(self, batch: Any, batch_idx: int) -> Any:
        """The loss of a batch, mixed if somebody mixes."""
        inputs, targets = self._parts(batch)
        if self.mixer is None:
            loss = self.loss_func(self(*inputs), *targets)
        else:
            (target,) = targets
            mixed, order, share = self.mixer.mix(inputs[0])
            output = self(mixed, *inputs[1:])
            loss = self._mixed_loss(output, target, target[order], share)
        self.log("train_loss", loss, on_step=False, on_epoch=True, prog_bar=True, sync_dist=True)
        return loss

    def _mixed_loss(self, output: Any, own: Any, others: Any, share: Any) -> Any:
        """The weighted mean of the losses against both targets."""
        if isinstance(share, rl.Tensor):
            kind = getattr(self.loss_func, "reduction", "none")
            if not hasattr(self.loss_func, "reduction"):
                raise TypeError(
                    f"MixUp: {name_of(self.loss_func)} has no `reduction`; use a loss layer, "
                    "such as nn.CrossEntropyLoss()"
                )
            self.loss_func.reduction = "none"
            try:
                first, second = (self.loss_func(output, each) for each in (own, others))
            finally:
                self.loss_func.reduction = kind
            share = share.reshape(-1, *[1] * (first.ndim - 1))
            return (first * share + second * (1 - share)).mean()
        return self.loss_func(output, own) * share + self.loss_func(output, others) * (1 - share)

    def validation_step(self, batch: Any, batch_idx: int) -> None:
        """Loss and metrics of a batch."""
        inputs, targets = self._parts(batch)
        output = self(*inputs)
        self.log("valid_loss", self.loss_func(output, *targets), prog_bar=True, sync_dist=True)
        for metric in self.metrics:
            name = name_of(metric)
            if not is_metric(metric):
                self.log(name, metric(output, *targets), prog_bar=True, sync_dist=True)
                continue
            if isinstance(metric, LossMetric):
                metric.loss_func = self.loss_func
            metric.update(output, *targets)
            self.log(name, metric, on_step=False, on_epoch=True, prog_bar=True)

    def predict_step(self, batch: Any, batch_idx: int) -> Any:
        """Inputs where they are kept, output and target of a batch; None for the target where the
        batch has inputs alone."""
        inputs, targets = (batch, ()) if len(batch) == self.n_inp else self._parts(batch)
        return self._one(inputs) if self.keeps_inputs else None, self(*inputs), self._one(targets)

    def _one(self, parts: Any) -> Any:
        """The only part, None where there is none, several as a tuple."""
        return tuple(parts) if len(parts) > 1 else parts[0] if parts else None

    def _parts(self, batch: Any) -> tuple[Any, Any]:
        """Inputs and targets of a batch: all but the last, unless the data says how many."""
        count = len(batch) - 1
        if self.n_inp is not None and self.n_inp < len(batch):
            count = self.n_inp
        return batch[:count], batch[count:]

    def configure_optimizers(self) -> Any:
        """The optimizer, which lives as long as the Learner."""
        if self.optimizer is None:
            self.optimizer = self.opt_func([{"params": group} for group in self.groups()])
        return self.optimizer

    def freeze_to(self, n: int, train_bn: bool = True) -> None:
        """Let only the groups from `n` on learn (negative: counted from the end), and batch
        normalization everywhere unless `train_bn=False`."""
        groups = self.groups()
        self.frozen_groups = n if n >= 0 else len(groups) + n
        if not 0 <= self.frozen_groups <= len(groups):
            raise ValueError(f"freeze_to({n}): there are {len(groups)} parameter groups")
        for number, group in enumerate(groups):
            for parameter in group:
                parameter.requires_grad_(number >= self.frozen_groups)
        if train_bn:
            for layer in self.model.modules():
                if isinstance(layer, BATCH_NORMS):
                    for parameter in layer.parameters(recurse=False):
                        parameter.requires_grad_(True)
