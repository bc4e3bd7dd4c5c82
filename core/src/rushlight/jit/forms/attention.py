"""``forward`` of recurrent and attention layers as TorchScript, for archives: see
:mod:`.layers`."""

# ruff: noqa: UP006, UP007, UP035 - annotations that TorchScript has had from its start
from __future__ import annotations

from typing import Tuple

from rushlight import nn
from rushlight.jit.dispatch import aten
from rushlight.jit.forms.layers import _layer
from rushlight.nn import functional as F  # noqa: N812 - the usual name
from rushlight.tensor.tensor import Tensor


@_layer(nn.LSTM)
def _lstm(
    self, input: Tensor, hx: Tuple[Tensor, Tensor] | None = None
) -> Tuple[Tensor, Tuple[Tensor, Tensor]]:
    weights = [getattr(self, name) for name in self.__weights__]
    batched = input.dim() == 3
    x = input if batched else aten.unsqueeze(input, 0 if self.batch_first else 1)
    if hx is None:
        rows = self.num_layers * (2 if self.bidirectional else 1)
        count = x.size(0 if self.batch_first else 1)
        width = self.proj_size if self.proj_size > 0 else self.hidden_size
        h = aten.zeros([rows, count, width], dtype=x.dtype, device=x.device)
        c = aten.zeros([rows, count, self.hidden_size], dtype=x.dtype, device=x.device)
    else:
        h, c = hx
        if not batched:
            h, c = aten.unsqueeze(h, 1), aten.unsqueeze(c, 1)
    out, h, c = aten.lstm(
        x, [h, c], weights, self.bias, self.num_layers, float(self.dropout), self.training,
        self.bidirectional, self.batch_first,
    )  # fmt: skip
    if not batched:
        out = aten.squeeze(out, 0 if self.batch_first else 1)
        h, c = aten.squeeze(h, 1), aten.squeeze(c, 1)
    return out, (h, c)


@_layer(nn.GRU)
def _gru(self, input: Tensor, hx: Tensor | None = None) -> Tuple[Tensor, Tensor]:
    weights = [getattr(self, name) for name in self.__weights__]
    batched = input.dim() == 3
    x = input if batched else aten.unsqueeze(input, 0 if self.batch_first else 1)
    if hx is None:
        rows = self.num_layers * (2 if self.bidirectional else 1)
        count = x.size(0 if self.batch_first else 1)
        h = aten.zeros([rows, count, self.hidden_size], dtype=x.dtype, device=x.device)
    else:
        h = hx if batched else aten.unsqueeze(hx, 1)
    out, h = aten.gru(
        x, h, weights, self.bias, self.num_layers, float(self.dropout), self.training,
        self.bidirectional, self.batch_first,
    )  # fmt: skip
    if not batched:
        out, h = aten.squeeze(out, 0 if self.batch_first else 1), aten.squeeze(h, 1)
    return out, h


@_layer(nn.RNN)
def _rnn(self, input: Tensor, hx: Tensor | None = None) -> Tuple[Tensor, Tensor]:
    weights = [getattr(self, name) for name in self.__weights__]
    batched = input.dim() == 3
    x = input if batched else aten.unsqueeze(input, 0 if self.batch_first else 1)
    if hx is None:
        rows = self.num_layers * (2 if self.bidirectional else 1)
        count = x.size(0 if self.batch_first else 1)
        h = aten.zeros([rows, count, self.hidden_size], dtype=x.dtype, device=x.device)
    else:
        h = hx if batched else aten.unsqueeze(hx, 1)
    if self.nonlinearity == "tanh":
        out, h = aten.rnn_tanh(
            x, h, weights, self.bias, self.num_layers, float(self.dropout), self.training,
            self.bidirectional, self.batch_first,
        )  # fmt: skip
    else:
        out, h = aten.rnn_relu(
            x, h, weights, self.bias, self.num_layers, float(self.dropout), self.training,
            self.bidirectional, self.batch_first,
        )  # fmt: skip
    if not batched:
        out, h = aten.squeeze(out, 0 if self.batch_first else 1), aten.squeeze(h, 1)
    return out, h


