"""StochasticWeightAveraging: the mean of the weights over the last epochs, at a rate of its own."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import rushlight as rl
from lightning_lite.callbacks.callback import Callback
from lightning_lite.callbacks.finetuning import BATCH_NORMS
from lightning_lite.errors import MisconfigurationException
from lightning_lite.messages import info
from lightning_lite.optimizers import LRSchedulerConfig
from rushlight.optim.swa_utils import SWALR


class StochasticWeightAveraging(Callback):
    """Averages the weights that the last epochs begin with; the model gets the mean at the end.

    `swa_lrs`: the rate of these epochs, or one for each parameter group. `swa_epoch_start`: the
    first of them, counted from 1, or a share of `max_epochs`. The rate gets to `swa_lrs` within
    `annealing_epochs` epochs along `annealing_strategy` ("cos", "linear"), instead of what the
    module's scheduler says. `avg_fn(average, weights, count)` replaces the mean; `device`: where
    it is kept (None: where the model is). Statistics of batch normalization are measured anew, in
    one pass over the training data.

    Args:
        avg_fn: what averages: a function of the mean so far, a new value and how many were
            averaged; by default their mean.

    >>> import lightning_lite as L
    >>> trainer = L.Trainer(max_epochs=10, callbacks=[StochasticWeightAveraging(swa_lrs=0.01)])
    """

    def __init__(
        self,
        swa_lrs: float | list[float],
        swa_epoch_start: int | float = 0.8,
        annealing_epochs: int = 10,
        annealing_strategy: str = "cos",
        avg_fn: Callable | None = None,
        device: Any = "cpu",
    ) -> None:
        _check(swa_lrs, swa_epoch_start, avg_fn, device)
        self._swa_epoch_start = swa_epoch_start
        self._swa_lrs = swa_lrs
        self._annealing_epochs = annealing_epochs
        self._annealing_strategy = annealing_strategy
        self._avg_fn = avg_fn or self.avg_fn
        self._device = device
        self._average_model: Any = None
        self._averages_state: Any = None
        self._scheduler: Any = None
        self._scheduler_state: dict[str, Any] | None = None
        self.n_averaged = 0
        self._latest_update_epoch = -1
        self._max_epochs = 0

    @property
    def swa_start(self) -> int:
        """The first epoch of averaging, counted from 0."""
        start = self._swa_epoch_start
        if isinstance(start, float):
            start = int(self._max_epochs * start)
        return max(start - 1, 0)

    @property
    def swa_end(self) -> int:
        """The last epoch of averaging."""
        return self._max_epochs - 1

    @staticmethod
    def avg_fn(average: Any, weights: Any, count: Any) -> Any:
        """The mean after one more set of weights."""
        return average + (weights - average) / (count + 1)

    def setup(self, trainer: Any, pl_module: Any, stage: str) -> None:
        """Keep a copy of the model for the mean."""
        if stage == "fit":
            self._average_model = deepcopy(pl_module)

    def on_fit_start(self, trainer: Any, pl_module: Any) -> None:
        """Complain of runs that cannot be averaged."""
        if len(trainer.optimizers) != 1 or len(trainer.lr_scheduler_configs) > 1:
            raise MisconfigurationException(
                "StochasticWeightAveraging: one optimizer and at most one scheduler, got "
                f"{len(trainer.optimizers)} and {len(trainer.lr_scheduler_configs)}"
            )
        if trainer.max_epochs in (None, -1):
            raise MisconfigurationException("StochasticWeightAveraging: give Trainer(max_epochs=)")
        self._max_epochs = trainer.max_epochs
        if self._averages_state is not None:
            self._average_model.load_state_dict(self._averages_state)
            self._averages_state = None
        if self._scheduler_state is not None:
            self._take_over_rates(trainer)

    def on_train_epoch_start(self, trainer: Any, pl_module: Any) -> None:
        """Take the weights in, if it is the time."""
        epoch = trainer.current_epoch
        if not self.swa_start <= epoch <= self.swa_end:
            return
        if self._scheduler is None:
            self._average_model.to(self._device or pl_module.device)
            self._take_over_rates(trainer)
        if epoch > self._latest_update_epoch:
            self._update(pl_module)
            self._latest_update_epoch = epoch

    def on_train_end(self, trainer: Any, pl_module: Any) -> None:
        """Give the model the mean."""
        if self._scheduler is None or trainer.current_epoch - 1 != self.swa_end:
            return
        with rl.no_grad():
            for average, own in self._pairs(pl_module):
                own.copy_(average)
        layers = [each for each in pl_module.modules() if isinstance(each, BATCH_NORMS)]
        if layers:
            _measure_again(trainer, pl_module, layers)

    def _take_over_rates(self, trainer: Any) -> None:
        """Let rates go to `swa_lrs`, whatever scheduler there was."""
        optimizer = trainer.optimizers[0]
        rates = self._swa_lrs
        rates = [rates] * len(optimizer.param_groups) if isinstance(rates, float) else rates
        for rate, group in zip(rates, optimizer.param_groups, strict=True):
            group["initial_lr"] = rate
        cosine = self._annealing_strategy == "cos"
        self._scheduler = SWALR(
            optimizer,
            swa_lr=list(rates),
            anneal_epochs=self._annealing_epochs,
            anneal_strategy=self._annealing_strategy,
            last_epoch=self._max_epochs if cosine else -1,
        )
        if self._scheduler_state is not None:
            self._scheduler.load_state_dict(self._scheduler_state)
            self._scheduler_state = None
        if trainer.lr_scheduler_configs:
            name = type(trainer.lr_scheduler_configs[0].scheduler).__name__
            info(f"StochasticWeightAveraging: its rates replace those of {name}")
        trainer.lr_scheduler_configs = [LRSchedulerConfig(self._scheduler)]

    def _pairs(self, pl_module: Any) -> Any:
        return zip(self._average_model.parameters(), pl_module.parameters(), strict=True)

    def _update(self, pl_module: Any) -> None:
        with rl.no_grad():
            for average, own in self._pairs(pl_module):
                weights = own.detach().to(average.device)
                first = self.n_averaged == 0
                average.copy_(weights if first else self._avg_fn(average, weights, self.n_averaged))
        self.n_averaged += 1

    def state_dict(self) -> dict[str, Any]:
        """The mean, and how many sets of weights it is of."""
        average = self._average_model
        return {
            "n_averaged": self.n_averaged,
            "latest_update_epoch": self._latest_update_epoch,
            "scheduler_state": None if self._scheduler is None else self._scheduler.state_dict(),
            "average_model_state": None if average is None else average.state_dict(),
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on with the mean."""
        self.n_averaged = int(state_dict["n_averaged"])
        self._latest_update_epoch = state_dict["latest_update_epoch"]
        self._scheduler_state = state_dict["scheduler_state"]
        self._averages_state = state_dict["average_model_state"]


