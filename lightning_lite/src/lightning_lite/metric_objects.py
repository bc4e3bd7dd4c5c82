"""Metrics that gather by themselves, such as torchmetrics': logged as objects.

Anything is one that is a module with `update`, `compute` and `reset`. Its value of a step is what
its call gave (`_forward_cache`), its value of an epoch what `compute` gives; then it is reset.
"""

from __future__ import annotations

import warnings
from typing import Any

import rushlight as rl

METHODS = ("update", "compute", "reset")


def is_metric(value: Any) -> bool:
    """Whether a value is a metric that gathers by itself."""
    return isinstance(value, rl.nn.Module) and all(
        callable(getattr(value, name, None)) for name in METHODS
    )


def computed(metric: Any) -> Any:
    """The value over everything since the last reset; None if there was no update."""
    if getattr(metric, "update_called", True) is False:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of computing before an update
        return _single(metric.compute())


def of_step(metric: Any) -> Any:
    """The value of the last call; None if it was only updated."""
    return _single(getattr(metric, "_forward_cache", None))


def _single(value: Any) -> Any:
    """A value as a tensor of one element without a gradient; None stays."""
    if value is None:
        return None
    if not isinstance(value, rl.Tensor):
        return rl.tensor(float(value))
    if value.numel() != 1:
        raise ValueError(
            f"a logged metric gave a tensor of shape {tuple(value.shape)}: log its parts by "
            "themselves"
        )
    return value.detach().reshape(())


def path_of(module: Any, metric: Any) -> str | None:
    """The name of the attribute of a module that a metric is; None if it is none."""
    return next((name for name, each in module.named_modules() if each is metric), None)


def states(module: Any) -> dict[str, dict[str, Any]]:
    """What the metrics inside a module have gathered, by their names: for a checkpoint in the
    middle of an epoch."""
    found = {}
    for name, metric in module.named_modules():
        if is_metric(metric) and getattr(metric, "_defaults", None):
            kept = {each: getattr(metric, each) for each in metric._defaults}
            found[name] = {**kept, "_update_count": getattr(metric, "_update_count", 0)}
    return found


def restore(module: Any, saved: dict[str, dict[str, Any]]) -> None:
    """Give the metrics inside a module what they had gathered."""
    for name, metric in module.named_modules():
        for key, value in saved.get(name, {}).items():
            if isinstance(value, rl.Tensor):
                value = value.to(metric.device if hasattr(metric, "device") else value.device)
            setattr(metric, key, value)
        if name in saved:
            metric._computed = None
