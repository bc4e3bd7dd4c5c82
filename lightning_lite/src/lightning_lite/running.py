"""One run of a trainer from its first hook to its last: setting up, doing the work, cleaning up."""

from __future__ import annotations

import copy
import signal
from pathlib import Path
from typing import Any

import rushlight as rl
from lightning_lite import checkpoint, data_sources, optimizers
from lightning_lite.callbacks.connection import attach_module_callbacks
from lightning_lite.checkpoint_paths import interrupted_path, resolve
from lightning_lite.errors import Interrupted, MisconfigurationException, SIGTERMException
from lightning_lite.evaluation import evaluation_loop, prediction_loop, sanity_check
from lightning_lite.feeding import Feed
from lightning_lite.hooks import HookTable, overrides
from lightning_lite.interrupt import InterruptGuard
from lightning_lite.loops import fit_loop
from lightning_lite.messages import info, warn
from lightning_lite.metrics import Results, Views
from lightning_lite.module import LightningModule
from lightning_lite.optimization import is_plain, plain_step
from lightning_lite.options import validation_batches
from lightning_lite.removed_hooks import check_removed
from lightning_lite.result_table import print_results
from lightning_lite.signatures import StepSignature
from lightning_lite.state import RunningStage, TrainerFn, TrainerStatus

STEPS = {
    TrainerFn.FITTING: "training_step",
    TrainerFn.VALIDATING: "validation_step",
    TrainerFn.TESTING: "test_step",
    TrainerFn.PREDICTING: "predict_step",
}
KINDS = {TrainerFn.VALIDATING: "val", TrainerFn.TESTING: "test", TrainerFn.PREDICTING: "predict"}
STAGES = {
    TrainerFn.FITTING: RunningStage.TRAINING,
    TrainerFn.VALIDATING: RunningStage.VALIDATING,
    TrainerFn.TESTING: RunningStage.TESTING,
    TrainerFn.PREDICTING: RunningStage.PREDICTING,
}


def run(
    trainer: Any,
    fn: TrainerFn,
    model: Any,
    loaders: dict[str, Any],
    datamodule: Any,
    ckpt_path: Any,
    weights_only: bool | None,
) -> Any:
    """Run one of the trainer's entry points; return what it gives."""
    return trainer.strategy.launch(
        run_process, trainer, fn, model, loaders, datamodule, ckpt_path, weights_only
    )


def run_process(
    trainer: Any,
    fn: TrainerFn,
    model: Any,
    loaders: dict[str, Any],
    datamodule: Any,
    ckpt_path: Any,
    weights_only: bool | None,
) -> Any:
    """A process's part of a run."""
    trainer.strategy.setup_environment()
    loaders, datamodule = separate_datamodule(loaders, datamodule)
    module, path = choose_model(trainer, fn, model, ckpt_path)
    begin(trainer, fn, module, datamodule, loaders)
    trainer.interrupt = InterruptGuard()
    trainer._signal_connector.register_signal_handlers()
    try:
        result = work(trainer, path, weights_only)
    except KeyboardInterrupt as exception:
        stop_by_interrupt(trainer, exception)
        if trainer.interrupt.terminated:
            raise SIGTERMException(128 + signal.SIGTERM) from None
        return None
    except BaseException as exception:
        trainer.state.status = TrainerStatus.INTERRUPTED
        announce(trainer, exception)
        clean_up(trainer, "failed")
        raise
    finally:
        trainer._signal_connector.teardown()
    trainer.state.status = TrainerStatus.FINISHED
    return result


def separate_datamodule(loaders: dict[str, Any], datamodule: Any) -> tuple[dict[str, Any], Any]:
    """Accept a data module where loaders are expected, as the first of them."""
    first = next(iter(loaders))
    if isinstance(loaders[first], data_sources.LightningDataModule):
        if datamodule is not None:
            raise MisconfigurationException("a data module was given twice")
        loaders, datamodule = {**loaders, first: None}, loaders[first]
    data_sources.check_datamodule(datamodule)
    if datamodule is not None and any(each is not None for each in loaders.values()):
        raise MisconfigurationException("give loaders or a datamodule, not both")
    return loaders, datamodule