@_layer(nn.RNNCell)
def _rnn_cell(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
    batched = input.dim() == 2
    x = input if batched else aten.unsqueeze(input, 0)
    if hx is None:
        h = aten.zeros([x.size(0), self.hidden_size], dtype=x.dtype, device=x.device)
    else:
        h = hx if batched else aten.unsqueeze(hx, 0)
    if self.nonlinearity == "tanh":
        h = aten.rnn_tanh_cell(x, h, self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
    else:
        h = aten.rnn_relu_cell(x, h, self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
    return h if batched else aten.squeeze(h, 0)


@_layer(nn.LSTMCell)
def _lstm_cell(
    self, input: Tensor, hx: Tuple[Tensor, Tensor] | None = None
) -> Tuple[Tensor, Tensor]:
    batched = input.dim() == 2
    x = input if batched else aten.unsqueeze(input, 0)
    if hx is None:
        h = aten.zeros([x.size(0), self.hidden_size], dtype=x.dtype, device=x.device)
        c = h
    else:
        h, c = hx
        if not batched:
            h, c = aten.unsqueeze(h, 0), aten.unsqueeze(c, 0)
    h, c = aten.lstm_cell(
        x, [h, c], self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh
    )  # fmt: skip
    if not batched:
        h, c = aten.squeeze(h, 0), aten.squeeze(c, 0)
    return h, c


@_layer(nn.GRUCell)
def _gru_cell(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
    batched = input.dim() == 2
    x = input if batched else aten.unsqueeze(input, 0)
    if hx is None:
        h = aten.zeros([x.size(0), self.hidden_size], dtype=x.dtype, device=x.device)
    else:
        h = hx if batched else aten.unsqueeze(hx, 0)
    h = aten.gru_cell(x, h, self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
    return h if batched else aten.squeeze(h, 0)


# --------------------------------------------------------------------------------------- attention
@_layer(nn.MultiheadAttention)
def _attention(
    self,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    key_padding_mask: Tensor | None = None,
    need_weights: bool = True,
    attn_mask: Tensor | None = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> Tuple[Tensor, Tensor | None]:
    first = self.batch_first and query.dim() == 3
    if first:
        query, key = aten.transpose(query, 0, 1), aten.transpose(key, 0, 1)
        value = aten.transpose(value, 0, 1)
    out, shares = F.multi_head_attention_forward(
        query, key, value, self.embed_dim, self.num_heads, self.in_proj_weight, self.in_proj_bias,
        self.bias_k, self.bias_v, self.add_zero_attn, float(self.dropout), self.out_proj.weight,
        self.out_proj.bias, self.training, key_padding_mask, need_weights, attn_mask,
        not self._qkv_same_embed_dim, self.q_proj_weight, self.k_proj_weight, self.v_proj_weight,
        None, None, average_attn_weights, is_causal,
    )  # fmt: skip
    if first:
        out = aten.transpose(out, 0, 1)
    return out, shares


@_layer(nn.TransformerEncoderLayer)
def _encoder_layer(
    self,
    src: Tensor,
    src_mask: Tensor | None = None,
    src_key_padding_mask: Tensor | None = None,
    is_causal: bool = False,
) -> Tensor:
    x = self.norm1(src) if self.norm_first else src
    seen, _shares = self.self_attn(
        x, x, x, src_key_padding_mask, False, src_mask, True, is_causal
    )  # fmt: skip
    x = src + self.dropout1(seen)
    if not self.norm_first:
        x = self.norm1(x)
    y = self.norm2(x) if self.norm_first else x
    y = self.linear2(self.dropout(self.activation(self.linear1(y))))
    y = x + self.dropout2(y)
    return y if self.norm_first else self.norm2(y)


@_layer(nn.TransformerEncoder)
def _encoder(
    self,
    src: Tensor,
    mask: Tensor | None = None,
    src_key_padding_mask: Tensor | None = None,
    is_causal: bool | None = None,
) -> Tensor:
    x = src
    for layer in self.layers:
        x = layer(x, mask, src_key_padding_mask, False)
    if self.norm is not None:
        x = self.norm(x)
    return x


@_layer(nn.TransformerDecoderLayer)
def _decoder_layer(
    self,
    tgt: Tensor,
    memory: Tensor,
    tgt_mask: Tensor | None = None,
    memory_mask: Tensor | None = None,
    tgt_key_padding_mask: Tensor | None = None,
    memory_key_padding_mask: Tensor | None = None,
    tgt_is_causal: bool = False,
    memory_is_causal: bool = False,
) -> Tensor:
    x = self.norm1(tgt) if self.norm_first else tgt
    seen, _shares = self.self_attn(x, x, x, tgt_key_padding_mask, False, tgt_mask, True, False)
    x = tgt + self.dropout1(seen)
    if not self.norm_first:
        x = self.norm1(x)
    y = self.norm2(x) if self.norm_first else x
    looked, _more = self.multihead_attn(
        y, memory, memory, memory_key_padding_mask, False, memory_mask, True, False
    )
    x = x + self.dropout2(looked)
    if not self.norm_first:
        x = self.norm2(x)
    y = self.norm3(x) if self.norm_first else x
    y = self.linear2(self.dropout(self.activation(self.linear1(y))))
    y = x + self.dropout3(y)
    return y if self.norm_first else self.norm3(y)


@_layer(nn.TransformerDecoder)
def _decoder(
    self,
    tgt: Tensor,
    memory: Tensor,
    tgt_mask: Tensor | None = None,
    memory_mask: Tensor | None = None,
    tgt_key_padding_mask: Tensor | None = None,
    memory_key_padding_mask: Tensor | None = None,
    tgt_is_causal: bool | None = None,
    memory_is_causal: bool = False,
) -> Tensor:
    x = tgt
    for layer in self.layers:
        x = layer(
            x, memory, tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask,
            False, False,
        )  # fmt: skip
    if self.norm is not None:
        x = self.norm(x)
    return x


@_layer(nn.Transformer)
def _transformer(
    self,
    src: Tensor,
    tgt: Tensor,
    src_mask: Tensor | None = None,
    tgt_mask: Tensor | None = None,
    memory_mask: Tensor | None = None,
    src_key_padding_mask: Tensor | None = None,
    tgt_key_padding_mask: Tensor | None = None,
    memory_key_padding_mask: Tensor | None = None,
    src_is_causal: bool | None = None,
    tgt_is_causal: bool | None = None,
    memory_is_causal: bool = False,
) -> Tensor:
    memory = self.encoder(src, src_mask, src_key_padding_mask, src_is_causal)
    return self.decoder(
        tgt, memory, tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask,
        tgt_is_causal, memory_is_causal,
    )  # fmt: skip
