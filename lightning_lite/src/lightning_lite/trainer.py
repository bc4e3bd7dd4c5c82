"""The Trainer: keeps settings and state, and hands both to the functions that do the work."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import rushlight as rl
from lightning_lite import checkpoint, running
from lightning_lite.callbacks.callback import Callback
from lightning_lite.callbacks.connection import default_callbacks
from lightning_lite.data_sources import DataSources
from lightning_lite.feeding import INFINITE, Feed
from lightning_lite.gradients import check_clipping
from lightning_lite.hooks import HookTable
from lightning_lite.interrupt import InterruptGuard, SignalConnector
from lightning_lite.loggers.connection import make_loggers
from lightning_lite.loggers.logger import Logger
from lightning_lite.metrics import Results, Views
from lightning_lite.options import (
    BAREBONES,
    Limits,
    StoppingRule,
    check_barebones,
    check_flags,
    choose_device,
    refuse_unsupported,
    validation_interval,
)
from lightning_lite.parts import accelerator_name, plug_in, start_strategy
from lightning_lite.profilers.instrument import make_profiler
from lightning_lite.random_state import seed_everything
from lightning_lite.signatures import StepSignature
from lightning_lite.state import Predictions, TrainerFn, TrainerState
from lightning_lite.trainer_properties import TrainerProperties

if TYPE_CHECKING:
    from os import PathLike

    from lightning_lite.profilers.profiler import Profiler

__all__ = ["Trainer", "seed_everything"]


class Trainer(TrainerProperties):
    """Trains, validates, tests and predicts with a `LightningModule`.

    The arguments have Lightning's names and defaults.

    - `devices`, `num_nodes`: processes of this machine, and machines; `strategy` says how they
      share the work ("ddp", "ddp_spawn", "ddp_fork", "ddp_notebook", "fsdp", or an object), and
      `use_distributed_sampler` whether each gets its part of the data. `sync_batchnorm`: batch
      normalization over the batches of all processes.
    - `max_epochs` (1000 if neither it nor `max_steps` is given; -1: no end), `min_epochs`,
      `max_steps`, `min_steps`, `max_time`: when training ends.
    - `limit_train_batches`, `limit_val_batches`, `limit_test_batches`, `limit_predict_batches`,
      `overfit_batches`: an int is a number of batches, a float a share of them. `fast_dev_run`
      runs a few batches of everything, writing nothing.
    - `val_check_interval` (int: every so many batches; float: share of an epoch),
      `check_val_every_n_epoch`, `num_sanity_val_steps`: when validation runs.
    - `accumulate_grad_batches`, `gradient_clip_val`, `gradient_clip_algorithm`, `precision`
      ("32-true", "64-true", "bf16-true", "16-true"), `detect_anomaly`, `deterministic`.
    - `logger`, `log_every_n_steps`, `callbacks`, `enable_checkpointing`, `enable_progress_bar`,
      `enable_model_summary`, `default_root_dir`.
    """

    def __init__(
        self,
        *,
        accelerator: str = "auto",
        strategy: str = "auto",
        devices: Any = "auto",
        num_nodes: int = 1,
        precision: str | int | None = None,
        logger: Logger | list[Logger] | bool | None = None,
        callbacks: list[Callback] | Callback | None = None,
        fast_dev_run: int | bool = False,
        max_epochs: int | None = None,
        min_epochs: int | None = None,
        max_steps: int = -1,
        min_steps: int | None = None,
        max_time: str | timedelta | dict[str, int] | None = None,
        limit_train_batches: int | float | None = None,
        limit_val_batches: int | float | None = None,
        limit_test_batches: int | float | None = None,
        limit_predict_batches: int | float | None = None,
        overfit_batches: int | float = 0.0,
        val_check_interval: int | float | None = None,
        check_val_every_n_epoch: int | None = 1,
        num_sanity_val_steps: int | None = None,
        log_every_n_steps: int | None = None,
        enable_checkpointing: bool | None = None,
        enable_progress_bar: bool | None = None,
        enable_model_summary: bool | None = None,
        accumulate_grad_batches: int = 1,
        gradient_clip_val: int | float | None = None,
        gradient_clip_algorithm: str | None = None,
        deterministic: bool | str | None = None,
        benchmark: bool | None = None,
        inference_mode: bool = True,
        use_distributed_sampler: bool = True,
        profiler: Profiler | str | None = None,
        detect_anomaly: bool = False,
        barebones: bool = False,
        plugins: object = None,
        sync_batchnorm: bool = False,
        reload_dataloaders_every_n_epochs: int = 0,
        default_root_dir: str | PathLike[str] | None = None,
        enable_autolog_hparams: bool = True,
        model_registry: str | None = None,
    ) -> None:
        given = {name: value for name, value in locals().items() if name != "self"}
        if barebones:
            check_barebones(given)
            given.update(BAREBONES)
        refuse_unsupported(given)
        check_flags(given)
        check_clipping(gradient_clip_val, gradient_clip_algorithm)
        if not isinstance(accumulate_grad_batches, int) or accumulate_grad_batches < 1:
            raise ValueError(
                f"accumulate_grad_batches={accumulate_grad_batches!r}: expected 1 or more"
            )
        self.barebones = barebones
        self.fast_dev_run = given["fast_dev_run"]
        self.limits = Limits.of(given)
        self.overfit_batches = self.limits.overfit
        self.fit_loop = StoppingRule.of(given)
        self.fit_loop.epoch_loop.trainer = self
        whole = bool(self.fast_dev_run)
        self.check_val_every_n_epoch = 1 if whole else check_val_every_n_epoch
        self.val_check_interval = (
            1.0 if whole else validation_interval(val_check_interval, check_val_every_n_epoch)
        )
        every = given["log_every_n_steps"]
        self.log_every_n_steps = 50 if every is None else every
        self.accumulate_grad_batches = accumulate_grad_batches
        self.gradient_clip_val = gradient_clip_val
        self.gradient_clip_algorithm = gradient_clip_algorithm
        self.inference_mode = inference_mode
        self.deterministic = deterministic
        self.detect_anomaly = given["detect_anomaly"]
        self.reload_dataloaders_every_n_epochs = reload_dataloaders_every_n_epochs
        self.enable_autolog_hparams = enable_autolog_hparams
        self.default_root_dir = os.fspath(default_root_dir or os.getcwd())
        self.root_device = choose_device(accelerator_name(accelerator), devices)
        kind = self.root_device.type
        self.strategy = start_strategy(strategy, devices, num_nodes, plugins, kind)
        self.strategy.connect(self)
        self.use_distributed_sampler = use_distributed_sampler
        self.sync_batchnorm = sync_batchnorm
        self.precision_settings = plug_in(self.strategy, plugins, precision, kind)
        self.profiler = make_profiler(profiler)
        self._reset_run()
        self.state = TrainerState()
        self.interrupted = False
        self.told_non_finite = False  # of a loss in this fit
        self.told_skipped = False  # of a step without a loss in this fit
        self.kept_metrics = Views({}, {}, {})
        self.loggers = make_loggers(given["logger"], self.default_root_dir, bool(self.fast_dev_run))
        self.callbacks = default_callbacks(given)
        self.takes_module_callbacks = True  # not in a trial, see tuner.snapshot

    def _reset_run(self) -> None:
        """Forget what belongs to one run: its module, data, optimizers."""
        self.lightning_module: Any = None
        self.datamodule: Any = None
        self.sources: DataSources | None = None
        self.hooks = HookTable.empty()
        self.optimizers: list[Any] = []
        self.lightning_optimizers: list[Any] = []
        self.plain_step: Any = None  # see optimization.is_plain
        self.lr_scheduler_configs: list[Any] = []
        self.feed: Feed | None = None
        self.val_loaders: list[Any] = []
        self.num_val_batches: list[float] = []
        self.num_sanity_val_batches: list[float] = []
        self.num_test_batches: list[float] = []
        self.num_predict_batches: list[float] = []
        self.test_loaders: list[Any] = []
        self.predict_loaders: list[Any] = []
        self.val_check_batch: float = INFINITE
        self.enable_validation = False
        self.training_results = Results(training=True)
        self.evaluation_results = Results(training=False)
        self.in_evaluation_batch = False
        # Who wishes to stop: "user", and the state keys of callbacks that may think better of it.
        self.stop_wishes: set[str] = set()
        self.return_predictions = True
        self.verbose = True
        self.ckpt_path: str | None = None
        self.resume_point: dict[str, Any] | None = None
        self.boundary_random_state: tuple[Any, ...] | None = None
        self.interrupt = InterruptGuard()
        self._signal_connector = SignalConnector(self)
        self.mover: Any = None
        self.instruments: Any = None
        self.predict_loop = Predictions()
        self.signature: StepSignature = StepSignature.of_nobody()
        self.evaluation_signature: StepSignature = self.signature
        self._module_modes: dict[Any, bool] = {}

    # -- entry points ---------------------------------------------------------------------------

    def fit(
        self,
        model: Any,
        train_dataloaders: Any = None,
        val_dataloaders: Any = None,
        datamodule: Any = None,
        ckpt_path: Any = None,
        weights_only: bool | None = None,
    ) -> None:
        """Train a module.

        `ckpt_path` (a path, "last" or "best") goes on where that checkpoint was written, bit for
        bit. Ctrl-C ends training between two batches, writes `interrupted.ckpt` beside the other
        checkpoints and returns; `trainer.interrupted` is then True.
        """
        loaders = {"train": train_dataloaders, "val": val_dataloaders}
        running.run(self, TrainerFn.FITTING, model, loaders, datamodule, ckpt_path, weights_only)

    def validate(
        self,
        model: Any = None,
        dataloaders: Any = None,
        ckpt_path: Any = None,
        verbose: bool = True,
        datamodule: Any = None,
        weights_only: bool | None = None,
    ) -> list[dict[str, float]] | None:
        """Measure a module on the validation data; return what it logged, per loader."""
        self.verbose = verbose
        loaders = {"val": dataloaders}
        return running.run(
            self, TrainerFn.VALIDATING, model, loaders, datamodule, ckpt_path, weights_only
        )

    def test(
        self,
        model: Any = None,
        dataloaders: Any = None,
        ckpt_path: Any = None,
        verbose: bool = True,
        datamodule: Any = None,
        weights_only: bool | None = None,
    ) -> list[dict[str, float]] | None:
        """Measure a module on the test data; return what it logged, one dictionary per loader.

        Without a module, the best weights of the last `fit` are used.
        """
        self.verbose = verbose
        loaders = {"test": dataloaders}
        return running.run(
            self, TrainerFn.TESTING, model, loaders, datamodule, ckpt_path, weights_only
        )

    def predict(
        self,
        model: Any = None,
        dataloaders: Any = None,
        datamodule: Any = None,
        return_predictions: bool | None = None,
        ckpt_path: Any = None,
        weights_only: bool | None = None,
    ) -> Any:
        """Use a module; return what `predict_step` gave: a list, or a list of lists."""
        self.return_predictions = True if return_predictions is None else return_predictions
        loaders = {"predict": dataloaders}
        return running.run(
            self, TrainerFn.PREDICTING, model, loaders, datamodule, ckpt_path, weights_only
        )

    def save_checkpoint(
        self, filepath: Any, weights_only: bool | None = None, storage_options: Any = None
    ) -> None:
        """Write a checkpoint of this moment: whole or not at all."""
        if storage_options is not None:
            raise NotImplementedError(
                "save_checkpoint: storage_options; give a path of this machine"
            )
        if self.lightning_module is None:
            raise AttributeError(
                "save_checkpoint: there is no model yet; call fit, validate or test"
            )
        self.strategy.save_checkpoint(checkpoint.dump(self, bool(weights_only)), filepath)

    def hand_over(self) -> dict[str, Any]:
        """What a process that trained gives to the one that started it; see `take_over`."""
        from lightning_lite.checkpoint import dump_results

        return dump_results(self)

    def take_over(self, found: dict[str, Any], arguments: tuple[Any, ...]) -> None:
        """Continue from what a process found that was started for `arguments` of a run."""
        from lightning_lite.checkpoint import restore_results

        restore_results(self, found, arguments)

    @contextmanager
    def init_module(self, empty_init: bool | None = None) -> Iterator[None]:
        """A block whose new modules are on the trainer's device, in the dtype of its precision.
        Parameters are drawn whatever `empty_init` says."""
        with rl.device(self.root_device), self.precision_settings.module_init_context():
            yield

    def explain(
        self,
        model: Any,
        train_dataloaders: Any = None,
        val_dataloaders: Any = None,
        datamodule: Any = None,
    ) -> str:
        """Print the loop that `fit` with these arguments will run, and return it as text: every
        hook that somebody overrides, in order, by whom. Nothing is run, but loaders are made."""
        from lightning_lite.trainer_reports import explained

        text = explained(self, model, train_dataloaders, val_dataloaders, datamodule)
        self.print(text)
        return text

    def check(
        self, model: Any, train_dataloaders: Any = None, datamodule: Any = None, steps: int = 50
    ) -> Any:
        """Try whether a module can learn: `steps` steps on the first batch, and a learning rate
        test. Prints and returns a `CheckReport`; afterwards all is what it was, bit for bit."""
        from lightning_lite.checking import check

        report = check(self, model, train_dataloaders, datamodule, steps)
        self.print(str(report))
        return report

    def print(self, *args: Any, **kwargs: Any) -> None:
        """Print without tearing the progress bar; in the first process of a machine alone."""
        if self.local_rank:
            return
        bar = self.progress_bar_callback
        if bar is None:
            print(*args, **kwargs)
        else:
            bar.print(*args, **kwargs)

    # -- what the loops ask for -----------------------------------------------------------------

    def on_device(self, batch: Any, dataloader_idx: int) -> Any:
        """A batch on the device that the module is on."""
        return self.mover(batch, dataloader_idx)

    def step_arguments(self, batch: Any, batch_idx: int) -> tuple[Any, ...]:
        """The arguments that the module's `training_step` takes."""
        return self.signature.arguments(batch, batch_idx, 0, False)

    @property
    def clips_gradients(self) -> bool:
        """Whether clipping is asked for, or the module or the precision does its own."""
        asked = self.gradient_clip_val is not None or self.signature.clips
        return asked or self.precision_settings.overrides("clip_gradients")

    def remember_module_modes(self) -> None:
        """Note which submodules are in training mode."""
        self._module_modes = {each: each.training for each in self.lightning_module.modules()}

    def restore_module_modes(self) -> None:
        """Put the submodules back into the modes that were noted."""
        for module, training in self._module_modes.items():
            module.training = training
        self._module_modes = {}

    def reload_loaders_if_due(self) -> None:
        """Ask for new loaders every so many epochs, if told to."""
        every = self.reload_dataloaders_every_n_epochs
        if every and self.current_epoch and self.current_epoch % every == 0:
            running.reload_data(self)

    def save_loggers(self) -> None:
        """Let the loggers write what they hold."""
        for logger in self.loggers:
            logger.save()
