"""The module that the trainer runs: a model, its moving average, a task, the rates."""

from __future__ import annotations

import math
from typing import Any

import lightning_lite as L
import rushlight as rl
from rushlight import nn
from rushlight.optim.lr_scheduler import LambdaLR
from rushlight.optim.swa_utils import AveragedModel
from rushlight_vision.training.settings import Settings
from rushlight_vision.training.tasks import Task


def ema_model(model: nn.Module, decay: float) -> AveragedModel:
    """A moving average of a model's parameters and buffers."""

    def update(averages: Any, values: Any, count: Any) -> None:
        steps = int(count)
        weight = 1.0 - min(decay, (1.0 + steps) / (10.0 + steps))
        for average, value in zip(averages, values, strict=True):
            if average.is_floating_point():
                average.lerp_(value, weight)
            else:  # how many batches a normalisation has seen
                average.copy_(value)

    average = AveragedModel(model, multi_avg_fn=update, use_buffers=True)
    return average.requires_grad_(False)


def rate(step: int, steps: int, warmup: float) -> float:
    """The share of the highest rate at a step: it rises, then falls along half a cosine."""
    rising = max(int(steps * warmup), 1)
    if step < rising:
        return (step + 1) / rising
    done = (step - rising) / max(steps - rising, 1)
    return 0.5 * (1.0 + math.cos(math.pi * min(done, 1.0)))


def optimizer_of(model: nn.Module, settings: Settings) -> Any:
    """The optimizer of all parameters that are trained; biases and scales do not decay."""
    trained = [each for each in model.parameters() if each.requires_grad]
    groups = [
        {
            "params": [each for each in trained if each.ndim > 1],
            "weight_decay": settings.weight_decay,
        },
        {"params": [each for each in trained if each.ndim <= 1], "weight_decay": 0.0},
    ]
    groups = [group for group in groups if group["params"]]
    if settings.optimizer == "sgd":
        return rl.optim.SGD(groups, lr=settings.lr, momentum=0.9, nesterov=True)
    return rl.optim.AdamW(groups, lr=settings.lr)


class TrainingModule(L.LightningModule):
    """A model with how it is trained. `history` has a dict for every epoch."""

    def __init__(
        self, model: nn.Module, task: Task, settings: Settings, stop_after: int | None = None
    ) -> None:
        super().__init__()
        self.stop_after = stop_after
        self.model, self.task, self.settings = model, task, settings
        self.average = ema_model(model, settings.ema) if settings.ema else None
        self.history: list[dict[str, float]] = []
        self._losses: list[float] = []

    @property
    def kept(self) -> nn.Module:
        """What is measured and kept: the average, or the model."""
        return self.model if self.average is None else self.average.module

    def training_step(self, batch: Any, batch_idx: int) -> rl.Tensor:
        """The loss of a batch."""
        loss = self.task.loss(self.model, self.task.mixed(batch))
        self._losses.append(loss.item())
        self.log("train_loss", self._losses[-1])
        return loss

    def on_train_batch_end(self, outputs: Any, batch: Any, batch_idx: int) -> None:
        """Take the new weights into the average."""
        if self.average is not None:
            self.average.update_parameters(self.model)

    def on_validation_epoch_start(self) -> None:
        """Begin to measure."""
        self.task.reset()

    def validation_step(self, batch: Any, batch_idx: int) -> None:
        """Measure a batch."""
        self.kept.eval()
        self.task.measure(self.kept, batch)

    def on_validation_epoch_end(self) -> None:
        """Log the metric and keep it with the loss of the epoch."""
        score = self.task.score()
        self.log("score", score)
        if not self.trainer.sanity_checking:
            loss = sum(self._losses) / max(len(self._losses), 1)
            row = {"epoch": float(self.current_epoch), "train_loss": loss, self.task.metric: score}
            self.history.append(row)
            self._losses.clear()
            if self.stop_after is not None and self.current_epoch + 1 >= self.stop_after:
                self.trainer.should_stop = True

    def configure_optimizers(self) -> Any:
        """The optimizer and its rates, step by step."""
        optimizer = optimizer_of(self.model, self.settings)
        steps = int(self.trainer.estimated_stepping_batches)
        schedule = LambdaLR(optimizer, lambda step: rate(step, steps, self.settings.warmup))
        return {
            "optimizer": optimizer,
            "lr_scheduler": {"scheduler": schedule, "interval": "step"},
        }

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Keep the history."""
        checkpoint["history"] = [dict(row) for row in self.history]
        checkpoint["losses"] = list(self._losses)

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Go on with the history."""
        self.history = [dict(row) for row in checkpoint["history"]]
        self._losses = list(checkpoint["losses"])
