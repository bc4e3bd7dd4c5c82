# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from rushlight._words import _bool
from rushlight.tensor.tensor import Tensor
from typing import Any

def backward(tensors: Sequence[Tensor], grad_tensors: Any = ..., retain_graph: Any = ..., create_graph: _bool = ..., grad_variables: Any = ..., inputs: Any = ...) -> Any: ...
def grad(outputs: Any, inputs: Any, grad_outputs: Any = ..., retain_graph: Any = ..., create_graph: _bool = ..., only_inputs: _bool = ..., allow_unused: Any = ..., is_grads_batched: _bool = ..., materialize_grads: _bool = ...) -> Any: ...
def queue_callback(callback: Any) -> None: ...
