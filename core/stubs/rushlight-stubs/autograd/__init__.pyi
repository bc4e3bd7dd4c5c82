# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence
from rushlight._words import _bool
from rushlight._words import _float
from rushlight.tensor.tensor import Tensor
from typing import Any

from rushlight.autograd.function import Function as Function
def backward(tensors: Tensor | Sequence[Tensor], grad_tensors: Tensor | Sequence[Tensor | None] | None = ..., retain_graph: _bool | None = ..., create_graph: _bool = ..., grad_variables: Tensor | Sequence[Tensor | None] | None = ..., inputs: Tensor | Sequence[Tensor] | None = ...) -> None: ...
from rushlight.autograd.anomaly import detect_anomaly as detect_anomaly
from rushlight.autograd.mode import enable_grad as enable_grad
from rushlight.autograd import forward_ad as forward_ad
from rushlight.autograd import function as function
from rushlight.autograd import functional as functional
def grad(outputs: Tensor | Sequence[Tensor], inputs: Tensor | Sequence[Tensor], grad_outputs: Tensor | Sequence[Tensor | None] | None = ..., retain_graph: _bool | None = ..., create_graph: _bool = ..., only_inputs: _bool = ..., allow_unused: _bool | None = ..., is_grads_batched: _bool = ..., materialize_grads: _bool = ...) -> tuple[Tensor, ...]: ...
from rushlight.autograd import grad_mode as grad_mode
def gradcheck(func: Callable[..., Any], inputs: Tensor | Sequence[Any], *, eps: _float = ..., atol: _float = ..., rtol: _float = ..., raise_exception: _bool = ..., nondet_tol: _float = ..., check_undefined_grad: _bool = ..., check_grad_dtypes: _bool = ..., check_batched_grad: _bool = ..., check_batched_forward_grad: _bool = ..., check_forward_ad: _bool = ..., check_backward_ad: _bool = ..., fast_mode: _bool = ..., masked: _bool | None = ...) -> _bool: ...
def gradgradcheck(func: Callable[..., Any], inputs: Tensor | Sequence[Any], grad_outputs: Tensor | Sequence[Tensor] | None = ..., *, eps: _float = ..., atol: _float = ..., rtol: _float = ..., gen_non_contig_grad_outputs: _bool = ..., raise_exception: _bool = ..., nondet_tol: _float = ..., check_undefined_grad: _bool = ..., check_grad_dtypes: _bool = ..., check_batched_grad: _bool = ..., check_fwd_over_rev: _bool = ..., check_rev_over_rev: _bool = ..., fast_mode: _bool = ..., masked: _bool = ...) -> _bool: ...
from rushlight.autograd import graph as graph
from rushlight.autograd.mode import inference_mode as inference_mode
def is_anomaly_enabled() -> _bool: ...
from rushlight.autograd.mode import no_grad as no_grad
from rushlight.autograd.anomaly import set_detect_anomaly as set_detect_anomaly
from rushlight.autograd.mode import set_grad_enabled as set_grad_enabled
