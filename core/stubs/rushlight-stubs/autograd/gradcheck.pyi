# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence
from rushlight._words import _bool
from rushlight._words import _float
from rushlight.tensor.tensor import Tensor
from typing import Any

class GradcheckError(RuntimeError):
    ...
def gradcheck(func: Callable[..., Any], inputs: Tensor | Sequence[Any], *, eps: _float = ..., atol: _float = ..., rtol: _float = ..., raise_exception: _bool = ..., nondet_tol: _float = ..., check_undefined_grad: _bool = ..., check_grad_dtypes: _bool = ..., check_batched_grad: _bool = ..., check_batched_forward_grad: _bool = ..., check_forward_ad: _bool = ..., check_backward_ad: _bool = ..., fast_mode: _bool = ..., masked: _bool | None = ...) -> _bool: ...
def gradgradcheck(func: Callable[..., Any], inputs: Tensor | Sequence[Any], grad_outputs: Tensor | Sequence[Tensor] | None = ..., *, eps: _float = ..., atol: _float = ..., rtol: _float = ..., gen_non_contig_grad_outputs: _bool = ..., raise_exception: _bool = ..., nondet_tol: _float = ..., check_undefined_grad: _bool = ..., check_grad_dtypes: _bool = ..., check_batched_grad: _bool = ..., check_fwd_over_rev: _bool = ..., check_rev_over_rev: _bool = ..., fast_mode: _bool = ..., masked: _bool = ...) -> _bool: ...
