"""Checkpoints: what they hold, writing them whole or not at all, reading them, taking them over.

A checkpoint is a dictionary of plain types and tensors with Lightning's keys, so it loads without
running code:

    epoch, global_step          how far training has come
    lightning_lite_version      who wrote it; pytorch-lightning_version: whose form it has
    state_dict                  weights and buffers
    optimizer_states, lr_schedulers, callbacks
    loops                       fit_loop: progress, the loader's position, the values logged so far,
                                and in the middle of an accumulation the gradients; Lightning's own
                                counters beside them
    random_states               every random number generator
    ranks                       each process's loader, logged values, random states, if there are
                                several
    hyper_parameters, datamodule_hyper_parameters
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import Any

import rushlight as rl
from lightning_lite import hyperparameters, lightning_loops, metric_objects, random_state
from lightning_lite._version import __version__
from lightning_lite.errors import MisconfigurationException
from lightning_lite.loggers.logger import Logger
from lightning_lite.reentry import set_restart_flags
from lightning_lite.state import Next

VERSION_KEY = "lightning_lite_version"
FOREIGN_VERSION_KEY = "pytorch-lightning_version"


# -- files ---------------------------------------------------------------------------------------


def _alive(process: int) -> bool:
    """Whether a process with this number runs."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _remove_leftovers(path: Path) -> None:
    """Remove half-written files of writers that no longer run."""
    for leftover in path.parent.glob(f".{path.name}.*.part"):
        number = leftover.name.removesuffix(".part").rsplit(".", 1)[-1]
        if number.isdigit() and not _alive(int(number)):
            leftover.unlink(missing_ok=True)


