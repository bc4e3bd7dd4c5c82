"""The Transformer: encoder and decoder layers, their stacks, and both together.

(Vaswani et al., 2017; `norm_first`: Xiong et al., 2020.)
"""

from __future__ import annotations

import copy
import math
from typing import TYPE_CHECKING

from rushlight.autograd.mode import is_grad_enabled
from rushlight.dtypes import BOOL
from rushlight.nn import functional as F
from rushlight.nn import initialization as init
from rushlight.nn.containers import ModuleList
from rushlight.nn.dropout import Dropout
from rushlight.nn.linear import Linear
from rushlight.nn.module import Module
from rushlight.nn.multihead import MultiheadAttention
from rushlight.nn.normalization import LayerNorm
from rushlight.ops.creation.tensors import full
from rushlight.ops.neural.attention import _additive
from rushlight.tensor.dispatch import STATE, captured_part

if TYPE_CHECKING:
    from collections.abc import Callable

    from rushlight.tensor.tensor import Tensor


def _square_mask(size, device=None, dtype=None):
    return full((size, size), -math.inf, device=device, dtype=dtype).triu(1)


def _is_causal(mask, is_causal, size=None):
    """Whether a mask is the causal one: as said, or by looking at it."""
    if is_causal is not None:
        return is_causal
    if mask is None:
        return False
    if STATE.levels and captured_part(mask) is not None:
        return False  # a program that is captured adds the mask, whatever it holds
    expected = _square_mask(mask.shape[-2] if size is None else size, mask.device, mask.dtype)
    return mask.shape == expected.shape and bool((mask == expected).all())


def _activation(name):
    if name == "relu":
        return F.relu
    if name == "gelu":
        return F.gelu
    raise RuntimeError(f"activation should be relu/gelu, not {name}")


def _get_clones(module, N):  # noqa: N803 - PyTorch's name
    """`N` copies of a module in a list, each with weights of its own."""
    return ModuleList([copy.deepcopy(module) for _ in range(N)])


def _build(layer, d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps,
           batch_first, norm_first, bias, kind, attentions):  # fmt: skip
    """The parts of an encoder or decoder layer, registered in PyTorch's order."""
    options = {"dropout": dropout, "bias": bias, "batch_first": batch_first, **kind}
    for name in attentions:
        setattr(layer, name, MultiheadAttention(d_model, nhead, **options))
    layer.linear1 = Linear(d_model, dim_feedforward, bias=bias, **kind)
    layer.dropout = Dropout(dropout)
    layer.linear2 = Linear(dim_feedforward, d_model, bias=bias, **kind)
    layer.norm_first = norm_first
    count = len(attentions) + 1
    for i in range(count):
        norm = LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **kind)
        setattr(layer, f"norm{i + 1}", norm)
    for i in range(count):
        setattr(layer, f"dropout{i + 1}", Dropout(dropout))
    layer.activation = _activation(activation) if isinstance(activation, str) else activation


def _attended(attention, x, memory, attn_mask, padding, is_causal, dropout):
    """What one attention of a layer adds, without the weights of its positions."""
    options = {"attn_mask": attn_mask, "key_padding_mask": padding, "is_causal": is_causal}
    return dropout(attention(x, memory, memory, need_weights=False, **options)[0])


class TransformerEncoderLayer(Module):
    """Self-attention and a feed-forward network, each with residual, dropout and layer norm."""

    def __init__(
        self,
        d_model,
        nhead,
        dim_feedforward=2048,
        dropout=0.1,
        activation: str | Callable[[Tensor], Tensor] = F.relu,
        layer_norm_eps=1e-05,
        batch_first=False,
        norm_first=False,
        bias=True,
        device=None,
        dtype=None,
    ):
        super().__init__()
        kind = {"device": device, "dtype": dtype}
        _build(self, d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps,
               batch_first, norm_first, bias, kind, ("self_attn",))  # fmt: skip

    def forward(self, src, src_mask=None, src_key_padding_mask=None, is_causal=False):
        """(L, N, E), or (N, L, E) with `batch_first`, to the same."""
        padding = _additive(
            src_key_padding_mask, "src_key_padding_mask", src_mask, "src_mask", src.dtype
        )
        mask = _additive(src_mask, "src_mask", None, "", src.dtype, False)

        x = src
        if self.norm_first:
            x = x + self._sa_block(self.norm1(x), mask, padding, is_causal=is_causal)
            return x + self._ff_block(self.norm2(x))
        x = self.norm1(x + self._sa_block(x, mask, padding, is_causal=is_causal))
        return self.norm2(x + self._ff_block(x))

    def _sa_block(self, x, attn_mask, key_padding_mask, is_causal=False):
        return _attended(
            self.self_attn, x, x, attn_mask, key_padding_mask, is_causal, self.dropout1
        )

    def _ff_block(self, x):
        return self.dropout2(self.linear2(self.dropout(self.activation(self.linear1(x)))))