def choose_model(trainer: Any, fn: TrainerFn, model: Any, ckpt_path: Any) -> tuple[Any, Any]:
    """The module to run and the checkpoint to take weights from."""
    if model is None:
        if trainer.lightning_module is None:
            raise TypeError(f"Trainer.{fn.value}: give a LightningModule; there was no run before")
        path = resolve(trainer, fn, ckpt_path, given_model=False)
        return trainer.lightning_module, path
    data_sources.check_module(model, f"Trainer.{fn.value}")
    return model, resolve(trainer, fn, ckpt_path, given_model=True)


def begin(trainer: Any, fn: TrainerFn, module: Any, datamodule: Any, loaders: Any) -> None:
    """Attach everything that belongs to this run."""
    state = trainer.state
    state.fn, state.stage, state.status = fn, STAGES[fn], TrainerStatus.RUNNING
    trainer.interrupted = trainer.told_non_finite = trainer.told_skipped = False
    trainer.should_stop = False
    trainer.lightning_module = module
    module.trainer = trainer
    trainer.datamodule = datamodule
    if datamodule is not None:
        datamodule.trainer = trainer
    ranks = trainer.distributed_sampler_kwargs if trainer.use_distributed_sampler else None
    trainer.sources = data_sources.DataSources(module, datamodule, loaders, ranks)
    trainer.kept_metrics = Views({}, {}, {})
    trainer.evaluation_results = Results(training=False)
    trainer.boundary_random_state = trainer.resume_point = None
    trainer.signature = StepSignature(module, STEPS[fn])
    if fn is TrainerFn.FITTING:
        trainer.training_results = Results(training=True)
        trainer.feed = None
        trainer.val_loaders = []
        state.progress.begin_anew()
        trainer.fit_loop.clear()
        data_sources.check_fit(module, trainer.sources, bool(trainer.limits.val))
        check_automatic(trainer, module)
    else:
        data_sources.check_evaluation(module, trainer.sources, KINDS[fn], STEPS[fn])


def check_automatic(trainer: Any, module: Any) -> None:
    """Complain of options that manual optimization leaves to the module."""
    if module.automatic_optimization:
        return
    if trainer.gradient_clip_val is not None:
        raise MisconfigurationException(
            "gradient_clip_val with manual optimization: call self.clip_gradients in training_step"
        )
    if trainer.accumulate_grad_batches != 1:
        raise MisconfigurationException(
            "accumulate_grad_batches with manual optimization: step every so many batches yourself"
        )


def work(trainer: Any, path: str | None, weights_only: bool | None) -> Any:
    """Set up, run the loop, clean up."""
    module, fn = trainer.lightning_module, trainer.state.fn
    attach_module_callbacks(trainer)
    check_removed(module, trainer.callbacks)
    trainer.hooks = make_hooks(trainer)
    set_up_hooks(trainer)
    saved = load_weights(trainer, path, weights_only)
    module = trainer.precision_settings.convert_module(module).to(trainer.root_device)
    if trainer.sync_batchnorm and trainer.world_size > 1:
        rl.nn.SyncBatchNorm.convert_sync_batchnorm(module)
    trainer.strategy.setup_module(module)
    trainer.mover = data_sources.BatchMover(
        module, trainer.datamodule, trainer.root_device, trainer.precision_settings
    )
    log_hyperparameters(trainer)
    previous = rl.is_grad_enabled()
    rl.set_grad_enabled(True)
    try:
        result = None
        if fn is TrainerFn.FITTING:
            fit(trainer, saved)
        else:
            trainer.precision_settings.connect(module, [], [])
            result = evaluate(trainer)
    finally:
        rl.set_grad_enabled(previous)
    tear_down_hooks(trainer)
    clean_up(trainer, "success")
    if trainer.profiler is not None:
        trainer.profiler.describe()
        trainer.profiler.teardown(trainer.state.fn.value)
    return result