def sync_folder(folder: Path) -> None:
    """Make a rename inside a folder survive a power cut."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write(checkpoint: dict[str, Any], path: str | os.PathLike[str]) -> None:
    """Write a checkpoint aside, sync, rename: a crash leaves the old file or the new one."""
    target = Path(path)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        _remove_leftovers(target)
        aside = target.with_name(f".{target.name}.{os.getpid()}.part")
        try:
            with open(aside, "wb") as file:
                rl.save(checkpoint, file)
                file.flush()
                os.fsync(file.fileno())
            os.replace(aside, target)
        except BaseException:
            with contextlib.suppress(OSError):
                aside.unlink(missing_ok=True)
            raise
        sync_folder(target.parent)
    except OSError as error:
        reason = error.strerror or str(error)
        raise OSError(error.errno, f"checkpoint not written: {reason}", str(target)) from error


def read(
    path: str | os.PathLike[str], map_location: Any = None, weights_only: bool | None = None
) -> dict[str, Any]:
    """Read a checkpoint, on the CPU unless `map_location` says otherwise.

    Nothing in it is executed unless `weights_only=False`.
    """
    source = Path(path)
    if source.is_dir():
        raise IsADirectoryError(f"checkpoint {source} is a folder; name a file in it")
    if not source.is_file():
        raise FileNotFoundError(f"checkpoint {source} does not exist")
    where = "cpu" if map_location is None else map_location
    loaded = rl.load(
        source, map_location=where, weights_only=True if weights_only is None else weights_only
    )
    if not isinstance(loaded, dict) or "state_dict" not in loaded:
        raise MisconfigurationException(
            f"{source} is no checkpoint of a trainer: it has no 'state_dict'; read it with "
            "rushlight.load"
        )
    return loaded


# -- writing down --------------------------------------------------------------------------------


def dump(trainer: Any, weights_only: bool = False) -> dict[str, Any]:
    """The checkpoint of a trainer at this moment."""
    module = trainer.lightning_module
    progress = trainer.state.progress
    checkpoint: dict[str, Any] = {
        "epoch": progress.epoch,
        "global_step": progress.optimizer_steps,
        FOREIGN_VERSION_KEY: lightning_loops.VERSION,
        VERSION_KEY: __version__,
        "state_dict": trainer.strategy.written(module.state_dict()),
    }
    if not weights_only:
        checkpoint["loops"] = {"fit_loop": dump_fit_loop(trainer), **lightning_loops.other_loops()}
        checkpoint["callbacks"] = {
            callback.state_key: state
            for callback in trainer.callbacks
            if (state := callback.state_dict())
        }
        if state := trainer.precision_settings.state_dict():
            checkpoint["MixedPrecision"] = state
        states = [each.state_dict() for each in trainer.optimizers]
        checkpoint["optimizer_states"] = trainer.strategy.written(states)
        configs = trainer.lr_scheduler_configs
        checkpoint["lr_schedulers"] = [config.scheduler.state_dict() for config in configs]
        taken = trainer.boundary_random_state or random_state.snapshot()
        checkpoint["random_states"] = random_state.plain(taken)
        dump_ranks(trainer, checkpoint)
    if module.hparams:
        checkpoint.update(hyperparameters.dump(module))
    dump_datamodule(trainer.datamodule, checkpoint)
    if not weights_only:
        for callback in trainer.callbacks:
            callback.on_save_checkpoint(trainer, module, checkpoint)
    if trainer.datamodule is not None:
        trainer.datamodule.on_save_checkpoint(checkpoint)
    module.on_save_checkpoint(checkpoint)
    return checkpoint


# What each process has for itself; the checkpoint's own entries are the first one's.
OF_RANKS = ("loader", "results", "gradients", "metrics")


def dump_ranks(trainer: Any, checkpoint: dict[str, Any]) -> None:
    """Add what the other processes need to go on; all call it."""
    if trainer.world_size == 1:
        return
    saved = checkpoint["loops"]["fit_loop"]
    own = {name: saved[name] for name in OF_RANKS if name in saved}
    own["random_states"] = checkpoint["random_states"]
    checkpoint["ranks"] = trainer.strategy.gather_objects(own)


def of_this_rank(trainer: Any, checkpoint: dict[str, Any]) -> dict[str, Any]:
    """The checkpoint as this process wrote it, if there were as many of them."""
    ranks = checkpoint.get("ranks", [])
    if len(ranks) != trainer.world_size:
        return checkpoint
    own = dict(ranks[trainer.global_rank])
    random_states = own.pop("random_states")
    saved = {**checkpoint["loops"]["fit_loop"], **own}
    loops = {**checkpoint["loops"], "fit_loop": saved}
    return {**checkpoint, "loops": loops, "random_states": random_states}


def dump_results(trainer: Any) -> dict[str, Any]:
    """What a trainer found, for the process that started this one: weights, progress, metrics,
    callbacks."""
    return {
        "state_dict": trainer.strategy.whole(trainer.lightning_module.state_dict()),
        "progress": trainer.state.progress.state_dict(),
        "status": trainer.state.status,
        "metrics": trainer.kept_metrics,
        "callbacks": {each.state_key: each.state_dict() for each in trainer.callbacks},
        "folders": {each.state_key: getattr(each, "dirpath", None) for each in trainer.callbacks},
        "interrupted": trainer.interrupted,
    }


def restore_results(trainer: Any, found: dict[str, Any], arguments: tuple[Any, ...]) -> None:
    """Take over what `dump_results` gave in a process that was started for `arguments`."""
    fn, model = arguments[:2]
    module = trainer.lightning_module if model is None else model
    module.load_state_dict(found["state_dict"])
    trainer.lightning_module, module.trainer = module, trainer
    trainer.state.fn, trainer.state.status = fn, found["status"]
    trainer.state.progress.load_state_dict(found["progress"])
    trainer.kept_metrics, trainer.interrupted = found["metrics"], found["interrupted"]
    for callback in trainer.callbacks:
        if callback.state_key in found["callbacks"]:
            if found["folders"][callback.state_key] is not None:
                callback.dirpath = found["folders"][callback.state_key]
            callback.load_state_dict(found["callbacks"][callback.state_key])


def dump_fit_loop(trainer: Any) -> dict[str, Any]:
    """What the training loop needs to go on."""
    saved: dict[str, Any] = {
        **lightning_loops.fit_loop(trainer.state.progress),
        "progress": trainer.state.progress.state_dict(),
        "results": trainer.training_results.state_dict(),
        "callback_metrics": dict(trainer.callback_metrics),
    }
    if trainer.feed is not None:
        saved["loader"] = trainer.feed.state_dict()
        done = trainer.state.progress.batch
        if trainer.feed.is_open and done < saved["loader"]["taken"]:
            # A batch that was taken and not finished comes again; the loader's own position is
            # behind it.
            saved["loader"]["taken"] = done
            saved["loader"].pop("own", None)
    if metrics := metric_objects.states(trainer.lightning_module):
        saved["metrics"] = metrics
    states = [logger_state(logger) for logger in trainer.loggers]
    if any(states):
        saved["loggers"] = states
    if accumulating(trainer):
        found = trainer.lightning_module.named_parameters()
        kept = {name: each.grad for name, each in found if each.grad is not None}
        saved["gradients"] = trainer.strategy.whole(kept)
    return saved


def logger_state(logger: Any) -> dict[str, Any]:
    """How far a logger has come; empty for one that does not say."""
    return logger.state_dict() if isinstance(logger, Logger) else {}


def accumulating(trainer: Any) -> bool:
    """Whether gradients that the next step needs may be there: between the batches of one step.

    In manual optimization only the module knows, so there they always count.
    """
    progress = trainer.state.progress
    if progress.next not in (Next.BATCH, Next.AFTER_BATCH, Next.AFTER_VALIDATION):
        return False
    if not trainer.lightning_module.automatic_optimization:
        return True
    return bool(progress.batch % trainer.accumulate_grad_batches) and not progress.is_last_batch


def dump_datamodule(datamodule: Any, checkpoint: dict[str, Any]) -> None:
    """Add a data module's hyper-parameters and state."""
    if datamodule is None:
        return
    if datamodule.hparams:
        checkpoint.update(hyperparameters.dump(datamodule, "datamodule_"))
    state = datamodule.state_dict()
    if state:
        checkpoint[type(datamodule).__qualname__] = state


