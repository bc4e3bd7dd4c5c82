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
MIXED = ("16-mixed", "bf16-mixed", "16", "bf16", "transformer-engine", "transformer-engine-float16")


class Precision:
    """The dtype that weights and floating-point inputs have in a run."""

    def __init__(self, given: str | int | None) -> None:
        name = "32-true" if given is None else str(given)
        if name in MIXED:
            raise NotImplementedError(
                f"precision {name!r}: mixed precision is not there yet; use 'bf16-true' for half "
                "the "
                "memory, or '32-true'"
            )
        if name not in TRUE:
            raise MisconfigurationException(f"precision {given!r}: expected one of {sorted(TRUE)}")
        bits = name.removesuffix("-true")
        self.name = f"{bits}-true"
        self.dtype = getattr(rl, TRUE[name])
        self.converts = self.dtype is not rl.float32

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
        return self._default_dtype() if self.converts else nullcontext()

    @contextmanager
    def _default_dtype(self) -> Iterator[None]:
        previous = rl.get_default_dtype()
        rl.set_default_dtype(self.dtype)
        try:
            yield
        finally:
            rl.set_default_dtype(previous)
