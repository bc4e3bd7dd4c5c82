"""The trainer's options: checked, completed with defaults, grouped in small records."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import rushlight as rl
from lightning_lite.errors import MisconfigurationException
from lightning_lite.feeding import INFINITE
from lightning_lite.messages import warn
from lightning_lite.restarts.fit_loop import FitRestart
from lightning_lite.restarts.training_epoch_loop import EpochRestart


def batch_limit(value: Any, name: str) -> float:
    """A limit on batches: an int is a number of them, a float between 0 and 1 a share."""
    if value is None:
        return 1.0
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise MisconfigurationException(
            f"{name}={value!r}: expected a number of batches or a share"
        )
    if value < 0 or (isinstance(value, float) and value > 1 and value % 1):
        raise MisconfigurationException(
            f"{name}={value!r}: expected an int from 0 on, or a float between 0.0 and 1.0"
        )
    return int(value) if value > 1 else value


def check_count(value: Any, name: str, least: int) -> None:
    """Complain of something else than a whole number from `least` on."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise MisconfigurationException(f"{name}={value!r}: expected {least} or more")


# Arguments that are true or false, with the other values that they take.
FLAGS: dict[str, tuple[Any, ...]] = {
    "deterministic": (None, "warn"),
    "benchmark": (None,),
    "inference_mode": (),
    "detect_anomaly": (),
    "barebones": (),
    "enable_checkpointing": (None,),
    "enable_progress_bar": (None,),
    "enable_model_summary": (None,),
    "enable_autolog_hparams": (),
}


@dataclass(frozen=True)
class Limits:
    """How many batches each kind of run uses."""

    train: float
    val: float
    test: float
    predict: float
    sanity_val: float
    overfit: float

    @staticmethod
    def of(given: dict[str, Any]) -> Limits:
        """From the trainer's arguments."""
        overfit = batch_limit(given["overfit_batches"], "overfit_batches")
        fast = int(given["fast_dev_run"])
        if fast < 0:
            raise MisconfigurationException(
                f"fast_dev_run={fast}: expected True, False or a number"
            )
        values = {
            kind: batch_limit(given[f"limit_{kind}_batches"], f"limit_{kind}_batches")
            for kind in ("train", "val", "test", "predict")
        }
        sanity = given["num_sanity_val_steps"]
        sanity = 2 if sanity is None else sanity
        check_count(sanity, "num_sanity_val_steps", -1)
        if fast:
            values = dict.fromkeys(values, fast)
            sanity = 0
        if overfit > 0:
            values["train"] = values["val"] = overfit
        return Limits(sanity_val=INFINITE if sanity == -1 else sanity, overfit=overfit, **values)


@dataclass
class StoppingRule(FitRestart):
    """When training ends; `trainer.fit_loop.max_epochs = ...` changes it between two fits. Beside
    that, whether it went on from a checkpoint."""

    max_epochs: int | None
    min_epochs: int | None
    max_steps: int
    min_steps: int | None
    epoch_loop: EpochRestart = field(default_factory=EpochRestart, repr=False)

    @staticmethod
    def of(given: dict[str, Any]) -> StoppingRule:
        """From the trainer's arguments."""
        max_epochs, max_steps = given["max_epochs"], given["max_steps"]
        for name in ("max_epochs", "max_steps"):
            if given[name] is not None:
                check_count(given[name], name, -1)
        for name in ("min_epochs", "min_steps"):
            if given[name] is not None:
                check_count(given[name], name, 0)
        fast = int(given["fast_dev_run"])
        if fast:
            return StoppingRule(1, given["min_epochs"], fast, given["min_steps"])
        if max_epochs is None:
            if max_steps == -1 and given["max_time"] is None:
                warn(
                    "Trainer: max_epochs was not set, so training ends after 1000 epochs; for "
                    "training "
                    "without an end give max_epochs=-1"
                )
                max_epochs = 1000
            else:
                max_epochs = -1
        if given["min_epochs"] is not None and max_epochs != -1:
            if given["min_epochs"] > max_epochs:
                raise MisconfigurationException(
                    f"min_epochs={given['min_epochs']} is more than max_epochs={max_epochs}"
                )
        return StoppingRule(max_epochs, given["min_epochs"], max_steps, given["min_steps"])


