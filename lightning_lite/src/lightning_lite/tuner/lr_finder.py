"""The learning rate test: a short training whose rate grows, and what its losses suggest."""

from __future__ import annotations

import math
from typing import Any

from lightning_lite.callbacks.callback import Callback
from lightning_lite.errors import MisconfigurationException
from lightning_lite.messages import info, warn
from lightning_lite.optimizers import LRSchedulerConfig
from lightning_lite.tuner.snapshot import quieten, untouched
from lightning_lite.tuner.suggestions import RULES, suggest
from lightning_lite.utilities.parsing import lightning_hasattr, lightning_setattr

SMOOTHING = 0.98


class _LRFinder:
    """What a test found: `results["lr"]`, the smoothed `results["loss"]`, and what they suggest."""

    def __init__(self, mode: str, lr_min: float, lr_max: float, num_training: int) -> None:
        self.mode, self.lr_min, self.lr_max = mode, lr_min, lr_max
        self.num_training = num_training
        self.results: dict[str, list[float]] = {"lr": [], "loss": []}
        self._total_batch_idx = 0
        self._optimal_idx: int | None = None

    def rate(self, step: int) -> float:
        """The rate of a step, from 0."""
        share = (step + 1) / self.num_training if step else 0.0
        if self.mode == "linear":
            return self.lr_min + share * (self.lr_max - self.lr_min)
        return self.lr_min * (self.lr_max / self.lr_min) ** share

    def suggestion(
        self, skip_begin: int = 10, skip_end: int = 1, method: str = "gradient"
    ) -> float | None:
        """A good rate; None where there are too few finite losses.

        `method`: "gradient" (where the loss falls most in a step), or fastai's "valley", "slide",
        "steep" and "minimum" (a tenth of the rate of the least loss). `skip_begin` and `skip_end`
        losses are not looked at.
        """
        end = len(self.results["loss"]) - skip_end
        pairs = [
            (number, self.results["lr"][number], self.results["loss"][number])
            for number in range(skip_begin, max(end, skip_begin))
        ]
        pairs = [each for each in pairs if math.isfinite(each[2])]
        if len(pairs) < 2:
            warn(f"lr_find: {len(pairs)} finite losses to choose a rate by; none is suggested")
            self._optimal_idx = None
            return None
        _, rates, losses = map(list, zip(*pairs, strict=True))
        found = suggest(rates, losses, method)
        position = RULES[method](rates, losses)
        self._optimal_idx = pairs[position][0]
        return found

    def suggestions(self, skip_begin: int = 10, skip_end: int = 5) -> dict[str, float | None]:
        """The rates of all methods, by their names."""
        return {name: self.suggestion(skip_begin, skip_end, name) for name in RULES}

    def plot(self, suggest: bool | str = False, show: bool = False, ax: Any = None) -> Any:
        """Draw loss over rate, with the suggested rate (True, or a method's name) as a point.

        Returns matplotlib's figure; needs matplotlib (the extra `plot`).
        """
        try:
            import matplotlib.pyplot as plt
        except ModuleNotFoundError as error:
            raise ModuleNotFoundError(
                "lr_find.plot needs matplotlib: pip install rushlight-lightning-lite[plot]"
            ) from error
        figure, ax = plt.subplots(layout="constrained") if ax is None else (ax.figure, ax)
        ax.plot(self.results["lr"], self.results["loss"])
        if self.mode == "exponential":
            ax.set_xscale("log")
        ax.set_xlabel("learning rate")
        ax.set_ylabel("loss")
        if suggest:
            method = suggest if isinstance(suggest, str) else "gradient"
            found = self.suggestion(method=method)
            if found is not None:
                position = self._optimal_idx or 0
                point = (self.results["lr"][position], self.results["loss"][position])
                ax.plot(*point, marker="o", markersize=9, color="tab:red")
                ax.set_title(f"{method}: {found:.2g}")
        if show:
            plt.show()
        return figure