class TransformerDecoderLayer(Module):
    """Self-attention, attention to a memory, and a feed-forward network."""

    def __init__(
        self,
        d_model,
        nhead,
        dim_feedforward=2048,
        dropout=0.1,
        activation: str | Callable[[Tensor], Tensor] = F.relu,
        layer_norm_eps=1e-05,
        batch_first=False,
        norm_first=False,
        bias=True,
        device=None,
        dtype=None,
    ):
        super().__init__()
        kind = {"device": device, "dtype": dtype}
        _build(self, d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps,
               batch_first, norm_first, bias, kind,
               ("self_attn", "multihead_attn"))  # fmt: skip

    def forward(
        self,
        tgt,
        memory,
        tgt_mask=None,
        memory_mask=None,
        tgt_key_padding_mask=None,
        memory_key_padding_mask=None,
        tgt_is_causal=False,
        memory_is_causal=False,
    ):
        """`tgt` (T, N, E) and `memory` (S, N, E) (or batch first) to the shape of `tgt`."""
        x = tgt
        own = (tgt_mask, tgt_key_padding_mask, tgt_is_causal)
        other = (memory, memory_mask, memory_key_padding_mask, memory_is_causal)
        if self.norm_first:
            x = x + self._sa_block(self.norm1(x), *own)
            x = x + self._mha_block(self.norm2(x), *other)
            return x + self._ff_block(self.norm3(x))
        x = self.norm1(x + self._sa_block(x, *own))
        x = self.norm2(x + self._mha_block(x, *other))
        return self.norm3(x + self._ff_block(x))

    def _sa_block(self, x, attn_mask, key_padding_mask, is_causal=False):
        return _attended(
            self.self_attn, x, x, attn_mask, key_padding_mask, is_causal, self.dropout1
        )

    def _mha_block(self, x, mem, attn_mask, key_padding_mask, is_causal=False):
        return _attended(
            self.multihead_attn, x, mem, attn_mask, key_padding_mask, is_causal, self.dropout2
        )

    def _ff_block(self, x):
        return self.dropout3(self.linear2(self.dropout(self.activation(self.linear1(x)))))


class TransformerEncoder(Module):
    """`num_layers` copies of an encoder layer, one after the other, and a final norm."""

    def __init__(
        self,
        encoder_layer: Module,
        num_layers,
        norm: Module | None = None,
        enable_nested_tensor=True,
        mask_check=True,
    ):
        super().__init__()
        self.layers = _get_clones(encoder_layer, num_layers)
        self.num_layers, self.norm = num_layers, norm
        self.enable_nested_tensor, self.mask_check = enable_nested_tensor, mask_check
        self.use_nested_tensor = enable_nested_tensor and _nestable(encoder_layer)

    def forward(self, src, mask=None, src_key_padding_mask=None, is_causal=None):
        """All layers in turn.

        In evaluation without gradients PyTorch drops the padded positions of a batch-first
        encoder, and its output is zero there; so is this one's.
        """
        padding = _additive(src_key_padding_mask, "src_key_padding_mask", mask, "mask", src.dtype)
        mask = _additive(mask, "mask", None, "", src.dtype, False)
        hide = self._hidden_positions(src, mask, src_key_padding_mask)
        batch_first = self.layers[0].self_attn.batch_first
        size = src.shape[1 if batch_first and src.dim() == 3 else 0]
        causal = _is_causal(mask, is_causal, size)
        output = src
        for layer in self.layers:
            output = layer(output, src_mask=mask, is_causal=causal, src_key_padding_mask=padding)
        if hide is not None:
            output = output.masked_fill(hide.unsqueeze(-1), 0.0)
        return output if self.norm is None else self.norm(output)

    def _hidden_positions(self, src, mask, padding):
        if (
            padding is None
            or mask is not None
            or not self.use_nested_tensor
            or self.training
            or src.dim() != 3
            or padding._dtype.category != BOOL
        ):
            return None
        tracked = is_grad_enabled() and (
            src.requires_grad or any(p.requires_grad for p in self.layers[0].parameters())
        )
        if tracked:
            return None
        aligned = _left_aligned(padding)
        if STATE.levels:  # no value is known there
            return padding & aligned
        return padding if aligned else None


def _left_aligned(padding):
    """Whether every row is kept positions first, hidden ones after."""
    numbers = padding.long()
    return (numbers[:, 1:] >= numbers[:, :-1]).all()


