"""Callbacks that follow one number from epoch to epoch: stop, keep weights, lower the rate."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from lightning_lite.callbacks.callback import Callback
from lightning_lite.easy.schedules import values_of
from lightning_lite.easy.weights_file import path_of, read_weights, write_weights
from lightning_lite.errors import MisconfigurationException
from lightning_lite.messages import info

_KNOWN = {"less": operator.lt, "greater": operator.gt}


class TrackerCallback(Callback):
    """Follows `monitor`, a loss or metric that a Learner shows, from epoch to epoch.

    Args:
        monitor: its name, such as "valid_loss" or "accuracy".
        comp: which is better: "less", "greater", or a function of two numbers such as NumPy's
            `less`. By default less for names with "loss" or "error", else greater.
        min_delta: by how much a number has to be better than the best.
        reset_on_fit: forget the best number where a training begins.

    `best` is the best number so far (infinite before there is one), `new_best` whether the last
    epoch gave it. MisconfigurationException where nothing of that name was logged.

    >>> TrackerCallback("accuracy").best
    -inf
    """

    def __init__(
        self,
        monitor: str = "valid_loss",
        comp: str | Callable[[float, float], Any] | None = None,
        min_delta: float = 0.0,
        reset_on_fit: bool = True,
    ) -> None:
        super().__init__()
        self.monitor, self.reset_on_fit = monitor, reset_on_fit
        self.comp = _comparison(type(self).__name__, monitor, comp)
        self.less = bool(self.comp(0.0, 1.0))
        self.min_delta = -abs(min_delta) if self.less else abs(min_delta)
        self._forget()

    def _forget(self) -> None:
        self.best = float("inf") if self.less else -float("inf")
        self.best_epoch: int | None = None
        self.new_best = False

    def on_fit_start(self, trainer: Any, pl_module: Any) -> None:
        """Begin anew where `reset_on_fit`."""
        if self.reset_on_fit:
            self._forget()

    def on_train_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        """Compare the number of this epoch with the best."""
        value = trainer.callback_metrics.get(self.monitor)
        if value is None:
            raise MisconfigurationException(
                f"{type(self).__name__}: monitor={self.monitor!r} was not logged; there are "
                f"{sorted(trainer.callback_metrics)}"
            )
        self.new_best = bool(self.comp(float(value) - self.min_delta, self.best))
        if self.new_best:
            self.best, self.best_epoch = float(value), trainer.current_epoch


class _Patient(TrackerCallback):
    """Acts when `patience` epochs in a row were not better than the best."""

    def __init__(
        self,
        monitor: str,
        comp: str | Callable[[float, float], Any] | None,
        min_delta: float,
        patience: int,
        reset_on_fit: bool,
    ) -> None:
        super().__init__(monitor, comp, min_delta, reset_on_fit)
        if not isinstance(patience, int) or patience < 1:
            name = type(self).__name__
            raise ValueError(f"{name}: patience={patience!r}; expected an int from 1 on")
        self.patience = patience
        self.wait = 0

    def on_fit_start(self, trainer: Any, pl_module: Any) -> None:
        """Begin anew."""
        super().on_fit_start(trainer, pl_module)
        self.wait = 0

    def on_train_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        """Count epochs without gain."""
        super().on_train_epoch_end(trainer, pl_module)
        self.wait = 0 if self.new_best else self.wait + 1
        if self.wait >= self.patience:
            self._act(trainer)

    def _act(self, trainer: Any) -> None:
        raise NotImplementedError(f"{type(self).__name__} does not say what it does")


class EarlyStoppingCallback(_Patient):
    """Ends the training after `patience` epochs in a row without gain. Other arguments: see
    `TrackerCallback`. ValueError for a patience below 1.

    >>> EarlyStoppingCallback("accuracy", patience=3).patience
    3
    """

    def __init__(
        self,
        monitor: str = "valid_loss",
        comp: str | Callable[[float, float], Any] | None = None,
        min_delta: float = 0.0,
        patience: int = 1,
        reset_on_fit: bool = True,
    ) -> None:
        super().__init__(monitor, comp, min_delta, patience, reset_on_fit)

    def _act(self, trainer: Any) -> None:
        epoch = trainer.current_epoch - self.wait
        info(f"no improvement of {self.monitor} since epoch {epoch}: the training ends")
        trainer.should_stop = True


class ReduceLROnPlateau(_Patient):
    """Divides the rates by `factor`, down to `min_lr`, after `patience` epochs in a row without
    gain. Other arguments: see `TrackerCallback`. For `fit`: other ways to train set rates by their
    schedules. ValueError for a factor that is not above 1.

    >>> ReduceLROnPlateau(factor=2.0).factor
    2.0
    """

    def __init__(
        self,
        monitor: str = "valid_loss",
        comp: str | Callable[[float, float], Any] | None = None,
        min_delta: float = 0.0,
        patience: int = 1,
        factor: float = 10.0,
        min_lr: float = 0.0,
        reset_on_fit: bool = True,
    ) -> None:
        super().__init__(monitor, comp, min_delta, patience, reset_on_fit)
        if not factor > 1:
            raise ValueError(f"ReduceLROnPlateau: factor={factor!r}; expected a number above 1")
        self.factor, self.min_lr = factor, min_lr

    def _act(self, trainer: Any) -> None:
        self.wait = 0
        (optimizer,) = trainer.optimizers
        before = values_of(optimizer, "lr")[-1]
        for group in optimizer.param_groups:
            group["lr"] = max(group["lr"] / self.factor, self.min_lr)
        after = values_of(optimizer, "lr")[-1]
        if after < before:
            info(f"epoch {trainer.current_epoch}: the rate is {after:g} from now on")


class SaveModelCallback(TrackerCallback):
    """Writes the weights of the best epoch to `path/models/fname.pt`, where `Learner.load(fname)`
    finds them, and gives them back at the end of the training.

    Args:
        monitor, comp, min_delta, reset_on_fit: see `TrackerCallback`.
        fname: the file's name without its ending.
        every_epoch: write every epoch to `fname_0.pt`, `fname_1.pt`, ..., a number: every so many.
        at_end: write the last weights instead, and keep them.
        with_opt: write and give back the optimizer's state, too.

    `last_saved_path` is the file that was written last. ValueError for both `every_epoch` and
    `at_end`.

    >>> SaveModelCallback("accuracy", fname="best").fname
    'best'
    """

    def __init__(
        self,
        monitor: str = "valid_loss",
        comp: str | Callable[[float, float], Any] | None = None,
        min_delta: float = 0.0,
        fname: str = "model",
        every_epoch: bool | int = False,
        at_end: bool = False,
        with_opt: bool = False,
        reset_on_fit: bool = True,
    ) -> None:
        super().__init__(monitor, comp, min_delta, reset_on_fit)
        if every_epoch and at_end:
            raise ValueError("SaveModelCallback: every_epoch and at_end exclude each other")
        self.fname, self.every_epoch = fname, int(every_epoch)
        self.at_end, self.with_opt = at_end, with_opt
        self.last_saved_path: Any = None

    def _write(self, trainer: Any, pl_module: Any, name: str) -> None:
        optimizer = pl_module.optimizer if self.with_opt else None
        self.last_saved_path = path_of(trainer.default_root_dir, name)
        if trainer.is_global_zero:
            write_weights(self.last_saved_path, pl_module.model, optimizer)

    def on_train_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        """Write the weights if they are the best, or if it is their turn."""
        epoch = trainer.current_epoch
        if self.every_epoch:
            if epoch % self.every_epoch == 0:
                self._write(trainer, pl_module, f"{self.fname}_{epoch}")
            return
        super().on_train_epoch_end(trainer, pl_module)
        if self.new_best:
            self._write(trainer, pl_module, self.fname)

    def on_train_end(self, trainer: Any, pl_module: Any) -> None:
        """Give the best weights back, or write the last."""
        if self.at_end:
            self._write(trainer, pl_module, self.fname)
        elif not self.every_epoch and self.best_epoch is not None:
            optimizer = pl_module.optimizer if self.with_opt else None
            path = path_of(trainer.default_root_dir, self.fname)
            read_weights(path, pl_module.model, optimizer)


class TerminateOnNaNCallback(Callback):
    """Ends the training after a batch whose loss is not finite.

    >>> TerminateOnNaNCallback().state_dict()
    {}
    """

    def on_train_batch_end(
        self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """Look at the loss."""
        if not outputs["loss"].isfinite().all():
            info(f"the loss of batch {batch_idx} is {float(outputs['loss'])}: the training ends")
            trainer.should_stop = True


def _comparison(name: str, monitor: str, comp: Any) -> Callable[[float, float], Any]:
    """The function that says whether a number is better than another."""
    if comp is None:
        return operator.lt if "loss" in monitor or "error" in monitor else operator.gt
    if callable(comp):
        return comp
    if comp not in _KNOWN:
        raise ValueError(f"{name}: comp={comp!r}; expected 'less', 'greater' or a function")
    return _KNOWN[comp]
