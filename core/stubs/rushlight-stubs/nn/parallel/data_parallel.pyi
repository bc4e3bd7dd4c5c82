# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from rushlight._words import _device
from rushlight._words import _int
from rushlight.devices import device
from rushlight.nn.module import Module
from rushlight.tensor.tensor import Tensor
from typing import Any

class DataParallel(Module):
    def __init__(self, module: Module, device_ids: Sequence[_int | _device] | None = ..., output_device: _int | _device | None = ..., dim: _int = ...) -> None: ...
    def forward(self, *inputs: Any, **kwargs: Any) -> Tensor: ...
    def __call__(self, *inputs: Any, **kwargs: Any) -> Tensor: ...
    dim: _int
    module: Module
    device_ids: Any
    output_device: _int | _device | None
def data_parallel(module: Module, inputs: Any, device_ids: Any = ..., output_device: Any = ..., dim: _int = ..., module_kwargs: Any = ...) -> Any: ...
