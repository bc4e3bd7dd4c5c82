"""BitsandbytesPrecision: linear layers with weights of 4 or 8 bits."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import rushlight as rl
from lightning_lite.plugins.precision import Precision, Settings
from lightning_lite.quantized_layers import (
    LearningLinear8bit,
    Linear4bit,
    Linear8bit,
    QuantizedLinear,
)
from rushlight import nn

_LAYERS: dict[str, Callable[[nn.Linear], nn.Linear]] = {
    "nf4": partial(Linear4bit, kind="nf4"),
    "nf4-dq": partial(Linear4bit, kind="nf4", twice=True),
    "fp4": partial(Linear4bit, kind="fp4"),
    "fp4-dq": partial(Linear4bit, kind="fp4", twice=True),
    "int8": Linear8bit,
    "int8-training": LearningLinear8bit,
}
_MADE = (QuantizedLinear, LearningLinear8bit)


class BitsandbytesPrecision(Precision):
    """Linear layers get weights of 4 or 8 bits when a module is set up; inputs and new tensors have
    another dtype. The weights do not learn, but for "int8-training".

    Args:
        mode: "nf4" or "fp4", also with "-dq" (the blocks' largest values are quantized too),
            "int8", or "int8-training": weights stay whole and learn, products are made in int8.
        dtype: that layers compute in; by default float16, for 4 bits bfloat16 where a GPU has it.
        ignore_modules: layers whose names begin so stay as they are.

    The package bitsandbytes is not needed; outputs are those of its layers, on GPUs where it does
    not quantize inputs on a CPU. Gradients of weights that learn quantize both sides by columns;
    those of bitsandbytes 0.50 take rows for columns, and are farther from exact ones. Checkpoints
    hold the quantized weights, of "int8-training" whole ones, and whole ones may be loaded. Raises
    ValueError for another mode, and for "int8" and "int8-training" with another dtype than float16;
    TypeError for a module without linear layers.

    >>> plugin = BitsandbytesPrecision("nf4", dtype=rl.float32)
    >>> net = plugin.convert_module(nn.Sequential(nn.Linear(64, 2), nn.ReLU()))
    >>> type(net[0]).__name__
    'Linear4bit'
    """

    def __init__(
        self, mode: str, dtype: rl.dtype | None = None, ignore_modules: set[str] | None = None
    ) -> None:
        if mode not in _LAYERS:
            raise ValueError(
                f"BitsandbytesPrecision: mode={mode!r}; expected one of {sorted(_LAYERS)}"
            )
        if dtype is None:
            four = not mode.startswith("int8")
            dtype = rl.bfloat16 if four and _gpu_has_bfloat16() else rl.float16
        if mode.startswith("int8") and dtype is not rl.float16:
            raise ValueError(
                f"BitsandbytesPrecision: {mode!r} computes in float16; got dtype={dtype}"
            )
        Settings.__init__(self, "32-true")
        self.precision, self.dtype = mode, dtype
        self.ignore_modules = ignore_modules or set()

    def convert_module(self, module: Any) -> Any:
        """The module with quantized layers in place of its linear ones."""
        if not any(isinstance(each, nn.Linear) for each in module.modules()):
            raise TypeError(
                f"BitsandbytesPrecision: {type(module).__name__} has no Linear layers to quantize"
            )
        if not any(isinstance(each, _MADE) for each in module.modules()):
            for parent, name, layer in list(self._layers(module)):
                setattr(parent, name, _LAYERS[self.precision](layer))
        for each in module.modules():
            if isinstance(each, QuantizedLinear):
                each.dtype = self.dtype
        return module

    def _layers(self, module: Any, prefix: str = "") -> Iterator[tuple[Any, str, nn.Linear]]:
        """The linear layers that are quantized, with what holds them and their names there."""
        for name, child in module.named_children():
            full = f"{prefix}{name}"
            if not isinstance(child, nn.Linear):
                yield from self._layers(child, f"{full}.")
            elif not full.startswith(tuple(self.ignore_modules)):
                yield module, name, child


def _gpu_has_bfloat16() -> bool:
    return rl.cuda.is_available() and rl.cuda.is_bf16_supported()
