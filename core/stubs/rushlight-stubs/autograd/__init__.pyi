# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from rushlight._words import _bool
from rushlight._words import _float
from rushlight.tensor.tensor import Tensor
from typing import Any

from rushlight.autograd.function import Function as Function
def backward(tensors: Sequence[Tensor], grad_tensors: Any = ..., retain_graph: Any = ..., create_graph: _bool = ..., grad_variables: Any = ..., inputs: Any = ...) -> Any: ...
from rushlight.autograd.anomaly import detect_anomaly as detect_anomaly
from rushlight.autograd.mode import enable_grad as enable_grad
def grad(outputs: Any, inputs: Any, grad_outputs: Any = ..., retain_graph: Any = ..., create_graph: _bool = ..., only_inputs: _bool = ..., allow_unused: Any = ..., is_grads_batched: _bool = ..., materialize_grads: _bool = ...) -> Any: ...
def gradcheck(func: Any, inputs: Any, *, eps: _float = ..., atol: _float = ..., rtol: _float = ..., raise_exception: _bool = ..., nondet_tol: _float = ..., check_undefined_grad: _bool = ..., check_grad_dtypes: _bool = ..., check_batched_grad: _bool = ..., check_batched_forward_grad: _bool = ..., check_forward_ad: _bool = ..., check_backward_ad: _bool = ..., fast_mode: _bool = ..., masked: Any = ...) -> Any: ...
def gradgradcheck(func: Any, inputs: Any, grad_outputs: Any = ..., *, eps: _float = ..., atol: _float = ..., rtol: _float = ..., gen_non_contig_grad_outputs: _bool = ..., raise_exception: _bool = ..., nondet_tol: _float = ..., check_undefined_grad: _bool = ..., check_grad_dtypes: _bool = ..., check_batched_grad: _bool = ..., check_fwd_over_rev: _bool = ..., check_rev_over_rev: _bool = ..., fast_mode: _bool = ..., masked: _bool = ...) -> Any: ...
from rushlight.autograd.mode import inference_mode as inference_mode
def is_anomaly_enabled() -> _bool: ...
from rushlight.autograd.mode import no_grad as no_grad
from rushlight.autograd.anomaly import set_detect_anomaly as set_detect_anomaly
from rushlight.autograd.mode import set_grad_enabled as set_grad_enabled
