"""The base class of loggers, and one that forgets."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from lightning_lite.utilities.rank_zero import rank_zero_only


class Logger:
    """Where logged numbers go. Subclasses define `name`, `version`, `log_metrics` at least.

    >>> class Printing(Logger):
    ...     name, version = "printing", 0
    ...
    ...     def log_metrics(self, metrics, step=None):
    ...         print(step, metrics)
    >>> Printing().log_metrics({"loss": 0.5}, step=1)
    1 {'loss': 0.5}
    """

    @property
    def name(self) -> str | None:
        """The name of the experiment."""
        raise NotImplementedError(f"{type(self).__name__} does not define name")

    @property
    def version(self) -> int | str | None:
        """The number or name of this run of the experiment."""
        raise NotImplementedError(f"{type(self).__name__} does not define version")

    @property
    def root_dir(self) -> str | None:
        """The folder of all runs of the experiment."""
        return None

    @property
    def log_dir(self) -> str | None:
        """The folder of this run."""
        return None

    @property
    def save_dir(self) -> str | None:
        """The folder of all experiments."""
        return self.root_dir

    @property
    def group_separator(self) -> str:
        """What stands between a prefix and a name."""
        return "/"

    def log_metrics(self, metrics: dict[str, float], step: int | None = None) -> None:
        """Take the numbers of one step."""
        raise NotImplementedError(f"{type(self).__name__} does not define log_metrics")

    def log_hyperparams(self, params: Any, *args: Any, **kwargs: Any) -> None:
        """Take the hyper-parameters."""
        raise NotImplementedError(f"{type(self).__name__} does not define log_hyperparams")

    def log_graph(self, model: Any, input_array: Any = None) -> None:
        """Take the structure of a model; loggers that draw none forget it."""

    def state_dict(self) -> dict[str, Any]:
        """How far the log has come, in plain types, for a checkpoint; empty if nothing is known."""
        return {}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go back to where a checkpoint was written: what was logged after it comes again."""

    def save(self) -> None:
        """Write what is held."""

    def finalize(self, status: str) -> None:
        """The run is over: "success", "failed" or "interrupted"."""
        self.save()

    def after_save_checkpoint(self, checkpoint_callback: Any) -> None:
        """A checkpoint was written."""


class DummyLogger(Logger):
    """Forgets everything; takes the loggers' place in `fast_dev_run`.

    >>> DummyLogger().log_metrics({"loss": 0.5}, step=1)
    """

    @property
    def name(self) -> str:
        """No name."""
        return ""

    @property
    def version(self) -> str:
        """No version."""
        return ""

    def log_metrics(self, metrics: dict[str, float], step: int | None = None) -> None:
        """Forget the numbers."""

    def log_hyperparams(self, params: Any, *args: Any, **kwargs: Any) -> None:
        """Forget the hyper-parameters."""


def merge_dicts(
    dicts: Sequence[Mapping[str, float]],
    agg_key_funcs: Mapping[str, Callable] | None = None,
    default_func: Callable[[Sequence[float]], float] | None = None,
) -> dict[str, float]:
    """One dictionary of several: each value is `agg_key_funcs[key]`, or `default_func` (the mean),
    of the key's values.

    >>> merge_dicts([{"a": 1.0, "b": 2.0}, {"a": 3.0}], {"b": max})
    {'a': 2.0, 'b': 2.0}
    """
    chosen = agg_key_funcs or {}
    default = default_func or (lambda values: sum(values) / len(values))
    names = sorted({name for each in dicts for name in each})
    values = {name: [each[name] for each in dicts if name in each] for name in names}
    return {name: chosen.get(name, default)(values[name]) for name in names}


class DummyExperiment:
    """Takes the place of a client's object in other processes than the first: any method may be
    called, and nothing happens."""

    def nothing(self, *args: Any, **kwargs: Any) -> None:
        """Do nothing."""

    def __getattr__(self, name: str) -> Callable:
        if name.startswith("__"):
            raise AttributeError(name)
        return self.nothing

    def __getitem__(self, index: int) -> DummyExperiment:
        return self


def rank_zero_experiment(function: Callable) -> Callable:
    """A logger's `experiment`: that of process 0, and a `DummyExperiment` in all others."""

    @functools.wraps(function)
    def experiment(self: Any) -> Any:
        return DummyExperiment() if rank_zero_only.rank else function(self)

    return experiment