def _nestable(layer):
    """Whether PyTorch's evaluation path that drops padded positions takes this layer."""
    return (
        isinstance(layer, TransformerEncoderLayer)
        and not layer.norm_first
        and layer.self_attn.batch_first
        and layer.self_attn.in_proj_bias is not None
        and layer.self_attn._qkv_same_embed_dim
        and layer.activation in (F.relu, F.gelu)
        and layer.norm1.eps == layer.norm2.eps
        and layer.self_attn.num_heads % 2 == 0
    )


class TransformerDecoder(Module):
    """`num_layers` copies of a decoder layer, one after the other, and a final norm."""

    def __init__(self, decoder_layer: Module, num_layers, norm: Module | None = None):
        super().__init__()
        self.layers = _get_clones(decoder_layer, num_layers)
        self.num_layers, self.norm = num_layers, norm

    def forward(
        self,
        tgt,
        memory,
        tgt_mask=None,
        memory_mask=None,
        tgt_key_padding_mask=None,
        memory_key_padding_mask=None,
        tgt_is_causal=None,
        memory_is_causal=False,
    ):
        """All layers in turn, each looking at the same memory."""
        batch_first = self.layers[0].self_attn.batch_first
        size = tgt.shape[1 if batch_first and tgt.dim() == 3 else 0]
        causal = _is_causal(tgt_mask, tgt_is_causal, size)
        output = tgt
        for layer in self.layers:
            output = layer(
                output,
                memory,
                tgt_mask=tgt_mask,
                memory_mask=memory_mask,
                tgt_key_padding_mask=tgt_key_padding_mask,
                memory_key_padding_mask=memory_key_padding_mask,
                tgt_is_causal=causal,
                memory_is_causal=memory_is_causal,
            )
        return output if self.norm is None else self.norm(output)


class Transformer(Module):
    """Encoder and decoder with PyTorch's defaults of the original paper."""

    def __init__(
        self,
        d_model=512,
        nhead=8,
        num_encoder_layers=6,
        num_decoder_layers=6,
        dim_feedforward=2048,
        dropout=0.1,
        activation=F.relu,
        custom_encoder=None,
        custom_decoder=None,
        layer_norm_eps=1e-05,
        batch_first=False,
        norm_first=False,
        bias=True,
        device=None,
        dtype=None,
    ):
        super().__init__()
        settings = (d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps,
                    batch_first, norm_first, bias, device, dtype)  # fmt: skip
        norm = {"eps": layer_norm_eps, "bias": bias, "device": device, "dtype": dtype}
        if custom_encoder is not None:
            self.encoder = custom_encoder
        else:
            layer = TransformerEncoderLayer(*settings)
            self.encoder = TransformerEncoder(layer, num_encoder_layers, LayerNorm(d_model, **norm))
        if custom_decoder is not None:
            self.decoder = custom_decoder
        else:
            layer = TransformerDecoderLayer(*settings)
            self.decoder = TransformerDecoder(layer, num_decoder_layers, LayerNorm(d_model, **norm))
        self._reset_parameters()
        self.d_model, self.nhead, self.batch_first = d_model, nhead, batch_first

    def _reset_parameters(self):
        for parameter in self.parameters():
            if parameter.dim() > 1:
                init.xavier_uniform_(parameter)

    def forward(
        self,
        src,
        tgt,
        src_mask=None,
        tgt_mask=None,
        memory_mask=None,
        src_key_padding_mask=None,
        tgt_key_padding_mask=None,
        memory_key_padding_mask=None,
        src_is_causal=None,
        tgt_is_causal=None,
        memory_is_causal=False,
    ):
        """`src` (S, N, E) and `tgt` (T, N, E) (or batch first) to (T, N, E)."""
        batched = src.dim() == 3
        at = 0 if self.batch_first else 1
        if batched and src.shape[at] != tgt.shape[at]:
            raise RuntimeError("the batch number of src and tgt must be equal")
        if src.shape[-1] != self.d_model or tgt.shape[-1] != self.d_model:
            raise RuntimeError("the feature number of src and tgt must be equal to d_model")
        memory = self.encoder(
            src, mask=src_mask, src_key_padding_mask=src_key_padding_mask, is_causal=src_is_causal
        )
        return self.decoder(
            tgt,
            memory,
            tgt_mask=tgt_mask,
            memory_mask=memory_mask,
            tgt_key_padding_mask=tgt_key_padding_mask,
            memory_key_padding_mask=memory_key_padding_mask,
            tgt_is_causal=tgt_is_causal,
            memory_is_causal=memory_is_causal,
        )

    @staticmethod
    def generate_square_subsequent_mask(sz, device=None, dtype=None):
        """A mask (sz, sz) that hides later positions: minus infinity above the diagonal."""
        return _square_mask(sz, device, dtype)
