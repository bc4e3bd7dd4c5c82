"""Precision as a plug-in: `Trainer(plugins=[MixedPrecision("bf16-mixed", "cpu")])`."""

from __future__ import annotations

from typing import Any

from lightning_lite.errors import MisconfigurationException
from lightning_lite.lazy import attach
from lightning_lite.precision import MIXED
from lightning_lite.precision import Precision as Settings

__getattr__ = attach(__name__, {})


class Precision(Settings):
    """Single precision: weights and steps in float32."""

    def __init__(self) -> None:
        super().__init__("32-true")

    @property
    def precision(self) -> str:
        """The name, as the Trainer's argument has it."""
        return self.name


class DoublePrecision(Precision):
    """Weights, floating-point inputs and new tensors in float64."""

    def __init__(self) -> None:
        Settings.__init__(self, "64-true")


class HalfPrecision(Precision):
    """Weights, floating-point inputs and new tensors in bfloat16 ("bf16-true") or float16
    ("16-true")."""

    def __init__(self, precision: str = "16-true") -> None:
        if precision not in ("bf16-true", "16-true"):
            raise ValueError(
                f"HalfPrecision: precision={precision!r}; expected 'bf16-true' or '16-true'"
            )
        Settings.__init__(self, precision)


class MixedPrecision(Precision):
    """Products in bfloat16 ("bf16-mixed") or, with scaled losses, float16 ("16-mixed").

    `device`: the type of the device that steps run on; `scaler`: a `GradScaler` of one's own, for
    float16 only.
    """

    def __init__(self, precision: str, device: str, scaler: Any = None) -> None:
        if precision not in MIXED or not precision.endswith("-mixed"):
            raise ValueError(
                f"MixedPrecision: precision={precision!r}; expected '16-mixed' or 'bf16-mixed'"
            )
        Settings.__init__(self, precision, device)
        if scaler is not None and self.scaler is None:
            raise MisconfigurationException(
                f"MixedPrecision: {precision!r} scales no losses; leave scaler out"
            )
        self.scaler = scaler or self.scaler
