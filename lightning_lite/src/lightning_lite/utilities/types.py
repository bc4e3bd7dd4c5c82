"""Names for the types of arguments and results, for annotations."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol, TypedDict, runtime_checkable

import rushlight as rl
from lightning_lite.optimizers import LRSchedulerConfig
from rushlight.utils.data import DataLoader

__all__ = ["LRSchedulerConfig"]

STEP_OUTPUT = rl.Tensor | Mapping[str, Any] | None
TRAIN_DATALOADERS = Any
EVAL_DATALOADERS = DataLoader | Sequence[DataLoader]
_PATH = str | os.PathLike
_METRIC = rl.Tensor | int | float
_EVALUATE_OUTPUT = list[Mapping[str, float]]
_PREDICT_OUTPUT = list[Any] | list[list[Any]]
CollectibleGroup = Any
LRSchedulerTypeUnion = Any


@runtime_checkable
class _Stateful(Protocol):
    """What writes its state down and takes it over."""

    def state_dict(self) -> dict[str, Any]:
        """The state in plain types."""

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over a state."""


@runtime_checkable
class DistributedDataParallel(Protocol):
    """What behaves like `rushlight.nn.parallel.DistributedDataParallel`, for annotations."""

    def __init__(self, module: Any, *args: Any, **kwargs: Any) -> None: ...

    def no_sync(self) -> AbstractContextManager[Any]:
        """A block whose gradients are not exchanged."""
        ...


@runtime_checkable
class Steppable(Protocol):
    """What steps, as optimizers do."""

    def step(self, closure: Any = None) -> Any:
        """Step."""


@runtime_checkable
class Optimizable(Steppable, Protocol):
    """What behaves like an optimizer."""

    param_groups: list[dict[Any, Any]]
    defaults: dict[Any, Any]
    state: Any

    def state_dict(self) -> dict[str, Any]:
        """The state in plain types."""

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over a state."""


class LRSchedulerConfigType(TypedDict, total=False):
    """A scheduler in the dictionary that `configure_optimizers` returns."""

    scheduler: Any
    name: str | None
    interval: str
    frequency: int
    reduce_on_plateau: bool
    monitor: str | None
    strict: bool


class OptimizerConfig(TypedDict):
    """What `configure_optimizers` may return: an optimizer."""

    optimizer: Any


class OptimizerLRSchedulerConfig(TypedDict):
    """What `configure_optimizers` may return: an optimizer and its scheduler."""

    optimizer: Any
    lr_scheduler: Any
