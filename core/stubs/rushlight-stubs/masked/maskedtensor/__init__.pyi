# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from rushlight._words import _bool
from rushlight.tensor.tensor import Tensor

from rushlight.masked.maskedtensor.core import MaskedTensor as MaskedTensor
def as_masked_tensor(data: Tensor, mask: Tensor) -> MaskedTensor: ...
def is_masked_tensor(obj: object, /) -> _bool: ...
def masked_tensor(data: Tensor, mask: Tensor, requires_grad: _bool = ...) -> MaskedTensor: ...
