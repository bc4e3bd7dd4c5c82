"""Gradient clipping: what may be asked for."""

from __future__ import annotations

from typing import Any

from lightning_lite.errors import MisconfigurationException

ALGORITHMS = ("norm", "value")


def check_clipping(value: Any, algorithm: Any) -> None:
    """Complain of a clipping that cannot be done."""
    if value is not None and not isinstance(value, int | float):
        raise TypeError(f"gradient_clip_val {value!r}: expected a number or None")
    if algorithm is not None and str(algorithm).lower() not in ALGORITHMS:
        raise MisconfigurationException(
            f"gradient_clip_algorithm {algorithm!r}: expected 'norm' or 'value'"
        )
