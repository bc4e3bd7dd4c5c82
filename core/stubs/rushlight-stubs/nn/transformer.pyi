# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from collections.abc import Callable
from rushlight._words import DeviceLike
from rushlight._words import _bool
from rushlight._words import _dtype
from rushlight._words import _float
from rushlight._words import _int
from rushlight._words import _str
from rushlight.nn.module import Module
from rushlight.tensor.tensor import Tensor
from typing import Any

class _Layer(Module):
    linear1: Any
    dropout: Any
    linear2: Any
    norm_first: Any
    activation: Any
class Transformer(Module):
    def __init__(self, d_model: _int = ..., nhead: _int = ..., num_encoder_layers: _int = ..., num_decoder_layers: _int = ..., dim_feedforward: _int = ..., dropout: _float = ..., activation: _str | Callable[[Tensor], Tensor] = ..., custom_encoder: Module | None = ..., custom_decoder: Module | None = ..., layer_norm_eps: _float = ..., batch_first: _bool = ..., norm_first: _bool = ..., bias: _bool = ..., device: DeviceLike | None = ..., dtype: _dtype | None = ...) -> None: ...
    def forward(self, src: Tensor, tgt: Tensor, src_mask: Tensor | None = ..., tgt_mask: Tensor | None = ..., memory_mask: Tensor | None = ..., src_key_padding_mask: Tensor | None = ..., tgt_key_padding_mask: Tensor | None = ..., memory_key_padding_mask: Any = ..., src_is_causal: Any = ..., tgt_is_causal: Any = ..., memory_is_causal: _bool = ...) -> Tensor: ...
    @staticmethod
    def generate_square_subsequent_mask(sz: Any, device: DeviceLike | None = ..., dtype: _dtype | None = ...) -> Any: ...
    def __call__(self, src: Tensor, tgt: Tensor, src_mask: Tensor | None = ..., tgt_mask: Tensor | None = ..., memory_mask: Tensor | None = ..., src_key_padding_mask: Tensor | None = ..., tgt_key_padding_mask: Tensor | None = ..., memory_key_padding_mask: Any = ..., src_is_causal: Any = ..., tgt_is_causal: Any = ..., memory_is_causal: _bool = ...) -> Tensor: ...
    d_model: _int
    nhead: _int
    batch_first: _bool
    encoder: Any
    decoder: Any
class TransformerDecoder(Module):
    def __init__(self, decoder_layer: Module, num_layers: _int, norm: Module | None = ...) -> None: ...
    def forward(self, tgt: Tensor, memory: Tensor, tgt_mask: Tensor | None = ..., memory_mask: Tensor | None = ..., tgt_key_padding_mask: Tensor | None = ..., memory_key_padding_mask: Any = ..., tgt_is_causal: Any = ..., memory_is_causal: _bool = ...) -> Tensor: ...
    def __call__(self, tgt: Tensor, memory: Tensor, tgt_mask: Tensor | None = ..., memory_mask: Tensor | None = ..., tgt_key_padding_mask: Tensor | None = ..., memory_key_padding_mask: Any = ..., tgt_is_causal: Any = ..., memory_is_causal: _bool = ...) -> Tensor: ...
    layers: Any
    num_layers: _int
    norm: Module | None
class TransformerDecoderLayer(_Layer):
    def __init__(self, d_model: _int, nhead: _int, dim_feedforward: _int = ..., dropout: _float = ..., activation: _str | Callable[[Tensor], Tensor] = ..., layer_norm_eps: _float = ..., batch_first: _bool = ..., norm_first: _bool = ..., bias: _bool = ..., device: DeviceLike | None = ..., dtype: _dtype | None = ...) -> None: ...
    def forward(self, tgt: Tensor, memory: Tensor, tgt_mask: Tensor | None = ..., memory_mask: Tensor | None = ..., tgt_key_padding_mask: Tensor | None = ..., memory_key_padding_mask: Any = ..., tgt_is_causal: _bool = ..., memory_is_causal: _bool = ...) -> Tensor: ...
    def __call__(self, tgt: Tensor, memory: Tensor, tgt_mask: Tensor | None = ..., memory_mask: Tensor | None = ..., tgt_key_padding_mask: Tensor | None = ..., memory_key_padding_mask: Any = ..., tgt_is_causal: _bool = ..., memory_is_causal: _bool = ...) -> Tensor: ...
class TransformerEncoder(Module):
    def __init__(self, encoder_layer: Module, num_layers: _int, norm: Module | None = ..., enable_nested_tensor: _bool = ..., mask_check: _bool = ...) -> None: ...
    def forward(self, src: Tensor, mask: Tensor | None = ..., src_key_padding_mask: Tensor | None = ..., is_causal: Any = ...) -> Tensor: ...
    def __call__(self, src: Tensor, mask: Tensor | None = ..., src_key_padding_mask: Tensor | None = ..., is_causal: Any = ...) -> Tensor: ...
    layers: Any
    num_layers: _int
    norm: Module | None
    enable_nested_tensor: _bool
    mask_check: _bool
    use_nested_tensor: Any
class TransformerEncoderLayer(_Layer):
    def __init__(self, d_model: _int, nhead: _int, dim_feedforward: _int = ..., dropout: _float = ..., activation: _str | Callable[[Tensor], Tensor] = ..., layer_norm_eps: _float = ..., batch_first: _bool = ..., norm_first: _bool = ..., bias: _bool = ..., device: DeviceLike | None = ..., dtype: _dtype | None = ...) -> None: ...
    def forward(self, src: Tensor, src_mask: Tensor | None = ..., src_key_padding_mask: Tensor | None = ..., is_causal: _bool = ...) -> Tensor: ...
    def __call__(self, src: Tensor, src_mask: Tensor | None = ..., src_key_padding_mask: Tensor | None = ..., is_causal: _bool = ...) -> Tensor: ...