def make_hooks(trainer: Any) -> HookTable:
    """The hooks of a run; measured ones where there is a profiler."""
    module, profiler = trainer.lightning_module, trainer.profiler
    if profiler is None:
        return HookTable(trainer, module, trainer.callbacks)
    from lightning_lite.profilers.instrument import Instruments, MeasuredHooks

    profiler.setup(trainer.state.fn.value, 0, trainer.log_dir)
    trainer.instruments = Instruments(trainer)
    return MeasuredHooks(trainer, module, trainer.callbacks, profiler)


def set_up_hooks(trainer: Any) -> None:
    """`prepare_data`, `setup` and `configure_model`, in order."""
    module, datamodule, stage = trainer.lightning_module, trainer.datamodule, trainer.state.fn.value
    for owner in (datamodule, module):
        if owner is not None and prepares(trainer, owner):
            owner.prepare_data()
    trainer.strategy.barrier("prepare_data")
    # The data module comes first: a callback's `setup` may look at what it made.
    if datamodule is not None:
        datamodule.setup(stage)
    for callback in trainer.callbacks:
        callback.setup(trainer, module, stage)
    module.setup(stage)
    module.configure_model()


def prepares(trainer: Any, owner: Any) -> bool:
    """Whether this process is the one whose `prepare_data` runs: the first of its machine, or of
    all if `prepare_data_per_node` is False."""
    per_node = owner.prepare_data_per_node
    return trainer.local_rank == 0 if per_node else trainer.global_rank == 0


def load_weights(trainer: Any, path: str | None, weights_only: bool | None) -> Any:
    """Read the checkpoint and take over what does not need optimizers."""
    trainer.ckpt_path = path
    if path is None:
        return None
    saved = trainer.strategy.load_checkpoint(path, weights_only=weights_only)
    if trainer.state.fn is TrainerFn.FITTING:
        checkpoint.check_resumable(saved, path)
    checkpoint.restore_model(trainer, saved)
    info(f"{'Going on from' if trainer.state.fn is TrainerFn.FITTING else 'Weights of'} {path}")
    return saved


def log_hyperparameters(trainer: Any) -> None:
    """Tell the loggers the hyper-parameters of module and data module."""
    merged: dict[str, Any] = {}
    for owner in (trainer.datamodule, trainer.lightning_module):
        if owner is not None and owner._log_hyperparams:
            merged.update(owner.hparams_initial)
    if trainer.enable_autolog_hparams:
        for logger in trainer.loggers:
            if merged:
                logger.log_hyperparams(merged)
            logger.save()


def fit(trainer: Any, saved: Any) -> None:
    """Optimizers, data, sanity check, the training loop."""
    module = trainer.lightning_module
    if trainer.deterministic:
        rl.use_deterministic_algorithms(True, warn_only=trainer.deterministic == "warn")
    set_up_optimizers(trainer)
    trainer.hooks.call("on_fit_start")
    if saved is not None:
        checkpoint.restore_training(trainer, saved)
    tell_evaluating(module)
    set_up_data(trainer)
    trainer.plain_step = plain_step(trainer) if is_plain(trainer) else None
    anomaly = rl.autograd.set_detect_anomaly(True) if trainer.detect_anomaly else None
    try:
        fit_loop(trainer)
    finally:
        if anomaly is not None:
            rl.autograd.set_detect_anomaly(False)
    trainer.hooks.call("on_fit_end")


def tell_evaluating(module: Any) -> None:
    """Warn of modules that are in eval mode before training; their modes stay, as in Lightning 2,
    so that a frozen backbone keeps the statistics of its batch normalization."""
    names = [name or type(module).__name__ for name, m in module.named_modules() if not m.training]
    if names:
        shown = ", ".join(names[:3]) + ", ..." * (len(names) > 3)
        warn(
            f"Trainer.fit: {len(names)} modules are in eval mode and stay in it: {shown}. If this "
            "is not meant, call model.train() before"
        )


