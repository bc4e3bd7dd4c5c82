"""Values given to `log`: kept per step, gathered per epoch, seen by loggers, bars, callbacks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import rushlight as rl
from lightning_lite import metric_objects
from lightning_lite.errors import MisconfigurationException

# hook -> (default of on_step, default of on_epoch); hooks in EPOCH_ONLY cannot log per step.
TRAIN_STEP = (True, False)
EPOCH = (False, True)
DEFAULTS: dict[str, tuple[bool, bool]] = {
    "training_step": TRAIN_STEP,
    "on_train_batch_start": TRAIN_STEP,
    "on_train_batch_end": TRAIN_STEP,
    "on_before_zero_grad": TRAIN_STEP,
    "on_before_backward": TRAIN_STEP,
    "on_after_backward": TRAIN_STEP,
    "on_before_optimizer_step": TRAIN_STEP,
    "on_train_start": EPOCH,
    "on_train_epoch_start": EPOCH,
    "on_train_epoch_end": EPOCH,
    "validation_step": EPOCH,
    "on_validation_start": EPOCH,
    "on_validation_epoch_start": EPOCH,
    "on_validation_batch_start": EPOCH,
    "on_validation_batch_end": EPOCH,
    "on_validation_epoch_end": EPOCH,
    "test_step": EPOCH,
    "on_test_start": EPOCH,
    "on_test_epoch_start": EPOCH,
    "on_test_batch_start": EPOCH,
    "on_test_batch_end": EPOCH,
    "on_test_epoch_end": EPOCH,
}
EPOCH_ONLY = {name for name in DEFAULTS if name.endswith(("_start", "_epoch_end"))} - {
    "on_train_batch_start",
    "on_validation_batch_start",
    "on_test_batch_start",
}
REDUCTIONS = ("mean", "sum", "min", "max")


def batch_size_of(batch: Any) -> int | None:
    """Length of the first dimension of the first tensor found in a batch; None if there is none."""
    if isinstance(batch, rl.Tensor):
        return batch.shape[0] if batch.ndim else 1
    if isinstance(batch, Mapping):
        batch = batch.values()
    elif not isinstance(batch, list | tuple):
        return None
    for item in batch:
        size = batch_size_of(item)
        if size is not None:
            return size
    return None


def to_scalar(value: Any) -> Any:
    """A one-element tensor as a Python number; anything else unchanged."""
    return value.item() if isinstance(value, rl.Tensor) else value


class LogOptions(NamedTuple):
    """How one logged name is treated; the same at every call in a run."""

    name: str
    hook: str
    on_step: bool
    on_epoch: bool
    prog_bar: bool
    logger: bool
    reduce_fx: str | Callable
    dataloader_idx: int | None = None
    sync: Callable | None = None  # reduces over processes: `sync(value, group, name of reduction)`
    sync_group: Any = None

    def reduced(self, value: Any, name: str) -> Any:
        """A value over all processes."""
        return value if self.sync is None else self.sync(value, self.sync_group, name)

    @property
    def full_name(self) -> str:
        """The name, with the loader's number where there are several."""
        if self.dataloader_idx is None:
            return self.name
        return f"{self.name}/dataloader_idx_{self.dataloader_idx}"

    def shown_name(self, on_step: bool) -> str:
        """The name with `_step` or `_epoch` where both are kept."""
        if not (self.on_step and self.on_epoch):
            return self.full_name
        suffix = "_step" if on_step else "_epoch"
        if self.dataloader_idx is None:
            return self.name + suffix
        return f"{self.name}{suffix}/dataloader_idx_{self.dataloader_idx}"


