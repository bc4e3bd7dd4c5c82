"""LearningRateMonitor: logs the learning rates that the schedulers set."""

from __future__ import annotations

from collections import Counter
from typing import Any

import rushlight as rl
from lightning_lite.callbacks.callback import Callback
from lightning_lite.errors import MisconfigurationException
from lightning_lite.messages import warn

INTERVALS = ("step", "epoch", None)


class LearningRateMonitor(Callback):
    """Logs each optimizer's learning rate as `lr-Adam`, with `/pg1`, `/pg2` for parameter groups.

    `logging_interval` is "step", "epoch", or None for whatever each scheduler's interval is.
    Momentum (`lr-Adam-momentum`) and weight decay (`lr-Adam-weight_decay`) go with it if asked
    for. A scheduler's own `name` replaces `lr-Adam`.

    Args:
        log_momentum: whether momenta are logged too.
        log_weight_decay: whether weight decays are logged too.

    >>> monitor = LearningRateMonitor(logging_interval="step", log_momentum=True)
    >>> monitor.logging_interval
    'step'
    """

    def __init__(
        self,
        logging_interval: str | None = None,
        log_momentum: bool = False,
        log_weight_decay: bool = False,
    ) -> None:
        super().__init__()
        if logging_interval not in INTERVALS:
            raise MisconfigurationException(
                f"LearningRateMonitor: logging_interval {logging_interval!r}; expected 'step', "
                "'epoch' or None"
            )
        self.logging_interval = logging_interval
        self.log_momentum = log_momentum
        self.log_weight_decay = log_weight_decay
        self.lrs: dict[str, list[float]] = {}

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        """Complain if there is nowhere to log to."""
        if not trainer.loggers:
            raise MisconfigurationException(
                "LearningRateMonitor: the Trainer has no logger to log to"
            )
        if not trainer.optimizers:
            warn("LearningRateMonitor: there are no optimizers to watch", RuntimeWarning)
        self.lrs = {}

    def on_train_batch_start(
        self, trainer: Any, pl_module: Any, batch: Any, batch_idx: int
    ) -> None:
        """Log what changes per step."""
        if (trainer.state.progress.logged_steps + 1) % max(trainer.log_every_n_steps, 1):
            return
        if self.logging_interval != "epoch":
            self._log(trainer, "step" if self.logging_interval is None else None)

    def on_train_epoch_start(self, trainer: Any, pl_module: Any) -> None:
        """Log what changes per epoch."""
        if self.logging_interval != "step":
            self._log(trainer, "epoch" if self.logging_interval is None else None)

    def _log(self, trainer: Any, interval: str | None) -> None:
        """Log the rates of the optimizers whose schedulers have this interval; of all for None."""
        values: dict[str, float] = {}
        for optimizer, name, own_interval in self._named(trainer):
            if interval is None or own_interval == interval:
                values.update(self._rates(optimizer, name))
        if not values:
            return
        for name, value in values.items():
            self.lrs.setdefault(name, []).append(value)
        tensors = {name: rl.tensor(value) for name, value in values.items()}
        trainer.kept_metrics.callback.update(tensors)
        for logger in trainer.loggers:
            logger.log_metrics(values, step=trainer.state.progress.logged_steps)

    def _named(self, trainer: Any) -> list[tuple[Any, str, str]]:
        """Each optimizer, its name and its scheduler's interval ("epoch" without a scheduler)."""
        configs = {
            id(getattr(config.scheduler, "optimizer", None)): config
            for config in trainer.lr_scheduler_configs
        }
        kinds = Counter(type(optimizer).__name__ for optimizer in trainer.optimizers)
        seen: Counter[str] = Counter()
        found = []
        for optimizer in trainer.optimizers:
            kind = type(optimizer).__name__
            seen[kind] += 1
            number = f"-{seen[kind]}" if kinds[kind] > 1 and seen[kind] > 1 else ""
            config = configs.get(id(optimizer))
            name = config.name if config is not None and config.name else f"lr-{kind}{number}"
            found.append((optimizer, name, config.interval if config is not None else "epoch"))
        return found

    def _rates(self, optimizer: Any, name: str) -> dict[str, float]:
        """Learning rate, momentum and weight decay of each parameter group."""
        values: dict[str, float] = {}
        groups = optimizer.param_groups
        for number, group in enumerate(groups, start=1):
            suffix = group.get("name") or f"pg{number}"
            full = name if len(groups) == 1 else f"{name}/{suffix}"
            values[full] = float(group["lr"])
            if self.log_momentum:
                momentum = group["betas"][0] if "betas" in group else group.get("momentum", 0.0)
                values[f"{full}-momentum"] = float(momentum)
            if self.log_weight_decay:
                values[f"{full}-weight_decay"] = float(group.get("weight_decay", 0.0))
        return values
