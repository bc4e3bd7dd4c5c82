"""Precision as a plug-in: `Trainer(plugins=[MixedPrecision("bf16-mixed", "cpu")])`."""

from __future__ import annotations

from typing import Any

import rushlight as rl
from lightning_lite.errors import MisconfigurationException
from lightning_lite.lazy import attach
from lightning_lite.precision import MIXED
from lightning_lite.precision import Precision as Settings
from lightning_lite.utilities.apply_func import apply_to_collection
from rushlight import nn

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


class LightningDoublePrecisionModule(nn.Module):
    """A LightningModule whose steps and `forward` are given floating-point inputs in float64, and
    make new tensors in it; its other attributes are the module's."""

    def __init__(self, pl_module: Any) -> None:
        super().__init__()
        self.module = pl_module.double()

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(super().__getattr__("module"), name)

    def _in_double(self, step: Any, args: Any, kwargs: Any) -> Any:
        args, kwargs = (apply_to_collection(each, rl.Tensor, _doubled) for each in (args, kwargs))
        before = rl.get_default_dtype()
        rl.set_default_dtype(rl.float64)
        try:
            return step(*args, **kwargs)
        finally:
            rl.set_default_dtype(before)

    def training_step(self, *args: Any, **kwargs: Any) -> Any:
        """The module's, in float64."""
        return self._in_double(self.module.training_step, args, kwargs)

    def validation_step(self, *args: Any, **kwargs: Any) -> Any:
        """The module's, in float64."""
        return self._in_double(self.module.validation_step, args, kwargs)

    def test_step(self, *args: Any, **kwargs: Any) -> Any:
        """The module's, in float64."""
        return self._in_double(self.module.test_step, args, kwargs)

    def predict_step(self, *args: Any, **kwargs: Any) -> Any:
        """The module's, in float64."""
        return self._in_double(self.module.predict_step, args, kwargs)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """The module's, in float64."""
        return self._in_double(self.module, args, kwargs)


def _doubled(tensor: Any) -> Any:
    return tensor.double() if tensor.is_floating_point() else tensor


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
