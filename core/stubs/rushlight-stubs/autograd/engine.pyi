# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from rushlight._words import _bool
from rushlight.tensor.tensor import Tensor
from typing import Any

def backward(tensors: Tensor | Sequence[Tensor], grad_tensors: Tensor | Sequence[Tensor | None] | None = ..., retain_graph: _bool | None = ..., create_graph: _bool = ..., grad_variables: Tensor | Sequence[Tensor | None] | None = ..., inputs: Tensor | Sequence[Tensor] | None = ...) -> None: ...
def grad(outputs: Tensor | Sequence[Tensor], inputs: Tensor | Sequence[Tensor], grad_outputs: Tensor | Sequence[Tensor | None] | None = ..., retain_graph: _bool | None = ..., create_graph: _bool = ..., only_inputs: _bool = ..., allow_unused: _bool | None = ..., is_grads_batched: _bool = ..., materialize_grads: _bool = ...) -> tuple[Tensor, ...]: ...
def queue_callback(callback: Any) -> None: ...