class _Growth:
    """The scheduler of the test: sets all groups to the rate of the step."""

    def __init__(self, optimizer: Any, finder: _LRFinder) -> None:
        self.optimizer, self.finder = optimizer, finder
        self.step_number = -1
        self.step()

    def step(self) -> None:
        """Go to the next step's rate."""
        self.step_number += 1
        for group in self.optimizer.param_groups:
            group["lr"] = self.lr

    @property
    def lr(self) -> float:
        """The rate of this step."""
        return self.finder.rate(self.step_number)

    def state_dict(self) -> dict[str, Any]:
        """The number of the step."""
        return {"step_number": self.step_number}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go to a step."""
        self.step_number = state["step_number"]


class _Recorder(Callback):
    """Notes rate and smoothed loss of every step, and ends the test where losses explode."""

    def __init__(self, finder: _LRFinder, threshold: float | None) -> None:
        self.finder, self.threshold = finder, threshold
        self.average = self.best = 0.0

    def on_fit_start(self, trainer: Any, pl_module: Any) -> None:
        """Take the optimizer's rates over."""
        if len(trainer.optimizers) != 1:
            raise MisconfigurationException(
                f"lr_find: {len(trainer.optimizers)} optimizers; the test is for one"
            )
        growth = _Growth(trainer.optimizers[0], self.finder)
        trainer.lr_scheduler_configs = [LRSchedulerConfig(growth, interval="step")]

    def on_train_batch_start(
        self, trainer: Any, pl_module: Any, batch: Any, batch_idx: int
    ) -> None:
        """Note the rate of a batch after which the optimizer steps."""
        if (batch_idx + 1) % trainer.accumulate_grad_batches == 0:
            growth = trainer.lr_scheduler_configs[0].scheduler
            self.finder.results["lr"].append(growth.lr)

    def on_train_batch_end(
        self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """Note the smoothed loss."""
        if (batch_idx + 1) % trainer.accumulate_grad_batches or "loss" not in outputs:
            return
        step = trainer.global_step
        value = float(outputs["loss"].item()) * trainer.accumulate_grad_batches
        self.average = SMOOTHING * self.average + (1 - SMOOTHING) * value
        smooth = self.average / (1 - SMOOTHING ** (step + 1))
        if self.threshold is not None and step > 1 and smooth > self.threshold * self.best:
            trainer.fit_loop.max_steps = step
        if smooth < self.best or step == 1:
            self.best = smooth
        self.finder.results["loss"].append(smooth)
        self.finder._total_batch_idx = trainer.state.progress.total_batches


def lr_find(
    trainer: Any,
    model: Any,
    loaders: dict[str, Any],
    min_lr: float,
    max_lr: float,
    num_training: int,
    mode: str,
    early_stop_threshold: float | None,
    update_attr: bool,
    attr_name: str,
) -> _LRFinder | None:
    """Run the test; see `Tuner.lr_find`."""
    if mode not in ("exponential", "linear"):
        raise MisconfigurationException(f"lr_find: mode {mode!r}; expected exponential or linear")
    if trainer.fast_dev_run:
        info("lr_find: skipped in fast_dev_run")
        return None
    name = _attribute(model, attr_name) if update_attr else ""
    finder = _LRFinder(mode, min_lr, max_lr, num_training)
    with untouched(trainer, model, loaders.get("train_dataloaders")):
        quieten(trainer, num_training, [_Recorder(finder, early_stop_threshold)])
        trainer.fit(model, **loaders)
    if update_attr:
        rate = finder.suggestion()
        if rate is not None:
            lightning_setattr(model, name, rate)
            info(f"lr_find: {name} is {rate:.3g} now")
    return finder


def _attribute(model: Any, given: str) -> str:
    """The attribute that holds the rate."""
    for name in (given,) if given else ("lr", "learning_rate"):
        if lightning_hasattr(model, name):
            return name
    raise AttributeError(
        f"lr_find: {type(model).__name__} has no {given or 'lr or learning_rate'}, in itself or in "
        "its hparams, to be set; give attr_name=, or update_attr=False"
    )