# -- taking over ---------------------------------------------------------------------------------


def restore_model(trainer: Any, checkpoint: dict[str, Any]) -> None:
    """Give weights and states to a trainer's module, data module and callbacks, in every kind of
    run, as Lightning does: a callback may hold what testing needs."""
    module, datamodule = trainer.lightning_module, trainer.datamodule
    if datamodule is not None:
        datamodule.on_load_checkpoint(checkpoint)
        if type(datamodule).__qualname__ in checkpoint:
            datamodule.load_state_dict(checkpoint[type(datamodule).__qualname__])
    restore_callbacks(trainer, checkpoint)
    module.on_load_checkpoint(checkpoint)
    weights = trainer.strategy.divided(module, checkpoint["state_dict"])
    module.load_state_dict(weights, strict=module.strict_loading)


def restore_callbacks(trainer: Any, checkpoint: dict[str, Any]) -> None:
    """Give the callbacks their states."""
    states = checkpoint.get("callbacks", {})
    for callback in trainer.callbacks:
        callback.on_load_checkpoint(trainer, trainer.lightning_module, checkpoint)
        if callback.state_key in states:
            callback.load_state_dict(states[callback.state_key])


def check_resumable(checkpoint: dict[str, Any], path: Any) -> None:
    """Complain of a checkpoint that training cannot go on from."""
    needed = ["loops", "optimizer_states", "random_states"]
    if FOREIGN_VERSION_KEY in checkpoint and VERSION_KEY not in checkpoint:
        needed.remove("random_states")  # Lightning keeps none
    missing = [key for key in needed if key not in checkpoint]
    if missing:
        raise MisconfigurationException(
            f"{path} lacks {missing}: it holds weights only (save_weights_only), so training "
            "cannot go "
            "on from it; use load_from_checkpoint"
        )


