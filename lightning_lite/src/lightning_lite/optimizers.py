"""Optimizers and schedulers of a run: every form that `configure_optimizers` may return."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import rushlight as rl
from lightning_lite.errors import MisconfigurationException
from lightning_lite.messages import warn

CONFIG_KEYS = {
    "scheduler",
    "name",
    "interval",
    "frequency",
    "reduce_on_plateau",
    "monitor",
    "strict",
}
FORMS = (
    "an optimizer; a list or tuple of optimizers; two lists, of optimizers and of schedulers; a "
    "dictionary with 'optimizer' and perhaps 'lr_scheduler' and 'monitor'; a list of such "
    "dictionaries; or None"
)


@dataclass
class LRSchedulerConfig:
    """A scheduler and when it steps."""

    scheduler: Any
    name: str | None = None
    interval: str = "epoch"
    frequency: int = 1
    reduce_on_plateau: bool = False
    monitor: str | None = None
    strict: bool = True


def is_optimizer(value: Any) -> bool:
    """Whether a value is an optimizer."""
    return isinstance(value, rl.optim.Optimizer)


def is_scheduler(value: Any) -> bool:
    """Whether a value behaves like a scheduler."""
    return all(hasattr(value, name) for name in ("step", "state_dict", "load_state_dict"))


def is_plateau(scheduler: Any) -> bool:
    """Whether a scheduler steps on a metric."""
    kind = getattr(rl.optim.lr_scheduler, "ReduceLROnPlateau", None)
    return kind is not None and isinstance(scheduler, kind)


def scheduler_config(given: Any, monitor: str | None, automatic: bool) -> LRSchedulerConfig:
    """A scheduler, or a dictionary that describes one, as a configuration."""
    if not isinstance(given, dict):
        if not is_scheduler(given):
            kind = type(given).__name__
            raise MisconfigurationException(
                f"configure_optimizers: {kind} given as a scheduler; expected one with step, "
                "state_dict and load_state_dict, or a dictionary with 'scheduler'"
            )
        config = LRSchedulerConfig(given, monitor=monitor)
    else:
        if "scheduler" not in given:
            raise MisconfigurationException(
                "configure_optimizers: a scheduler's dictionary has no 'scheduler', only "
                f"{set(given)}"
            )
        unknown = set(given) - CONFIG_KEYS
        if unknown:
            warn(
                f"configure_optimizers: {sorted(unknown)} in a scheduler's dictionary mean "
                "nothing; "
                f"known are {sorted(CONFIG_KEYS)}",
                RuntimeWarning,
            )
        known = {key: value for key, value in given.items() if key in CONFIG_KEYS}
        config = LRSchedulerConfig(**{"monitor": monitor, **known})
    config.reduce_on_plateau = config.reduce_on_plateau or is_plateau(config.scheduler)
    check_scheduler(config, automatic)
    return config


def check_scheduler(config: LRSchedulerConfig, automatic: bool) -> None:
    """Complain of a configuration that cannot work."""
    kind = type(config.scheduler).__name__
    if config.interval not in ("step", "epoch"):
        raise MisconfigurationException(
            f"configure_optimizers: interval {config.interval!r} of {kind}; expected 'step' or "
            "'epoch'"
        )
    if not automatic:
        return
    if config.frequency < 1:
        raise MisconfigurationException(
            f"configure_optimizers: frequency {config.frequency} of {kind}; expected 1 or more"
        )
    if config.reduce_on_plateau and config.monitor is None:
        raise MisconfigurationException(
            f"configure_optimizers: {kind} follows a metric; name it: "
            "{'optimizer': ..., 'lr_scheduler': ..., 'monitor': 'val_loss'}"
        )
    if kind in ("OneCycleLR", "CyclicLR") and config.interval == "epoch":
        warn(
            f"configure_optimizers: {kind} is stepped once per epoch; it is made to step per "
            "batch: "
            "{'scheduler': ..., 'interval': 'step'}"
        )


def _from_dictionary(given: dict[str, Any], automatic: bool) -> tuple[Any, list[LRSchedulerConfig]]:
    """Optimizer and schedulers of one dictionary."""
    unknown = set(given) - {"optimizer", "lr_scheduler", "monitor"}
    if unknown:
        warn(
            f"configure_optimizers: {sorted(unknown)} in the dictionary mean nothing",
            RuntimeWarning,
        )
    if "lr_scheduler" not in given:
        return given["optimizer"], []
    monitor = given.get("monitor")
    return given["optimizer"], [scheduler_config(given["lr_scheduler"], monitor, automatic)]


def parse(returned: Any, automatic: bool) -> tuple[list[Any], list[LRSchedulerConfig]]:
    """Optimizers and scheduler configurations from what `configure_optimizers` returned."""
    optimizers: list[Any] = []
    configs: list[LRSchedulerConfig] = []
    if is_optimizer(returned):
        optimizers = [returned]
    elif isinstance(returned, dict) and "optimizer" in returned:
        optimizer, configs = _from_dictionary(returned, automatic)
        optimizers = [optimizer]
    elif isinstance(returned, list | tuple):
        two = len(returned) == 2 and all(isinstance(part, list) for part in returned)
        if two:
            optimizers = list(returned[0])
            configs = [scheduler_config(each, None, automatic) for each in returned[1]]
        elif returned and all(isinstance(part, dict) for part in returned):
            for part in returned:
                if "optimizer" not in part:
                    raise _unknown_form(returned)
                optimizer, own = _from_dictionary(part, automatic)
                optimizers.append(optimizer)
                configs.extend(own)
        else:
            optimizers = list(returned)
    elif returned is not None:
        raise _unknown_form(returned)
    check_optimizers(returned, optimizers, configs, automatic)
    return optimizers, configs


def check_optimizers(
    returned: Any, optimizers: list[Any], configs: list[LRSchedulerConfig], automatic: bool
) -> None:
    """Complain of optimizers and schedulers that do not belong together."""
    if not all(is_optimizer(optimizer) for optimizer in optimizers):
        raise _unknown_form(returned)
    if automatic and len(optimizers) > 1:
        raise MisconfigurationException(
            f"configure_optimizers: {len(optimizers)} optimizers need manual optimization: set "
            "self.automatic_optimization = False and step each in training_step"
        )
    for config in configs:
        own = getattr(config.scheduler, "optimizer", None)
        if own is not None and not any(own is optimizer for optimizer in optimizers):
            kind = type(config.scheduler).__name__
            raise MisconfigurationException(
                f"configure_optimizers: {kind} belongs to an optimizer that was not returned"
            )


def _unknown_form(returned: Any) -> MisconfigurationException:
    return MisconfigurationException(
        f"configure_optimizers returned {returned!r}; expected {FORMS}"
    )


class NoOptimizer(rl.optim.Optimizer):
    """Stands for the optimizer of a module that returned None: losses and gradients are computed,
    nothing is learnt."""

    def __init__(self) -> None:
        super().__init__([rl.zeros(1)], {})

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """The closure's value."""
        return None if closure is None else closure()

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Nothing is zeroed."""

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Nothing is kept."""

    def state_dict(self) -> dict[str, Any]:
        """Nothing."""
        return {}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Nothing is read."""


def do_nothing_closure() -> None:
    """A closure for optimizers that want one."""


class LightningOptimizer:
    """What `self.optimizers()` gives: the optimizer, whose steps count as steps of the trainer.

    Everything else is the optimizer's own: attributes and methods are passed on to it, and it is an
    instance of the optimizer's class, so that schedulers take it.
    """

    def __init__(self, optimizer: Any, module: Any, on_step: Callable[[], None]) -> None:
        self._optimizer = optimizer
        self._module = module
        self._on_step = on_step

    @property
    def optimizer(self) -> Any:
        """The optimizer itself."""
        return self._optimizer

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return type(self._optimizer)

    def step(self, closure: Callable[[], Any] | None = None, **kwargs: Any) -> Any:
        """Run the hooks before a step, then step, and count it."""
        module = self._module
        precision = module.trainer.precision_settings
        if not module.automatic_optimization:
            closure = self._announced(closure or do_nothing_closure)
        result = precision.optimizer_step(self._optimizer, model=module, closure=closure, **kwargs)
        self._on_step()
        return result

    def _announced(self, closure: Callable[[], Any]) -> Callable[[], Any]:
        """The closure with the hook after it."""
        trainer = self._module.trainer

        def run() -> Any:
            with rl.enable_grad():
                result = closure()
            trainer.precision_settings.unscale_gradients(self._optimizer)
            trainer.hooks.call("on_before_optimizer_step", self._optimizer)
            return result

        return run

    @contextmanager
    def toggle_model(self, sync_grad: bool = True) -> Iterator[None]:
        """Only this optimizer's parameters need gradients inside the block."""
        self._module.toggle_optimizer(self)
        try:
            yield
        finally:
            self._module.untoggle_optimizer(self)

    def __getattr__(self, name: str) -> Any:
        if name == "_optimizer":  # of a copy that is not made yet
            raise AttributeError(name)
        return getattr(self._optimizer, name)

    def __repr__(self) -> str:
        return f"LightningOptimizer({self._optimizer!r})"
