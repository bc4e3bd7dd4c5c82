"""What can be asked of a Trainer: limits, progress, stages, parts."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from lightning_lite import running
from lightning_lite.callbacks.checkpoint import Checkpoint
from lightning_lite.callbacks.early_stopping import EarlyStopping
from lightning_lite.callbacks.progress.progress_bar import ProgressBar
from lightning_lite.feeding import INFINITE
from lightning_lite.metrics import Views
from lightning_lite.state import Next, RunningStage

if TYPE_CHECKING:
    import rushlight as rl
    from lightning_lite.feeding import Feed
    from lightning_lite.interrupt import InterruptGuard
    from lightning_lite.metrics import Results
    from lightning_lite.options import Limits, StoppingRule
    from lightning_lite.state import TrainerState


class TrainerProperties:
    """The questions that callbacks, modules and users ask a Trainer."""

    # What the Trainer's constructor sets.
    accumulate_grad_batches: int
    callbacks: list[Any]
    default_root_dir: str
    feed: Feed | None
    fit_loop: StoppingRule
    in_evaluation_batch: bool
    evaluation_results: Results
    interrupt: InterruptGuard
    kept_metrics: Views
    lightning_module: Any
    limits: Limits
    loggers: list[Any]
    precision_settings: Any
    predict_loaders: list[Any]
    root_device: rl.device
    state: TrainerState
    stop_wishes: set[str]
    strategy: Any
    test_loaders: list[Any]
    training_results: Results
    val_loaders: list[Any]

    # -- limits ---------------------------------------------------------------------------------

    @property
    def max_epochs(self) -> int | None:
        """How many epochs training has; -1 for no end."""
        return self.fit_loop.max_epochs

    @property
    def min_epochs(self) -> int | None:
        """How many epochs training has at least."""
        return self.fit_loop.min_epochs

    @property
    def max_steps(self) -> int:
        """How many optimizer steps training has; -1 for no end."""
        return self.fit_loop.max_steps

    @property
    def min_steps(self) -> int | None:
        """How many optimizer steps training has at least."""
        return self.fit_loop.min_steps

    @property
    def num_training_batches(self) -> float:
        """Number of training batches per epoch."""
        return INFINITE if self.feed is None else self.feed.length

    @property
    def estimated_stepping_batches(self) -> float:
        """How many optimizer steps the whole training has, as far as can be told."""
        if self.max_epochs == -1:
            return INFINITE if self.max_steps == -1 else self.max_steps
        if self.feed is None:
            running.set_up_training_data(self)
        per_epoch = math.ceil(self.num_training_batches / self.accumulate_grad_batches)
        if self.num_training_batches == INFINITE:
            return self.max_steps if self.max_steps != -1 else INFINITE
        total = per_epoch * max(self.max_epochs or 1, 1)
        return total if self.max_steps == -1 else min(self.max_steps, total)

    @property
    def received_sigterm(self) -> bool:
        """Whether SIGTERM was seen; the run ends after this batch."""
        return self.interrupt.terminated

    @property
    def should_stop(self) -> bool:
        """Whether somebody wishes to stop; may be set. `min_epochs` and `min_steps` come first."""
        return bool(self.stop_wishes)

    @should_stop.setter
    def should_stop(self, wish: bool) -> None:
        if wish:
            self.stop_wishes.add("user")
        else:
            self.stop_wishes.clear()

    # -- progress -------------------------------------------------------------------------------

    @property
    def current_epoch(self) -> int:
        """The number of the epoch, from 0."""
        return self.state.progress.epoch

    @property
    def global_step(self) -> int:
        """How many optimizer steps were taken."""
        return self.state.progress.optimizer_steps

    @property
    def is_last_batch(self) -> bool:
        """Whether the training batch is the epoch's last."""
        return self.state.progress.is_last_batch

    @property
    def results(self) -> Results:
        """Where `log` puts values now."""
        if self.state.stage in (None, RunningStage.TRAINING):
            return self.training_results
        return self.evaluation_results

    def _live(self) -> Views:
        """The latest values, with those of the batch or epoch that is under way."""
        if self.state.stage not in (None, RunningStage.SANITY_CHECKING):
            if self.state.stage is RunningStage.TRAINING:
                next_ = self.state.progress.next
                on_step = next_ in (Next.BATCH, Next.AFTER_BATCH, Next.AFTER_VALIDATION)
            else:
                on_step = self.in_evaluation_batch
            views = self.results.views(on_step)
            self.kept_metrics.logger.update(views.logger)
            self.kept_metrics.callback.update(views.callback)
            self.kept_metrics.progress_bar.update(views.progress_bar)
        return self.kept_metrics

    @property
    def callback_metrics(self) -> dict[str, Any]:
        """The latest value of every logged name."""
        return self._live().callback

    @property
    def logged_metrics(self) -> dict[str, Any]:
        """The latest value of every name that goes to loggers."""
        return self._live().logger

    @property
    def progress_bar_metrics(self) -> dict[str, Any]:
        """The latest value of every name that goes to the progress bar."""
        return self._live().progress_bar

    # -- stages ---------------------------------------------------------------------------------

    @property
    def training(self) -> bool:
        """Whether training batches are processed now."""
        return self.state.stage is RunningStage.TRAINING

    @property
    def validating(self) -> bool:
        """Whether a validation runs now."""
        return self.state.stage is RunningStage.VALIDATING

    @property
    def sanity_checking(self) -> bool:
        """Whether the short validation before training runs now."""
        return self.state.stage is RunningStage.SANITY_CHECKING

    @property
    def testing(self) -> bool:
        """Whether a test runs now."""
        return self.state.stage is RunningStage.TESTING

    @property
    def predicting(self) -> bool:
        """Whether a prediction runs now."""
        return self.state.stage is RunningStage.PREDICTING

    @property
    def evaluating(self) -> bool:
        """Whether the module is being measured now."""
        return self.state.stage is not None and self.state.stage.evaluating

    # -- parts ----------------------------------------------------------------------------------

    @property
    def accelerator(self) -> Any:
        """What is known of the device."""
        return self.strategy.accelerator

    @property
    def precision_plugin(self) -> Any:
        """The precision of the run."""
        return self.precision_settings

    @property
    def scaler(self) -> Any:
        """The scaler of losses in float16; None without one."""
        return self.precision_settings.scaler

    @property
    def device_ids(self) -> list[int]:
        """The numbers of this machine's devices."""
        if self.num_devices > 1:
            return list(range(self.num_devices))
        return [self.root_device.index or 0]

    @property
    def distributed_sampler_kwargs(self) -> dict[str, Any] | None:
        """How a loader's data are divided; None for one process."""
        return self.strategy.distributed_sampler_kwargs

    @property
    def model(self) -> Any:
        """The module."""
        return self.lightning_module

    @property
    def logger(self) -> Any:
        """The first logger, or None."""
        return self.loggers[0] if self.loggers else None

    @property
    def log_dir(self) -> str | None:
        """The folder of the first logger; the root folder without one."""
        found = self.logger.log_dir if self.loggers else self.default_root_dir
        return self.strategy.broadcast(found)

    def _first(self, kind: type) -> Any:
        found = self._all(kind)
        return found[0] if found else None

    def _all(self, kind: type) -> list[Any]:
        return [callback for callback in self.callbacks if isinstance(callback, kind)]

    @property
    def checkpoint_callback(self) -> Any:
        """The first callback that writes checkpoints, or None."""
        return self._first(Checkpoint)

    @property
    def checkpoint_callbacks(self) -> list[Any]:
        """The callbacks that write checkpoints."""
        return self._all(Checkpoint)

    @property
    def early_stopping_callback(self) -> Any:
        """The first EarlyStopping, or None."""
        return self._first(EarlyStopping)

    @property
    def early_stopping_callbacks(self) -> list[Any]:
        """The EarlyStopping callbacks."""
        return self._all(EarlyStopping)

    @property
    def progress_bar_callback(self) -> Any:
        """The progress bar, or None."""
        return self._first(ProgressBar)

    @property
    def train_dataloader(self) -> Any:
        """What gives the training batches."""
        return None if self.feed is None else self.feed.loader

    @property
    def val_dataloaders(self) -> Any:
        """What gives the validation batches."""
        return _one_or_all(self.val_loaders)

    @property
    def test_dataloaders(self) -> Any:
        """What gives the test batches."""
        return _one_or_all(self.test_loaders)

    @property
    def predict_dataloaders(self) -> Any:
        """What gives the batches to predict."""
        return _one_or_all(self.predict_loaders)

    @property
    def precision(self) -> str:
        """The precision by its full name."""
        return self.precision_settings.precision

    @property
    def limit_train_batches(self) -> float:
        """The limit on training batches."""
        return self.limits.train

    @property
    def limit_val_batches(self) -> float:
        """The limit on validation batches."""
        return self.limits.val

    @property
    def limit_test_batches(self) -> float:
        """The limit on test batches."""
        return self.limits.test

    @property
    def limit_predict_batches(self) -> float:
        """The limit on batches to predict."""
        return self.limits.predict

    @property
    def num_sanity_val_steps(self) -> float:
        """How many validation batches are tried before training."""
        return self.limits.sanity_val

    @property
    def world_size(self) -> int:
        """How many processes train."""
        return self.strategy.world_size

    @property
    def num_devices(self) -> int:
        """How many devices of this machine train."""
        return self.strategy.num_processes

    @property
    def num_nodes(self) -> int:
        """How many machines train."""
        return self.world_size // self.num_devices

    @property
    def global_rank(self) -> int:
        """The number of this process."""
        return self.strategy.global_rank

    @property
    def local_rank(self) -> int:
        """The number of this process on its machine."""
        return self.strategy.local_rank

    @property
    def node_rank(self) -> int:
        """The number of this machine."""
        return self.strategy.node_rank

    @property
    def is_global_zero(self) -> bool:
        """Whether this is the process that writes and prints."""
        return self.strategy.is_global_zero


def _one_or_all(loaders: list[Any]) -> Any:
    """None for no loader, the loader for one, else the list."""
    if not loaders:
        return None
    return loaders[0] if len(loaders) == 1 else loaders
