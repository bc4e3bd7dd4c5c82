# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from rushlight._words import DeviceLike
from rushlight._words import _bool
from rushlight._words import _dtype
from rushlight._words import _float
from rushlight._words import _int
from rushlight.nn.linear import Linear
from rushlight.nn.module import Module
from rushlight.tensor.tensor import Parameter
from rushlight.tensor.tensor import Tensor
from typing import Any

class MultiheadAttention(Module):
    def __init__(self, embed_dim: _int, num_heads: _int, dropout: _float = ..., bias: _bool = ..., add_bias_kv: _bool = ..., add_zero_attn: _bool = ..., kdim: _int | None = ..., vdim: _int | None = ..., batch_first: _bool = ..., device: DeviceLike | None = ..., dtype: _dtype | None = ...) -> None: ...
    def merge_masks(self, attn_mask: Any, key_padding_mask: Any, query: Any) -> Any: ...
    def forward(self, query: Tensor, key: Tensor, value: Tensor, key_padding_mask: Tensor | None = ..., need_weights: _bool = ..., attn_mask: Tensor | None = ..., average_attn_weights: _bool = ..., is_causal: _bool = ...) -> Any: ...
    def __call__(self, query: Tensor, key: Tensor, value: Tensor, key_padding_mask: Tensor | None = ..., need_weights: _bool = ..., attn_mask: Tensor | None = ..., average_attn_weights: _bool = ..., is_causal: _bool = ...) -> Any: ...
    embed_dim: _int
    num_heads: _int
    kdim: Any
    vdim: Any
    dropout: _float
    batch_first: _bool
    head_dim: Any
    out_proj: Any
    add_zero_attn: _bool
    in_proj_weight: Parameter
    q_proj_weight: Parameter
    k_proj_weight: Parameter
    v_proj_weight: Parameter
    in_proj_bias: Parameter
    bias_k: Any
    bias_v: Any
class NonDynamicallyQuantizableLinear(Linear):
    ...
