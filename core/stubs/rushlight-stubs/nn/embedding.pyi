# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from rushlight._words import DeviceLike
from rushlight._words import _bool
from rushlight._words import _dtype
from rushlight._words import _float
from rushlight._words import _int
from rushlight._words import _str
from rushlight.nn.module import Module
from rushlight.tensor.tensor import Parameter
from rushlight.tensor.tensor import Tensor
from typing import Any

class _Table(Module):
    def reset_parameters(self) -> None: ...
    @classmethod
    def from_pretrained(cls, embeddings: Any, freeze: _bool = ..., **options: Any) -> Any: ...
    weight: Parameter
class Embedding(_Table):
    def __init__(self, num_embeddings: _int, embedding_dim: _int, padding_idx: _int | None = ..., max_norm: _float | None = ..., norm_type: _float = ..., scale_grad_by_freq: _bool = ..., sparse: _bool = ..., _weight: Tensor | None = ..., _freeze: _bool = ..., device: DeviceLike | None = ..., dtype: _dtype | None = ...) -> None: ...
    def forward(self, input: Tensor) -> Tensor: ...
    def extra_repr(self) -> _str: ...
    def __call__(self, input: Tensor) -> Tensor: ...
    num_embeddings: _int
    embedding_dim: _int
    padding_idx: Any
    max_norm: _float | None
    norm_type: _float
    scale_grad_by_freq: _bool
    sparse: _bool
class EmbeddingBag(_Table):
    def __init__(self, num_embeddings: _int, embedding_dim: _int, max_norm: _float | None = ..., norm_type: _float = ..., scale_grad_by_freq: _bool = ..., mode: _str = ..., sparse: _bool = ..., _weight: Tensor | None = ..., include_last_offset: _bool = ..., padding_idx: _int | None = ..., device: DeviceLike | None = ..., dtype: _dtype | None = ..., _freeze: _bool = ...) -> None: ...
    def forward(self, input: Tensor, offsets: Tensor | None = ..., per_sample_weights: Tensor | None = ...) -> Tensor: ...
    def extra_repr(self) -> _str: ...
    def __call__(self, input: Tensor, offsets: Tensor | None = ..., per_sample_weights: Tensor | None = ...) -> Tensor: ...
    num_embeddings: _int
    embedding_dim: _int
    max_norm: _float | None
    norm_type: _float
    scale_grad_by_freq: _bool
    mode: _str
    sparse: _bool
    include_last_offset: _bool
    padding_idx: Any
