"""Precision as a plug-in: `Trainer(plugins=[MixedPrecision("bf16-mixed", "cpu")])`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import rushlight as rl
from lightning_lite.errors import MisconfigurationException
from lightning_lite.lazy import attach
from lightning_lite.precision import MIXED, cast, default_dtype
from lightning_lite.precision import Precision as Settings
from lightning_lite.utilities.rank_zero import rank_zero_warn
from rushlight import nn
from rushlight.distributed.fsdp import MixedPrecision as Dtypes
from rushlight.distributed.fsdp.sharded_grad_scaler import ShardedGradScaler

if TYPE_CHECKING:
    from rushlight.amp import GradScaler

__getattr__ = attach(__name__, {"BitsandbytesPrecision": "plugins.bitsandbytes"})


class Precision(Settings):
    """Single precision: weights and steps in float32.

    >>> Precision().precision
    '32-true'
    """

    def __init__(self) -> None:
        super().__init__("32-true")


class DoublePrecision(Precision):
    """Weights, floating-point inputs and new tensors in float64.

    >>> DoublePrecision().precision
    '64-true'
    """

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
        args, kwargs = cast((args, kwargs), rl.float64)
        with default_dtype(rl.float64):
            return step(*args, **kwargs)

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


class HalfPrecision(Precision):
    """Weights, floating-point inputs and new tensors in bfloat16 ("bf16-true") or float16
    ("16-true").

    Args:
        precision: "16-true" or "bf16-true".

    >>> HalfPrecision("bf16-true").dtype
    rushlight.bfloat16
    """

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

    Args:
        precision: "16-mixed" or "bf16-mixed".

    >>> MixedPrecision("bf16-mixed", "cpu").low
    rushlight.bfloat16
    """

    def __init__(self, precision: str, device: str, scaler: GradScaler | None = None) -> None:
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

    def autocast_context_manager(self) -> rl.autocast:
        """The block under autocast."""
        return rl.autocast(self.device_type, self.low)


# Dtypes in which layers compute and gradients are reduced.
_SHARDED = {
    "32-true": "float32", "16-true": "float16", "bf16-true": "bfloat16", "16-mixed": "float16",
    "bf16-mixed": "bfloat16",
}  # fmt: skip


class FSDPPrecision(Precision):
    """Precision of models that `FSDPStrategy` divides: in mixed precision the processes keep their
    parts of parameters in float32, and gather them, compute and reduce gradients in the other
    dtype.

    Args:
        precision: "32-true", "16-true", "bf16-true", "16-mixed" or "bf16-mixed".
        scaler: for "16-mixed": a `ShardedGradScaler` of one's own.

    Raises ValueError for another precision, and for a scaler of one that scales no losses. Buffers
    keep the dtype of the model. `Trainer(strategy="fsdp", precision=...)` makes one.

    >>> FSDPPrecision("bf16-mixed").mixed_precision_config.reduce_dtype
    rushlight.bfloat16
    """

    def __init__(self, precision: str, scaler: GradScaler | None = None) -> None:
        if precision not in _SHARDED:
            raise ValueError(
                f"FSDPPrecision: precision={precision!r}; expected one of {sorted(_SHARDED)}"
            )
        if scaler is not None and precision != "16-mixed":
            raise ValueError(f"FSDPPrecision: {precision!r} scales no losses; leave scaler out")
        Settings.__init__(self, precision)
        self._given, self.scaler = scaler, None
        if precision == "16-mixed":
            scaled = ShardedGradScaler(enabled=rl.cuda.is_available())
            self.scaler = scaled if scaler is None else scaler

    def run_on(self, device_type: str, processes: int = 1) -> None:
        """Say where steps run, on "cpu" or "cuda", and in how many processes."""
        self.device_type = device_type
        if self.scaler is not None and self._given is None:
            kind = ShardedGradScaler if processes > 1 else rl.amp.GradScaler
            self.scaler = kind(device_type)

    def convert_input(self, data: Any) -> Any:
        """A batch whose floating-point tensors have the dtype of the weights.

        >>> FSDPPrecision("bf16-true").convert_input({"x": rl.ones(2), "y": rl.tensor(3)})
        {'x': tensor([1., 1.], dtype=rushlight.bfloat16), 'y': tensor(3)}
        """
        return cast(data, self.dtype)

    def convert_output(self, data: Any) -> Any:
        """Results whose floating-point tensors have the default dtype."""
        return cast(data, rl.get_default_dtype())

    @property
    def mixed_precision_config(self) -> Dtypes:
        """The dtypes of `rushlight.distributed.fsdp`. Warns of a precision without "mixed"."""
        if self.precision in ("16-true", "bf16-true"):
            rank_zero_warn(
                f"FSDPPrecision({self.precision!r}): layers compute in {self.dtype}; the parts of "
                "parameters keep the dtype of the model"
            )
        dtype = getattr(rl, _SHARDED[self.precision])
        return Dtypes(param_dtype=dtype, reduce_dtype=dtype, buffer_dtype=dtype)
