"""ModelCheckpoint: keeps the best and the last checkpoints of a training."""

from __future__ import annotations

import os
import shutil
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import rushlight as rl
from lightning_lite.callbacks.checkpoint import Checkpoint
from lightning_lite.checkpoint_names import format_name, unused_name
from lightning_lite.errors import MisconfigurationException
from lightning_lite.finiteness import non_finite_parameter
from lightning_lite.messages import info, warn
from lightning_lite.state import TrainerFn

MODES = ("min", "max")


class ModelCheckpoint(Checkpoint):
    """Writes checkpoints while training, and keeps the best of them by a logged value.

    Without `monitor`, the newest checkpoint is kept (`save_top_k=1`) or all (`-1`). With it, the
    `save_top_k` best are kept; `best_model_path` and `best_model_score` tell the best. `filename`
    may hold names of logged values: `"{epoch:02d}-{val_loss:.2f}"` gives
    `epoch=03-val_loss=0.12.ckpt`. `save_last` keeps `last.ckpt` beside them, as a copy or
    (`"link"`) a link.

    When: every `every_n_epochs` epochs (the default, 1), every `every_n_train_steps` steps, or
    every `train_time_interval`. At the end of an epoch it writes after training or after
    validation, as `save_on_train_epoch_end` says; by default after validation if that runs several
    times an epoch.

    A checkpoint is written aside and renamed, and an old one is removed only after its successor is
    whole: a crash never leaves less than there was. While a parameter has NaN or infinite elements
    nothing is written, since good weights would make room for useless ones; a warning says so once.
    `allow_non_finite` writes all the same, as does `Trainer.save_checkpoint`.

    Args:
        save_weights_only: whether files hold weights alone, from which training cannot go on.
        mode: "min" or "max": whether smaller or larger values are better.
        auto_insert_metric_name: whether names of files hold the names of values ("epoch=1").
        enable_version_counter: whether a file that is there already gets company with -v1 instead
            of being replaced.
        save_on_exception: whether a checkpoint is written when training ends by an error.

    >>> keeper = ModelCheckpoint(monitor="val_loss", filename="{epoch}-{val_loss:.2f}")
    >>> keeper.format_checkpoint_name({"epoch": 3, "val_loss": 0.517})
    'epoch=3-val_loss=0.52.ckpt'
    """

    CHECKPOINT_JOIN_CHAR = "-"
    CHECKPOINT_EQUALS_CHAR = "="
    CHECKPOINT_NAME_LAST = "last"
    FILE_EXTENSION = ".ckpt"
    STARTING_VERSION = 1

    def __init__(
        self,
        dirpath: str | os.PathLike | None = None,
        filename: str | None = None,
        monitor: str | None = None,
        verbose: bool = False,
        save_last: bool | str | None = None,
        save_top_k: int = 1,
        save_on_exception: bool = False,
        save_weights_only: bool = False,
        mode: str = "min",
        auto_insert_metric_name: bool = True,
        every_n_train_steps: int | None = None,
        train_time_interval: timedelta | None = None,
        every_n_epochs: int | None = None,
        save_on_train_epoch_end: bool | None = None,
        enable_version_counter: bool = True,
        allow_non_finite: bool = False,
    ) -> None:
        super().__init__()
        self.dirpath: Any = os.path.realpath(os.path.expanduser(dirpath)) if dirpath else None
        self._dirpath_given = self.dirpath is not None
        self.filename = filename
        self.monitor = monitor
        self.verbose = verbose
        self.save_last = save_last
        self.save_top_k = save_top_k
        self.save_on_exception = save_on_exception
        self.save_weights_only = save_weights_only
        self.mode = mode
        self.auto_insert_metric_name = auto_insert_metric_name
        self.save_on_train_epoch_end = save_on_train_epoch_end
        self.enable_version_counter = enable_version_counter
        self.allow_non_finite = allow_non_finite
        periodic = every_n_train_steps is not None or train_time_interval is not None
        self.every_n_train_steps = every_n_train_steps or 0
        self.train_time_interval = train_time_interval
        self.every_n_epochs = (0 if periodic else 1) if every_n_epochs is None else every_n_epochs
        self.best_k_models: dict[str, Any] = {}
        self.best_model_path = ""
        self.best_model_score: Any = None
        self.current_score: Any = None
        self.kth_best_model_path = ""
        self.kth_value: Any = None
        self.last_model_path = ""
        self.last_written_path = ""
        self._last_step_written = 0
        self._last_time = 0.0
        self._waits_for_validation = self._told_non_finite = False
        self._check()

    def _check(self) -> None:
        """Complain of arguments that contradict each other."""
        if self.mode not in MODES:
            raise MisconfigurationException(
                f"ModelCheckpoint: mode {self.mode!r}; expected min or max"
            )
        if self.save_top_k < -1:
            raise MisconfigurationException(
                f"ModelCheckpoint: save_top_k={self.save_top_k}; expected -1 (all), 0 (none) or "
                "more"
            )
        if self.monitor is None and self.save_top_k not in (-1, 0, 1):
            raise MisconfigurationException(
                f"ModelCheckpoint: save_top_k={self.save_top_k} needs a monitor to tell the best by"
            )
        for name in ("every_n_train_steps", "every_n_epochs"):
            if getattr(self, name) < 0:
                raise MisconfigurationException(
                    f"ModelCheckpoint: {name}={getattr(self, name)} < 0"
                )
        times = (self.every_n_train_steps, self.every_n_epochs, self.train_time_interval)
        if sum(bool(each) for each in times) > 1:
            raise MisconfigurationException(
                "ModelCheckpoint: give one of every_n_train_steps, every_n_epochs and "
                "train_time_interval; use several callbacks for several rhythms"
            )

    @property
    def state_key(self) -> str:
        """The name of this callback's state: several may live side by side."""
        return self._generate_state_key(
            monitor=self.monitor,
            mode=self.mode,
            every_n_train_steps=self.every_n_train_steps,
            every_n_epochs=self.every_n_epochs,
            train_time_interval=self.train_time_interval,
        )

    def state_dict(self) -> dict[str, Any]:
        """What it kept so far."""
        names = (
            "monitor",
            "best_model_score",
            "best_model_path",
            "current_score",
            "dirpath",
            "best_k_models",
            "kth_best_model_path",
            "kth_value",
            "last_model_path",
        )
        return {name: getattr(self, name) for name in names}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on from what was kept; only the best path if the folder is another one."""
        self.best_model_path = state_dict["best_model_path"]
        if state_dict["dirpath"] != self.dirpath:
            if self._dirpath_given:
                warn(
                    f"ModelCheckpoint: the folder was {state_dict['dirpath']!r} and is "
                    f"{self.dirpath!r} now: of what was kept, only best_model_path is known"
                )
            return
        for name in (
            "best_model_score",
            "best_k_models",
            "kth_best_model_path",
            "kth_value",
            "last_model_path",
        ):
            setattr(self, name, state_dict[name])

    # -- when -----------------------------------------------------------------------------------

    def setup(self, trainer: Any, pl_module: Any, stage: str) -> None:
        """Find the folder."""
        if not self._dirpath_given:
            self.dirpath = trainer.strategy.broadcast(str(self._default_folder(trainer)))
        if stage == "fit" and self._dirpath_given and self.save_top_k and not trainer.fast_dev_run:
            folder = Path(self.dirpath)
            if folder.is_dir() and any(folder.iterdir()) and trainer.ckpt_path is None:
                info(f"ModelCheckpoint: {folder} holds files already")

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        """Start the clock."""
        self._last_time = time.monotonic()

    def on_train_batch_end(
        self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """Write every so many steps, or every so much time."""
        steps = self.every_n_train_steps
        by_steps = steps > 0 and trainer.global_step % steps == 0
        by_time = self._time_is_up(trainer)
        if not (by_steps or by_time) or self._nothing_to_do(trainer):
            return
        values = self._values(trainer)
        if self.monitor is not None and self.monitor not in values:
            self._waits_for_validation = True  # the value comes with the next validation
            return
        self._write_all(trainer, values)

    def _time_is_up(self, trainer: Any) -> bool:
        if self.train_time_interval is None:
            return False
        now = time.monotonic()
        due = now - self._last_time >= self.train_time_interval.total_seconds()
        if not trainer.strategy.broadcast(due):
            return False
        self._last_time = now
        return True

    def on_validation_end(self, trainer: Any, pl_module: Any) -> None:
        """Write after validation, unless the end of the training epoch is the time."""
        if self._nothing_to_do(trainer) or self._after_training(trainer):
            return
        if self._waits_for_validation or self._epoch_is_due(trainer):
            self._waits_for_validation = False
            self._write_all(trainer, self._values(trainer))

    def on_train_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        """Write at the end of the training epoch, if that is the time."""
        if self._nothing_to_do(trainer) or not self._after_training(trainer):
            return
        if self._waits_for_validation or self._epoch_is_due(trainer):
            self._waits_for_validation = False
            self._write_all(trainer, self._values(trainer))

    def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
        """Write what there is, if asked to; one of several processes cannot do it alone."""
        if trainer.world_size > 1:
            return
        if not self.save_on_exception or self._nothing_to_do(trainer) or self._refuses(trainer):
            return
        values = self._values(trainer)
        path = self._path(values, trainer)
        self._write(trainer, path)
        self._write_last(trainer, values, path)
        info(f"ModelCheckpoint: {type(exception).__name__}: the state is in {path}")

    def _nothing_to_do(self, trainer: Any) -> bool:
        return (
            bool(trainer.fast_dev_run)
            or trainer.state.fn is not TrainerFn.FITTING
            or trainer.sanity_checking
            or self._last_step_written == trainer.global_step
        )

    def _epoch_is_due(self, trainer: Any) -> bool:
        every = self.every_n_epochs
        return every >= 1 and (trainer.current_epoch + 1) % every == 0

    def _after_training(self, trainer: Any) -> bool:
        """Whether epochs end, for this callback, with training (True) or with validation."""
        if self.save_on_train_epoch_end is not None:
            return self.save_on_train_epoch_end
        if trainer.check_val_every_n_epoch != 1:
            return False
        if sum(trainer.num_val_batches) == 0:
            return True
        return trainer.val_check_interval == 1.0

    # -- what -----------------------------------------------------------------------------------

    def _values(self, trainer: Any) -> dict[str, Any]:
        """The values that names and the monitor may use."""
        values = dict(trainer.callback_metrics)
        for name, number in (("epoch", trainer.current_epoch), ("step", trainer.global_step)):
            own = values.get(name)
            values[name] = number if own is None else int(own)
        return values

    def _refuses(self, trainer: Any) -> bool:
        """Whether the weights are not worth the place of others."""
        if self.allow_non_finite:
            return False
        name = non_finite_parameter(trainer.lightning_module)
        if name and not self._told_non_finite:
            self._told_non_finite = True
            warn(
                f"ModelCheckpoint: {name} has NaN or infinite elements after "
                f"{trainer.global_step} steps; no checkpoint is written while that is so. "
                "ModelCheckpoint(allow_non_finite=True) writes them",
                RuntimeWarning,
            )
        return trainer.strategy.reduce_boolean_decision(bool(name), all=False)

    def _write_all(self, trainer: Any, values: dict[str, Any]) -> None:
        if self._refuses(trainer):
            return
        written = self._write_top_k(trainer, values)
        if self._last_step_written == trainer.global_step or self.save_top_k == 0:
            self._write_last(trainer, values, written)

    def _write_top_k(self, trainer: Any, values: dict[str, Any]) -> str | None:
        """Write what belongs to the best; return the path if there is one."""
        if self.save_top_k == 0:
            return None
        if self.monitor is None:
            path = self._path(values, trainer)
            # The path belongs to the state that is written, and loggers upload what it names.
            previous, self.best_model_path = self.best_model_path, path
            self._write(trainer, path)
            if self.save_top_k == 1 and previous and previous != path:
                self._remove(trainer, previous)
            return path
        if self.monitor not in values:
            raise MisconfigurationException(
                f"ModelCheckpoint: {self.monitor!r} was not logged; there are: {sorted(values)}"
            )
        self.current_score = values[self.monitor]
        among = self._is_among_best(self.current_score)
        if not trainer.strategy.reduce_boolean_decision(among):
            if self.verbose:
                info(
                    f"Epoch {values['epoch']}, step {values['step']}: {self.monitor} "
                    f"{float(self.current_score):.5f} is not among the best {self.save_top_k}"
                )
            return None
        return self._keep(trainer, values)

    def check_monitor_top_k(self, trainer: Any, current: Any = None) -> bool:
        """Whether a value is among the best so far."""
        return current is not None and self._is_among_best(current)

    def _is_among_best(self, current: Any) -> bool:
        if self.save_top_k == -1 or len(self.best_k_models) < self.save_top_k:
            return True
        worst = self.best_k_models[self.kth_best_model_path]
        return bool(current < worst) if self.mode == "min" else bool(current > worst)

    def _keep(self, trainer: Any, values: dict[str, Any]) -> str:
        """Write one of the best and let the worst go."""
        current = self.current_score
        if isinstance(current, rl.Tensor) and bool(rl.isnan(current)):
            current = rl.tensor(float("inf" if self.mode == "min" else "-inf"))
        replaced = ""
        if len(self.best_k_models) == self.save_top_k:
            replaced = self.kth_best_model_path
            self.best_k_models.pop(replaced)
        path = self._path(values, trainer, replaced)
        self.current_score = current
        self.best_k_models[path] = current
        choose_best, choose_worst = (min, max) if self.mode == "min" else (max, min)
        rank = self.best_k_models.__getitem__
        self.kth_best_model_path = ""
        if len(self.best_k_models) == self.save_top_k:
            self.kth_best_model_path = choose_worst(self.best_k_models, key=rank)
            self.kth_value = self.best_k_models[self.kth_best_model_path]
        self.best_model_path = choose_best(self.best_k_models, key=rank)
        self.best_model_score = self.best_k_models[self.best_model_path]
        if self.verbose:
            info(
                f"Epoch {values['epoch']}, step {values['step']}: {self.monitor} reached "
                f"{float(current):.5f}; writing {path}"
            )
        self._write(trainer, path)
        if replaced and replaced != path:
            self._remove(trainer, replaced)
        return path

    def _write(self, trainer: Any, path: str) -> None:
        trainer.save_checkpoint(path, self.save_weights_only)
        self._last_step_written = trainer.global_step
        self.last_written_path = path
        for logger in trainer.loggers:
            logger.after_save_checkpoint(self)

    def _write_last(self, trainer: Any, values: dict[str, Any], written: str | None) -> None:
        """Write or link the last checkpoint."""
        if not self.save_last:
            return
        previous = self.last_model_path
        name = self._path(values, trainer, previous, self.CHECKPOINT_NAME_LAST)
        self.last_model_path = name
        if self.save_last == "link" and (written or self.last_written_path):
            if trainer.is_global_zero:
                link(written or self.last_written_path, name)
        else:
            self._write(trainer, name)
        if previous and previous != name:
            self._remove(trainer, previous)

    def _remove(self, trainer: Any, path: str) -> None:
        """Remove a checkpoint that this callback wrote, but never the one training went on from."""
        resumed = trainer.ckpt_path
        if resumed and Path(resumed).exists() and Path(path).exists():
            if os.path.samefile(resumed, path) and not self._is_in_folder(path):
                return
        trainer.strategy.remove_checkpoint(path)

    def _is_in_folder(self, path: str) -> bool:
        return self.dirpath is not None and Path(self.dirpath).resolve() in Path(path).parents

    # -- where ----------------------------------------------------------------------------------

    def _default_folder(self, trainer: Any) -> Path:
        """The logger's folder if there is a logger, else the trainer's."""
        if trainer.loggers:
            logger = trainer.loggers[0]
            version = logger.version
            version = version if isinstance(version, str) else f"version_{version}"
            root = logger.save_dir or trainer.default_root_dir
            return Path(root, str(logger.name), version, "checkpoints")
        return Path(trainer.default_root_dir, "checkpoints")

    def candidate_folders(self, trainer: Any) -> list[Path]:
        """The folders in which an earlier run with these settings wrote."""
        if self._dirpath_given:
            return [Path(self.dirpath)]
        folder = self._default_folder(trainer)
        if trainer.loggers:
            return sorted(folder.parent.parent.glob("*/checkpoints"))
        return [folder]

    def last_files(self, folders: list[Path]) -> list[Path]:
        """The last checkpoints in some folders, by name."""
        start = self.CHECKPOINT_NAME_LAST.split("{")[0]
        return [
            each for folder in folders for each in folder.glob(f"{start}*{self.FILE_EXTENSION}")
        ]

    def format_checkpoint_name(
        self, metrics: dict[str, Any], filename: str | None = None, ver: int | None = None
    ) -> str:
        """The path of a checkpoint with these values in its name."""
        template = filename or self.filename
        if not template:
            template = self.CHECKPOINT_JOIN_CHAR.join(("{epoch}", "{step}"))
        name = format_name(
            template, metrics, self.CHECKPOINT_EQUALS_CHAR if self.auto_insert_metric_name else None
        )
        if ver is not None:
            name = f"{name}{self.CHECKPOINT_JOIN_CHAR}v{ver}"
        name += self.FILE_EXTENSION
        return os.path.join(self.dirpath, name) if self.dirpath else name

    def _path(
        self, values: dict[str, Any], trainer: Any, replaced: str = "", filename: str | None = None
    ) -> str:
        """An unused path; the one that is about to be replaced counts as unused."""
        if not self.enable_version_counter:
            return self.format_checkpoint_name(values, filename)
        return unused_name(
            lambda version: self.format_checkpoint_name(values, filename, version),
            taken=lambda path: trainer.strategy.broadcast(
                path != replaced and os.path.exists(path)
            ),
            start=self.STARTING_VERSION,
        )

    def to_yaml(self, filepath: Any = None) -> None:
        """Write the scores of the kept checkpoints as lines `path: score`."""
        target = Path(filepath or Path(self.dirpath, "best_k_models.yaml"))
        lines = [f"{path}: {float(score)}\n" for path, score in self.best_k_models.items()]
        target.write_text("".join(lines))


def link(target: str, path: str) -> None:
    """Make `path` a link to `target`, or a copy where links cannot be made."""
    place = Path(path)
    if place.is_symlink() or place.exists():
        place.unlink()
    try:
        place.symlink_to(os.path.relpath(target, place.parent))
    except OSError:
        shutil.copy(target, place)
