# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from rushlight._words import _bool
from rushlight._words import _float
from rushlight._words import _int
from rushlight.nn.module import Module
from rushlight.tensor.tensor import Tensor

class CosineSimilarity(Module):
    def __init__(self, dim: _int = ..., eps: _float = ...) -> None: ...
    def forward(self, x1: Tensor, x2: Tensor) -> Tensor: ...
    def __call__(self, x1: Tensor, x2: Tensor) -> Tensor: ...
    dim: _int
    eps: _float
class PairwiseDistance(Module):
    def __init__(self, p: _float = ..., eps: _float = ..., keepdim: _bool = ...) -> None: ...
    def forward(self, x1: Tensor, x2: Tensor) -> Tensor: ...
    def __call__(self, x1: Tensor, x2: Tensor) -> Tensor: ...
    norm: _float
    eps: _float
    keepdim: _bool