def restore_training(trainer: Any, checkpoint: dict[str, Any]) -> None:
    """Give progress, optimizers, schedulers and logged values to a trainer that is set up."""
    checkpoint = of_this_rank(trainer, checkpoint)
    saved = checkpoint["loops"]["fit_loop"]
    counters = None
    if lightning_loops.is_lightnings(saved):
        counters = saved
        found = lightning_loops.progress_of(saved, checkpoint["global_step"])
        saved = {"progress": found.state_dict(), "results": [], "callback_metrics": {}}
    trainer.state.progress.load_state_dict(saved["progress"])
    limit = trainer.max_epochs
    if limit is not None and limit != -1 and trainer.current_epoch > limit:
        raise MisconfigurationException(
            f"the checkpoint is of epoch {trainer.current_epoch}, beyond max_epochs={limit}"
        )
    trainer.precision_settings.load_state_dict(checkpoint.get("MixedPrecision", {}))
    states = checkpoint["optimizer_states"]
    if len(states) != len(trainer.optimizers):
        raise MisconfigurationException(
            f"the checkpoint holds {len(states)} optimizers, configure_optimizers returned "
            f"{len(trainer.optimizers)}"
        )
    for optimizer, state in zip(trainer.optimizers, states, strict=True):
        optimizer.load_state_dict(trainer.strategy.divided_optimizer_state(optimizer, state))
    configs, schedulers = trainer.lr_scheduler_configs, checkpoint["lr_schedulers"]
    if len(schedulers) != len(configs):
        raise MisconfigurationException(
            f"the checkpoint holds {len(schedulers)} schedulers, configure_optimizers returned "
            f"{len(configs)}"
        )
    for config, state in zip(configs, schedulers, strict=True):
        config.scheduler.load_state_dict(state)
    if "gradients" in saved:
        for name, parameter in trainer.lightning_module.named_parameters():
            gradient = saved["gradients"].get(name)
            parameter.grad = None if gradient is None else gradient.to(parameter.device)
    trainer.training_results.load_state_dict(saved["results"])
    metric_objects.restore(trainer.lightning_module, saved.get("metrics", {}))
    trainer.kept_metrics.callback.update(saved["callback_metrics"])
    if len(states := saved.get("loggers", [])) == len(trainer.loggers):
        for logger, state in zip(trainer.loggers, states, strict=True):
            if state and isinstance(logger, Logger):
                logger.load_state_dict(state)
    set_restart_flags(trainer, counters)
    trainer.resume_point = {
        "loader": saved.get("loader"),
        "random_states": checkpoint.get("random_states"),
    }


# -- modules from checkpoints --------------------------------------------------------------------


def _no_hparams_file(hparams_file: Any) -> None:
    if hparams_file is not None:
        raise NotImplementedError(
            "load_from_checkpoint: hparams_file is not read; give the hyper-parameters as keywords"
        )


def load_module(
    cls: type,
    path: Any,
    map_location: Any,
    hparams_file: Any,
    strict: bool | None,
    weights_only: bool | None,
    given: dict[str, Any],
) -> Any:
    """A module of class `cls` with the hyper-parameters and weights of a checkpoint."""
    _no_hparams_file(hparams_file)
    checkpoint = read(path, map_location, weights_only)
    module = hyperparameters.build(cls, checkpoint, "", given)
    module.on_load_checkpoint(checkpoint)
    strict = module.strict_loading if strict is None else strict
    module.load_state_dict(checkpoint["state_dict"], strict=strict)
    if map_location is not None and isinstance(map_location, str | rl.device):
        module.to(map_location)
    return module


def load_datamodule(
    cls: type,
    path: Any,
    map_location: Any,
    hparams_file: Any,
    weights_only: bool | None,
    given: dict[str, Any],
) -> Any:
    """A data module of class `cls` with the hyper-parameters and state of a checkpoint."""
    _no_hparams_file(hparams_file)
    checkpoint = read(path, map_location, weights_only)
    datamodule = hyperparameters.build(cls, checkpoint, "datamodule_", given)
    datamodule.on_load_checkpoint(checkpoint)
    if cls.__qualname__ in checkpoint:
        datamodule.load_state_dict(checkpoint[cls.__qualname__])
    return datamodule