class LoggedValue:
    """One logged name: its last value, and what its epoch value is made of."""

    __slots__ = ("options", "value", "total", "weight", "values", "metric", "synced")

    def __init__(self, options: LogOptions) -> None:
        self.options = options
        self.metric: Any = None  # one that gathers by itself
        self.reset()

    def reset(self) -> None:
        """Forget everything gathered so far."""
        self.value: Any = None
        self.total: Any = None
        self.weight = 0
        self.values: list[Any] = []
        self.synced: Any = None  # the epoch's value over all processes, once it was asked for

    def update(self, value: Any, weight: int) -> None:
        """Take one value; `weight` counts for the mean."""
        options = self.options
        self.value = value
        if options.sync is not None:
            self.synced = None
            if options.on_step:
                name = options.reduce_fx if isinstance(options.reduce_fx, str) else "mean"
                self.value = options.reduced(value, name)
        if not self.options.on_epoch:
            return
        reduction = self.options.reduce_fx
        if callable(reduction):
            self.values.append(value)
        elif self.total is None:
            self.total = value * weight if reduction == "mean" else value
            self.weight = weight
        elif reduction == "mean":
            self.total = self.total + value * weight
            self.weight += weight
        elif reduction == "sum":
            self.total = self.total + value
        elif reduction == "max":
            self.total = rl.maximum(self.total, value)
        else:
            self.total = rl.minimum(self.total, value)

    def synchronize(self) -> None:
        """Let `of_epoch` be the value over all processes, all of which call this."""
        options = self.options
        if self.metric is not None:
            metric_objects.computed(self.metric)  # which exchanges, and keeps what it found
        elif options.sync is None or not options.on_epoch:
            return
        elif options.reduce_fx == "mean" and self.total is not None:
            weight = options.reduced(rl.tensor(float(self.weight)), "sum")
            self.synced = options.reduced(self.total, "sum") / weight
        else:
            own = self.of_epoch()
            name = options.reduce_fx if isinstance(options.reduce_fx, str) else "mean"
            self.synced = None if own is None else options.reduced(own, name)

    def of_epoch(self) -> Any:
        """The value of the whole epoch; None if nothing was gathered."""
        if self.synced is not None:
            return self.synced
        if self.metric is not None:
            return metric_objects.computed(self.metric)
        if callable(self.options.reduce_fx):
            return self.options.reduce_fx(rl.stack(self.values)) if self.values else None
        if self.total is None:
            return None
        return self.total / self.weight if self.options.reduce_fx == "mean" else self.total

    def state_dict(self) -> dict[str, Any]:
        """What was gathered, in plain types and tensors."""
        return {
            "value": self.value,
            "total": self.total,
            "weight": self.weight,
            "values": list(self.values),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take over what `state_dict` returned."""
        for name in ("value", "total", "weight", "values"):
            setattr(self, name, state[name])


@dataclass
class Views:
    """Logged values by who sees them."""

    logger: dict[str, Any]
    callback: dict[str, Any]
    progress_bar: dict[str, Any]


class Results:
    """All values logged in one loop, until the loop's epoch ends."""

    def __init__(self, training: bool) -> None:
        self.training = training
        self.batch: Any = None
        self.dataloader_idx: int | None = None
        self.entries: dict[tuple[str, str, int | None], LoggedValue] = {}
        self._restored: dict[tuple[str, str, int | None], tuple[dict, dict]] = {}

    def __bool__(self) -> bool:
        return bool(self.entries)

    def reset_metrics(self) -> None:
        """Let the metrics that gather by themselves begin anew."""
        for entry in self.entries.values():
            if entry.metric is not None:
                entry.metric.reset()

    def reset(self) -> None:
        """Forget all values."""
        self.reset_metrics()
        self.entries.clear()
        self._restored.clear()
        self.batch = None

    def add_metric(self, options: LogOptions, metric: Any) -> None:
        """Take one name's metric, which gathers by itself."""
        entry = self._entry(options)
        entry.metric, entry.value = metric, metric_objects.of_step(metric)

    def add(self, options: LogOptions, value: rl.Tensor, batch_size: int | None) -> None:
        """Take one value of one name."""
        entry = self._entry(options)
        weight = 1
        if options.on_epoch and options.reduce_fx == "mean":
            weight = self._weight(options.name) if batch_size is None else batch_size
        entry.update(value, weight)
        if options.sync is not None and options.hook in EPOCH_ONLY:
            entry.synchronize()

    def synchronize(self) -> None:
        """Before the hooks at an epoch's end: exchange what was logged with `sync_dist`. All
        processes log the same names in the same order."""
        for entry in self.entries.values():
            entry.synchronize()

    def _entry(self, options: LogOptions) -> LoggedValue:
        """What was gathered of a name so far. MisconfigurationException if it was logged otherwise
        before."""
        key = (options.hook, options.name, options.dataloader_idx)
        entry = self.entries.get(key)
        if entry is None:
            entry = self.entries[key] = LoggedValue(options)
            if key in self._restored:
                entry.load_state_dict(self._restored.pop(key)[1])
        elif entry.options.sync is not options.sync and entry.options.sync is None:
            entry.options = options  # it came from a checkpoint, which holds no function
        if entry.options != options:
            raise MisconfigurationException(
                f"log({options.name!r}) in {options.hook}: called with {options}, "
                f"but earlier in this run with {entry.options}; the arguments must not change"
            )
        return entry

    def _weight(self, name: str) -> int:
        """The batch size that weighs a value in the epoch's mean."""
        if self.batch is None:
            return 1
        size = batch_size_of(self.batch)
        if size is None:
            raise MisconfigurationException(
                f"log({name!r}): the batch ({type(self.batch).__name__}) holds no tensor to take "
                "the "
                "batch size from; give log(..., batch_size=...)"
            )
        return size

    def views(self, on_step: bool) -> Views:
        """The values of the last step, or those of the epoch."""
        views = Views({}, {}, {})
        for entry in self.entries.values():
            options = entry.options
            if not (options.on_step if on_step else options.on_epoch):
                continue
            if on_step and options.dataloader_idx not in (None, self.dataloader_idx):
                continue
            value = entry.value if on_step else entry.of_epoch()
            if value is None:
                continue
            shown = options.shown_name(on_step)
            if options.logger:
                views.logger[shown] = value
            if self.training or not on_step:
                views.callback[options.full_name] = value
                views.callback[shown] = value
            if options.prog_bar:
                views.progress_bar[shown] = to_scalar(value)
        return views

    def per_dataloader(self, count: int) -> list[dict[str, Any]]:
        """Epoch values of an evaluation as plain numbers, one dictionary per loader."""
        found: list[dict[str, Any]] = [{} for _ in range(count)]
        for entry in self.entries.values():
            value = entry.of_epoch() if entry.options.on_epoch else None
            if value is None:
                continue
            number = entry.options.dataloader_idx
            targets = found if number is None else [found[number]]
            for target in targets:
                target[entry.options.shown_name(on_step=False)] = to_scalar(value)
        return found

    def state_dict(self) -> list[dict[str, Any]]:
        """What was gathered so far, in plain types and tensors."""
        waiting = [
            {"options": dict(options), **state} for options, state in self._restored.values()
        ]
        saved = []
        for entry in self.entries.values():
            options = entry.options._asdict()
            options["sync"] = options["sync_group"] = None
            if callable(options["reduce_fx"]) or entry.metric is not None:
                options["reduce_fx"] = None  # neither function nor metric is written down
            saved.append({"options": options, **entry.state_dict()})
        return saved + waiting

    def load_state_dict(self, saved: list[dict[str, Any]]) -> None:
        """Take over what `state_dict` returned.

        A value that is gathered by a function waits for the next `log` of its name, which brings
        the function.
        """
        self.reset()
        for item in saved:
            state = {name: item[name] for name in item if name != "options"}
            options = item["options"]
            key = (options["hook"], options["name"], options["dataloader_idx"])
            if options["reduce_fx"] is None:
                self._restored[key] = (options, state)
            else:
                entry = self.entries[key] = LoggedValue(LogOptions(**options))
                entry.load_state_dict(state)


def scalar_tensor(name: str, value: Any) -> rl.Tensor:
    """A logged value as a tensor of one element that needs no gradient."""
    if isinstance(value, rl.Tensor):
        if value.numel() != 1:
            shape = tuple(value.shape)
            raise ValueError(f"log({name!r}): expected one number, got a tensor of shape {shape}")
        value = value.detach()
        if value.dtype not in (rl.float32, rl.float64):
            value = value.to(rl.float32)  # sums over an epoch need more than half precision
        return value if value.ndim == 0 else value.reshape(())
    if isinstance(value, bool | int | float):
        return rl.tensor(float(value))
    kind = type(value).__name__
    raise TypeError(f"log({name!r}): expected a number or a tensor of one element, got {kind}")