def _check(rates: Any, start: Any, avg_fn: Any, device: Any) -> None:
    """Complain of arguments that mean nothing."""
    name = "StochasticWeightAveraging"
    several = rates if isinstance(rates, list) else [rates]
    if not all(isinstance(each, float) and each > 0 for each in several):
        raise MisconfigurationException(f"{name}: swa_lrs={rates!r}; expected floats above 0")
    share = isinstance(start, float) and 0 <= start <= 1
    if not share and not (isinstance(start, int) and start >= 1):
        raise MisconfigurationException(
            f"{name}: swa_epoch_start={start!r}; expected an int from 1 on or a float in [0, 1]"
        )
    if avg_fn is not None and not callable(avg_fn):
        raise MisconfigurationException(f"{name}: avg_fn={avg_fn!r} is not callable")
    if device is not None and not isinstance(device, str | rl.device):
        raise MisconfigurationException(f"{name}: device={device!r}; expected a device or a string")


def _measure_again(trainer: Any, pl_module: Any, layers: list[Any]) -> None:
    """Statistics of batch normalization under these weights: their mean over the training data."""
    momenta = [each.momentum for each in layers]
    for each in layers:
        each.reset_running_stats()
        each.momentum = None
    pl_module.train()
    with rl.no_grad():
        for batch_idx, batch in enumerate(trainer.feed.loader):
            if batch_idx >= trainer.feed.length:
                break
            arguments = trainer.step_arguments(trainer.on_device(batch, 0), batch_idx)
            trainer.hooks.step("training_step", pl_module.training_step, *arguments)
    trainer.training_results.reset()
    for each, momentum in zip(layers, momenta, strict=True):
        each.momentum = momentum
