"""Precision of a run: which dtype weights, inputs and new tensors have."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import rushlight as rl
from lightning_lite.batches import map_tensors
from lightning_lite.errors import MisconfigurationException

TRUE = {
    "32-true": "float32",
    "32": "float32",
    "64-true": "float64",
    "64": "float64",
    "bf16-true": "bfloat16",
    "16-true": "float16",
}
MIXED = {
    "16-mixed": "float16",
    "16": "float16",
    "bf16-mixed": "bfloat16",
    "bf16": "bfloat16",
}


NOTHING = nullcontext()
_AROUND = ("forward", "outside", "context", "scaled", "unscale", "step")  # of a step


class Precision:
    """The dtype that weights and floating-point inputs have in a run, and the one that products
    run in: in mixed precision weights stay float32, and steps run under autocast; with float16 the
    loss is scaled, and steps whose gradients overflow are skipped."""

    def __init__(self, given: str | int | None, device_type: str = "cpu") -> None:
        name = "32-true" if given is None else str(given)
        if name not in TRUE and name not in MIXED:
            raise MisconfigurationException(
                f"precision {given!r}: expected one of {sorted({**TRUE, **MIXED})}"
            )
        mixed = name in MIXED
        self.name = (
            f"{name.removesuffix('-mixed')}-mixed"
            if mixed
            else (f"{name.removesuffix('-true')}-true")
        )
        self.dtype = rl.float32 if mixed else getattr(rl, TRUE[name])
        self.low = getattr(rl, MIXED[name]) if mixed else None
        self.converts = self.dtype is not rl.float32
        self.device_type = device_type
        self.scaler = rl.amp.GradScaler(device_type) if self.low is rl.float16 else None

    @property
    def is_single(self) -> bool:
        """Whether steps run in float32 with nothing around them, as no subclass changed."""
        kind = type(self)
        own = any(getattr(kind, name) is not getattr(Precision, name) for name in _AROUND)
        return self.low is None and not self.converts and not own

    @property
    def changes_batches(self) -> bool:
        """Whether batches get another dtype, or what a subclass makes of them."""
        return self.converts or type(self).convert_batch is not Precision.convert_batch

    def run_on(self, device_type: str, processes: int = 1) -> None:
        """Say where steps run, for precisions that were not told when they were made."""

    def forward(self) -> Any:
        """The block in which a module computes."""
        return NOTHING if self.low is None else rl.autocast(self.device_type, self.low)

    def outside(self) -> Any:
        """Inside of :meth:`forward`, a block in which nothing is cast: for gradients."""
        return NOTHING if self.low is None else rl.autocast(self.device_type, enabled=False)

    def scaled(self, loss: Any) -> Any:
        """The loss whose gradients are computed."""
        return loss if self.scaler is None else self.scaler.scale(loss)

    def unscale(self, optimizer: Any) -> None:
        """Give gradients their true size: before hooks look at them and they are clipped."""
        if self.scaler is not None:
            self.scaler.unscale_(optimizer)

    def step(self, optimizer: Any, closure: Any, kwargs: dict[str, Any]) -> Any:
        """Step; scaled gradients are made before, and one that is infinite skips the step."""
        if self.scaler is None:
            return optimizer.step(closure=closure, **kwargs)
        if isinstance(optimizer, rl.optim.LBFGS):
            raise MisconfigurationException(
                "precision '16-mixed' and LBFGS, which computes losses inside of its step; use "
                "'bf16-mixed'"
            )
        loss = closure()
        if loss is None:
            return None
        self.scaler.step(optimizer, **kwargs)
        self.scaler.update()
        return loss

    def state_dict(self) -> dict[str, Any]:
        """What a checkpoint keeps: the state of the scaler."""
        return {} if self.scaler is None else self.scaler.state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from what a checkpoint kept."""
        if self.scaler is not None and state:
            self.scaler.load_state_dict(state)

    def convert_module(self, module: Any) -> Any:
        """Give the module's floating-point parameters and buffers this dtype."""
        return module.to(self.dtype) if self.converts else module

    def convert_batch(self, batch: Any) -> Any:
        """Give a batch's floating-point tensors this dtype."""
        if not self.converts:
            return batch
        return map_tensors(batch, self._convert)

    def _convert(self, tensor: rl.Tensor) -> rl.Tensor:
        return tensor.to(self.dtype) if tensor.is_floating_point() else tensor

    def context(self) -> Any:
        """A block in which new floating-point tensors have this dtype."""
        return self._default_dtype() if self.converts else NOTHING

    @contextmanager
    def _default_dtype(self) -> Iterator[None]:
        previous = rl.get_default_dtype()
        rl.set_default_dtype(self.dtype)
        try:
            yield
        finally:
            rl.set_default_dtype(previous)