def set_up_optimizers(trainer: Any) -> None:
    """Ask the module for optimizers and schedulers."""
    module = trainer.lightning_module
    returned = module.configure_optimizers()
    found, configs = optimizers.parse(returned, module.automatic_optimization)
    if not found and module.automatic_optimization:
        if returned is not None:
            raise MisconfigurationException(
                f"{type(module).__name__}.configure_optimizers returned no optimizer; return one, "
                "or None where nothing is to be learnt, "
                "or set self.automatic_optimization = False and step what you like in "
                "training_step"
            )
        warn(
            "configure_optimizers returned None: this fit runs without an optimizer, nothing is "
            "learnt. If this was not meant, end it with `return optimizer`"
        )
        found = [optimizers.NoOptimizer()]
    elif not found:
        warn("configure_optimizers returned no optimizer: training_step does all by itself")
    progress = trainer.state.progress

    def count_step() -> None:
        # Otherwise `optimize` counts, after the module's hook: one that reads `global_step` to warm
        # up rates, or that leaves steps out, finds Lightning's numbers.
        if not module.automatic_optimization:
            progress.optimizer_steps += 1

    _, found, configs = trainer.precision_settings.connect(module, found, configs)
    trainer.optimizers = found
    trainer.lr_scheduler_configs = configs
    trainer.lightning_optimizers = [
        optimizers.LightningOptimizer(each, module, count_step) for each in found
    ]


def set_up_data(trainer: Any) -> None:
    """Ask for the loaders in Lightning's order: those of validation with the sanity check and its
    random numbers, those of training, those of validation where there was no such check."""
    validates = may_validate(trainer)
    trainer.evaluation_signature = StepSignature(trainer.lightning_module, "validation_step")
    trainer.val_loaders, trainer.num_val_batches, trainer.num_sanity_val_batches = [], [], []
    checks = validates and trainer.resume_point is None and trainer.limits.sanity_val > 0
    if checks:
        sanity_check(trainer, set_up_validation_data)
    if trainer.feed is None:
        set_up_training_data(trainer)
    if validates and not checks:
        set_up_validation_data(trainer)
    plan_validation(trainer)
    trainer.feed.watch(trainer.interrupt)


def reload_data(trainer: Any) -> None:
    """Ask for the loaders of training and validation anew."""
    set_up_training_data(trainer)
    if may_validate(trainer):
        set_up_validation_data(trainer)
    plan_validation(trainer)


def plan_validation(trainer: Any) -> None:
    """Find after how many batches validation runs."""
    trainer.enable_validation = sum(trainer.num_val_batches) > 0
    trainer.val_check_batch = validation_batches(
        trainer.val_check_interval, trainer.check_val_every_n_epoch, trainer.num_training_batches
    )


def may_validate(trainer: Any) -> bool:
    """Whether there are validation data that are to be used."""
    measures = overrides(trainer.lightning_module, LightningModule, "validation_step")
    return bool(measures and trainer.sources.has("val") and trainer.limits.val)


def set_up_training_data(trainer: Any) -> None:
    """Ask for the training loader."""
    loader = trainer.sources.training_loader()
    if trainer.overfit_batches > 0:
        loader = data_sources.without_shuffling(loader)
    trainer.feed = Feed(loader, trainer.limits.train)
    trainer.feed.watch(trainer.interrupt)
    if trainer.instruments is not None:
        trainer.instruments.watch(trainer.feed)


def set_up_validation_data(trainer: Any) -> None:
    """Ask for the validation loaders."""
    loaders = trainer.sources.evaluation_loaders("val")
    if trainer.overfit_batches > 0:
        loaders = [data_sources.without_shuffling(each) for each in loaders]
    trainer.val_loaders = loaders
    trainer.num_val_batches = data_sources.lengths(loaders, trainer.limits.val, "val")
    most = trainer.limits.sanity_val
    trainer.num_sanity_val_batches = [min(most, each) for each in trainer.num_val_batches]