def validation_interval(value: Any, every_n_epoch: int | None) -> float:
    """How often validation runs inside an epoch: an int counts batches, a float is a share."""
    if value is None:
        value = 1.0
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise NotImplementedError(
            f"val_check_interval={value!r}: times are not supported; give a number of batches "
            "(int) or "
            "a share of the epoch (float)"
        )
    if value == 0:
        raise MisconfigurationException(
            f"val_check_interval={value!r}: expected a number of batches from 1 on, or a share "
            "above 0.0; limit_val_batches=0 switches validation off"
        )
    value = batch_limit(value, "val_check_interval")
    if every_n_epoch is None and isinstance(value, float):
        raise MisconfigurationException(
            f"check_val_every_n_epoch=None counts batches over epochs: val_check_interval={value} "
            "must be an int"
        )
    if every_n_epoch is not None and (not isinstance(every_n_epoch, int) or every_n_epoch < 1):
        raise MisconfigurationException(
            f"check_val_every_n_epoch={every_n_epoch!r}: expected 1 or more, or None"
        )
    return value


def validation_batches(interval: float, every_n_epoch: int | None, num_batches: float) -> float:
    """After how many training batches validation runs; infinity means after the last one."""
    if isinstance(interval, int):
        if every_n_epoch is not None and interval > num_batches:
            raise ValueError(
                f"val_check_interval={interval} is more than the {num_batches} batches of an "
                "epoch; "
                "with check_val_every_n_epoch=None it counts over epochs"
            )
        return interval
    if num_batches == INFINITE:
        if interval != 1.0:
            raise MisconfigurationException(
                f"val_check_interval={interval}: the training loader has no length; give an int"
            )
        return INFINITE
    if interval == 1.0:
        return INFINITE
    return max(1, int(num_batches * interval))


def check_flags(given: dict[str, Any]) -> None:
    """Complain of values that would be taken for true or false, or for a number."""
    for name, others in FLAGS.items():
        if not isinstance(given[name], bool) and given[name] not in others:
            wanted = ", ".join(map(repr, others))
            raise MisconfigurationException(
                f"{name}={given[name]!r}: expected True, False{' or ' * bool(others)}{wanted}"
            )
    if given["log_every_n_steps"] is not None:
        check_count(given["log_every_n_steps"], "log_every_n_steps", 0)
    check_count(given["reload_dataloaders_every_n_epochs"], "reload_dataloaders_every_n_epochs", 0)


# What `barebones` switches off: everything beside the training itself.
BAREBONES = {
    "enable_checkpointing": False,
    "logger": False,
    "enable_progress_bar": False,
    "log_every_n_steps": 0,
    "enable_model_summary": False,
    "num_sanity_val_steps": 0,
    "fast_dev_run": False,
    "detect_anomaly": False,
}


def check_barebones(given: dict[str, Any]) -> None:
    """Complain of options that `barebones` switches off and that somebody switched on."""
    for name, off in {**BAREBONES, "profiler": None}.items():
        value = given[name]
        if value is not None and value is not False and value != off:
            raise ValueError(
                f"Trainer(barebones=True, {name}={value!r}): barebones switches {name} off; leave "
                "one of them out"
            )


def refuse_unsupported(given: dict[str, Any]) -> None:
    """Name what to use instead of options that are not there yet."""
    check_count(given["num_nodes"], "num_nodes", 1)
    if given["model_registry"] is not None:
        raise NotImplementedError(
            "model_registry: there is none; save_checkpoint(path) keeps a model"
        )


def choose_device(accelerator: Any, devices: Any) -> Any:
    """The device that training runs on."""
    if accelerator not in ("auto", "cpu", "gpu", "cuda"):
        raise NotImplementedError(
            f"accelerator={accelerator!r}: there are 'auto', 'cpu', 'gpu' and 'cuda'"
        )
    has_gpu = rl.cuda.is_available()
    if accelerator in ("gpu", "cuda") and not has_gpu:
        raise MisconfigurationException(
            f"accelerator={accelerator!r}: no CUDA device is available; use 'auto' or 'cpu'"
        )
    index = device_index(devices)
    if accelerator == "cpu" or not has_gpu:
        return rl.device("cpu")
    return rl.device("cuda", index)


def device_index(devices: Any) -> int:
    """The number of the first device that `devices` names."""
    if isinstance(devices, list | tuple) and devices:
        return int(devices[0])
    return 0


def number_of_devices(devices: Any, device_type: str) -> int:
    """How many processes of this machine `devices` asks for: an int, or a list of numbers."""
    if devices == "auto":
        return 1
    if isinstance(devices, list | tuple) and devices:
        number: Any = len(devices)
    else:
        number = int(devices) if isinstance(devices, str) and devices.isdigit() else devices
    if isinstance(number, bool) or not isinstance(number, int) or number < 1:
        raise MisconfigurationException(
            f"devices={devices!r}: expected 'auto', a number from 1 on, or a list of numbers"
        )
    if device_type != "cpu" and number > 1:
        raise NotImplementedError(
            f"devices={devices!r} on {device_type}: processes exchange tensors of the CPU; give "
            "accelerator='cpu', or one device"
        )
    return number
