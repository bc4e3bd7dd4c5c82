# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from rushlight._words import DeviceLike
from rushlight._words import _bool
from rushlight._words import _dtype
from rushlight._words import _float
from rushlight._words import _int
from rushlight.nn.module import Module
from rushlight.tensor.tensor import Tensor
from typing import Any

class AdaptiveLogSoftmaxWithLoss(Module):
    def __init__(self, in_features: _int, n_classes: _int, cutoffs: Sequence[_int], div_value: _float = ..., head_bias: _bool = ..., device: DeviceLike | None = ..., dtype: _dtype | None = ...) -> None: ...
    def reset_parameters(self) -> None: ...
    def forward(self, input: Tensor, target: Tensor) -> Any: ...
    def log_prob(self, input: Any) -> Any: ...
    def predict(self, input: Any) -> Any: ...
    def __call__(self, input: Tensor, target: Tensor) -> Any: ...
    in_features: _int
    n_classes: _int
    cutoffs: list[Any]
    div_value: _float
    head_bias: _bool
    shortlist_size: Any
    n_clusters: Any
    head_size: Any
    head: Any
    tail: Any
