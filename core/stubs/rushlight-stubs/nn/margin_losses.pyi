# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence
from rushlight._words import DeviceLike
from rushlight._words import _bool
from rushlight._words import _dtype
from rushlight._words import _float
from rushlight._words import _int
from rushlight._words import _str
from rushlight.nn.losses import NLLLoss
from rushlight.nn.losses import _Loss
from rushlight.nn.losses import _WeightedLoss
from rushlight.nn.module import Module
from rushlight.tensor.tensor import Tensor
from typing import Any

class CTCLoss(_Loss):
    def __init__(self, blank: _int = ..., reduction: _str = ..., zero_infinity: _bool = ...) -> None: ...
    def forward(self, log_probs: Tensor, targets: Tensor, input_lengths: Tensor, target_lengths: Tensor) -> Tensor: ...
    def __call__(self, log_probs: Tensor, targets: Tensor, input_lengths: Tensor, target_lengths: Tensor) -> Tensor: ...
    blank: _int
    zero_infinity: _bool
class LinearCrossEntropyLoss(Module):
    def __init__(self, in_features: _int, num_classes: _int, *, out_features: Sequence[_int] = ..., bias: _bool = ..., device: DeviceLike | None = ..., dtype: _dtype | None = ..., reduction: _str = ..., weight: Tensor | None = ..., ignore_index: _int | None = ..., label_smoothing: _float = ..., options: object = ...) -> None: ...
    def forward(self, input: Tensor, target: Tensor) -> Tensor: ...
    def extra_repr(self) -> _str: ...
    def __call__(self, input: Tensor, target: Tensor) -> Tensor: ...
    in_features: _int
    num_classes: _int
    out_features: tuple[Any, ...]
    reduction: _str
    linear: Any
    ignore_index: _int | None
    label_smoothing: _float
    options: object
class LinearCrossEntropyOptions:
    allow_retain_graph: _bool
    batch_chunk_size: Any
    chunking_method: _str
    acc_policy: _str
    acc_dtype: Any
    def __init__(self, allow_retain_graph: _bool = ..., batch_chunk_size: _int | None = ..., chunking_method: _str | None = ..., acc_policy: _str = ..., acc_dtype: object = ...) -> None: ...
class MultiLabelMarginLoss(_Loss):
    def forward(self, input: Tensor, target: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor, target: Tensor) -> Tensor: ...
class MultiLabelSoftMarginLoss(_WeightedLoss):
    def forward(self, input: Tensor, target: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor, target: Tensor) -> Tensor: ...
class MultiMarginLoss(_WeightedLoss):
    def __init__(self, p: _float = ..., margin: _float = ..., weight: Tensor | None = ..., size_average: _bool | None = ..., reduce: _bool | None = ..., reduction: _str = ...) -> None: ...
    def forward(self, input: Tensor, target: Tensor) -> Tensor: ...
    def __call__(self, input: Tensor, target: Tensor) -> Tensor: ...
    p: _float
    margin: _float
class NLLLoss2d(NLLLoss):
    ...
class TripletMarginWithDistanceLoss(_Loss):
    def __init__(self, *, distance_function: Callable[[Tensor, Tensor], Tensor] | None = ..., margin: _float = ..., swap: _bool = ..., reduction: _str = ...) -> None: ...
    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor: ...
    def __call__(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor: ...
    distance_function: Any
    margin: _float
    swap: _bool