def evaluate(trainer: Any) -> Any:
    """The loop of validate, test or predict."""
    fn, kind = trainer.state.fn, KINDS[trainer.state.fn]
    loaders = trainer.sources.evaluation_loaders(kind)
    numbers = data_sources.lengths(loaders, getattr(trainer.limits, kind), kind)
    setattr(trainer, f"{kind}_loaders", loaders)
    setattr(trainer, f"num_{kind}_batches", numbers)
    trainer.evaluation_signature = trainer.signature
    if fn is TrainerFn.PREDICTING:
        return prediction_loop(trainer, loaders, numbers)
    found = evaluation_loop(trainer, loaders, numbers)
    if trainer.verbose and trainer.is_global_zero:
        print_results(found, fn.value, trainer.print)
    return copy.copy(found)


def tear_down_hooks(trainer: Any) -> None:
    """`teardown` of data module, callbacks and module."""
    module, stage = trainer.lightning_module, trainer.state.fn.value
    if trainer.datamodule is not None:
        trainer.datamodule.teardown(stage)
    for callback in trainer.callbacks:
        callback.teardown(trainer, module, stage)
    module.teardown(stage)


def clean_up(trainer: Any, status: str) -> None:
    """Close what is open: iterators, loggers, checkpoint files; remove a profiler's instruments."""
    if status != "success":
        trainer.restore_module_modes()  # it may have ended inside a validation
    if trainer.instruments is not None:
        trainer.instruments.remove()
        trainer.instruments = None
    trainer.precision_settings.teardown()
    trainer.strategy.checkpoint_io.teardown()
    if trainer.state.fn is TrainerFn.FITTING:
        for logger in trainer.loggers:
            logger.finalize(status)
        if trainer.feed is not None:
            trainer.feed.close()
    trainer.state.stage = None


def announce(trainer: Any, exception: BaseException) -> None:
    """Tell callbacks, data module and module of an exception."""
    trainer.hooks.call("on_exception", exception)
    for owner in (trainer.datamodule, trainer.lightning_module):
        if owner is not None:
            owner.on_exception(exception)


def stop_by_interrupt(trainer: Any, exception: KeyboardInterrupt) -> None:
    """End a run by Ctrl-C: keep the state if it is whole, then close everything."""
    trainer.interrupted = True
    trainer.state.status = TrainerStatus.INTERRUPTED
    training = trainer.state.fn is TrainerFn.FITTING
    whole = isinstance(exception, Interrupted)
    announce(trainer, exception)
    if training and whole and trainer.world_size == 1:
        path = interrupted_path(trainer)
        if path is None:
            info("Interrupted; checkpoints are switched off, so the state was not written")
        else:
            trainer.strategy.save_checkpoint(checkpoint.dump(trainer), path)
            info(f'Interrupted; the state is in {path}: go on with fit(model, ckpt_path="{path}")')
    elif training:
        last = newest_checkpoint(trainer)
        where = f"the last checkpoint is {last}" if last else "there is no checkpoint"
        why = "inside a batch, where the state is not whole"
        if trainer.world_size > 1:
            why = "in one of several processes, which cannot tell the others' states"
        info(f"Interrupted {why}; {where}")
    trainer.boundary_random_state = None
    tear_down_hooks(trainer)
    clean_up(trainer, "interrupted")


def newest_checkpoint(trainer: Any) -> str | None:
    """The checkpoint that a callback wrote last."""
    written = [
        path
        for callback in trainer.checkpoint_callbacks
        if (path := getattr(callback, "last_written_path", "")) and Path(path).exists()
    ]
    return max(written, key=lambda path: Path(path).stat().st_mtime) if written else None
