"""Gradient clipping: by norm or by value."""

from __future__ import annotations

from typing import Any

from lightning_lite.errors import MisconfigurationException
from rushlight.nn.utils import clip_grad_norm_, clip_grad_value_

ALGORITHMS = ("norm", "value")


def check_clipping(value: Any, algorithm: Any) -> None:
    """Complain of a clipping that cannot be done."""
    if value is not None and not isinstance(value, int | float):
        raise TypeError(f"gradient_clip_val {value!r}: expected a number or None")
    if algorithm is not None and str(algorithm).lower() not in ALGORITHMS:
        raise MisconfigurationException(
            f"gradient_clip_algorithm {algorithm!r}: expected 'norm' or 'value'"
        )


def clip(optimizer: Any, value: float | None, algorithm: str | None) -> None:
    """Clip the gradients of an optimizer's parameters in place, if the value is positive."""
    if value is None or value <= 0:
        return
    parameters = [each for group in optimizer.param_groups for each in group["params"]]
    if (algorithm or "norm").lower() == "value":
        clip_grad_value_(parameters, value)
    else:
        clip_grad_norm_(parameters, value)
