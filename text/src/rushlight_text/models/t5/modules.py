"""The layers of T5: attention with relative positions, norms without mean, two stacks."""

from __future__ import annotations

from collections.abc import Callable

import rushlight as rl
import rushlight.nn.functional as F
from rushlight import nn
from rushlight_text.models._relative import relative_buckets

__all__ = [
    "T5Decoder",
    "T5Encoder",
    "T5Layer",
    "T5LayerNorm",
    "T5MultiheadAttention",
    "activation_function",
]

KeyValue = tuple[rl.Tensor, rl.Tensor]
Activation = str | Callable[[rl.Tensor], rl.Tensor]


def activation_function(activation: Activation) -> Callable[[rl.Tensor], rl.Tensor]:
    """The function of a name: ``"relu"``, ``"gelu"``, ``"gelu_new"`` (by tanh); others as they are.

    Raises RuntimeError for another name.
    """
    if not isinstance(activation, str):
        return activation
    if activation == "relu":
        return F.relu
    if activation == "gelu":
        return F.gelu
    if activation == "gelu_new":
        return lambda x: F.gelu(x, approximate="tanh")
    raise RuntimeError(f"activation should be relu/gelu/gelu_new, not {activation}")


class T5LayerNorm(nn.Module):
    """Divide by the root of the mean square, times a weight; no mean, no bias."""

    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        self.weight = nn.Parameter(rl.ones(d_model))
        self.variance_epsilon = eps

    def forward(self, hidden_states: rl.Tensor) -> rl.Tensor:
        """``[..., d_model]`` of the same."""
        return F.rms_norm(
            hidden_states, hidden_states.shape[-1:], self.weight, self.variance_epsilon
        )


class T5MultiheadAttention(nn.Module):
    """Attention without scaling, with a learnt number for each relative position and head.

    Args:
        embed_dim: size of inputs and output. num_heads, qkv_dim: heads, and size of each.
        is_decoder: positions after the query count as none.
        dropout: share of the weights dropped in training.
        compute_relative_attention_bias: have the numbers; else they are handed in.
        relative_attention_num_buckets, relative_attention_max_distance: of their table.
    """

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        is_decoder: bool = False,
        dropout: float = 0.0,
        qkv_dim: int = 64,
        compute_relative_attention_bias: bool = False,
        relative_attention_num_buckets: int = 32,
        relative_attention_max_distance: int = 128,
    ):
        super().__init__()
        inner = num_heads * qkv_dim
        self.num_heads, self.is_decoder, self.dropout = num_heads, is_decoder, dropout
        self.buckets = relative_attention_num_buckets
        self.max_distance = relative_attention_max_distance
        for name in ("q_proj_weight", "k_proj_weight", "v_proj_weight"):
            weight = nn.Parameter(rl.empty(inner, embed_dim))
            self.register_parameter(name, nn.init.xavier_uniform_(weight))
        self.out_proj = nn.Linear(inner, embed_dim, bias=False)
        self.relative_attention_bias = (
            nn.Embedding(self.buckets, num_heads) if compute_relative_attention_bias else None
        )

    def position_bias(self, query_length: int, key_length: int) -> rl.Tensor:
        """``[1, H, Q, K]``; zeros without a table."""
        if self.relative_attention_bias is None:
            weight = self.q_proj_weight
            return weight.new_zeros(1, self.num_heads, query_length, key_length)
        found = relative_buckets(
            query_length,
            key_length,
            not self.is_decoder,
            self.buckets,
            self.max_distance,
            self.q_proj_weight.device,
        )
        return self.relative_attention_bias(found).permute(2, 0, 1).unsqueeze(0)

    def project(self, memory: rl.Tensor) -> KeyValue:
        """Keys and values ``[B, H, K, D]`` of ``[B, K, E]``."""
        return (
            self._heads(F.linear(memory, self.k_proj_weight)),
            self._heads(F.linear(memory, self.v_proj_weight)),
        )

    def forward(self, query: rl.Tensor, key_value: KeyValue, bias: rl.Tensor) -> KeyValue:
        """Output ``[B, Q, E]`` and weights ``[B, H, Q, K]``.

        Args:
            query: ``[B, Q, E]``.
            key_value: as of :meth:`project`.
            bias: added to the scores; masks are minus infinity in it.
        """
        queries = self._heads(F.linear(query, self.q_proj_weight))
        weights = (queries @ key_value[0].transpose(-2, -1) + bias).softmax(-1)
        weights = F.dropout(weights, self.dropout, self.training)
        joined = (weights @ key_value[1]).transpose(1, 2).flatten(2)
        return self.out_proj(joined), weights

    def _heads(self, x: rl.Tensor) -> rl.Tensor:
        return x.view(x.shape[0], x.shape[1], self.num_heads, -1).transpose(1, 2)


class T5Layer(nn.Module):
    """A layer of one of the stacks: self-attention, in the decoder attention to the encoder's
    output, two linear layers; a norm before each, the input added after each."""

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 3072,
        qkv_dim: int = 64,
        dropout: float = 0.1,
        activation: Activation = F.relu,
        is_gated_act: bool = False,
        layer_norm_eps: float = 1e-6,
        relative_attention_num_buckets: int = 32,
        relative_attention_max_distance: int = 128,
        compute_relative_attention_bias: bool = False,
        is_decoder: bool = False,
    ):
        super().__init__()
        self.is_decoder, self.is_gated_act = is_decoder, is_gated_act
        self.activation = activation_function(activation)
        attention = (d_model, nhead, is_decoder, dropout, qkv_dim)
        table = (relative_attention_num_buckets, relative_attention_max_distance)
        self.self_attn = T5MultiheadAttention(*attention, compute_relative_attention_bias, *table)
        if is_decoder:
            self.cross_attn = T5MultiheadAttention(*attention)
            self.norm3 = T5LayerNorm(d_model, layer_norm_eps)
        names = ("linear1_0", "linear1_1") if is_gated_act else ("linear1",)
        for name in names:
            setattr(self, name, nn.Linear(d_model, dim_feedforward, bias=False))
        self.linear2 = nn.Linear(dim_feedforward, d_model, bias=False)
        self.norm1 = T5LayerNorm(d_model, layer_norm_eps)
        self.norm2 = T5LayerNorm(d_model, layer_norm_eps)
        self.dropout = nn.Dropout(dropout)

    def attend(self, x: rl.Tensor, bias: rl.Tensor, past: KeyValue | None) -> tuple:
        """Self-attention: the sum, the weights, keys and values with those of the `past`."""
        normed = self.norm1(x)
        pair = self.self_attn.project(normed)
        if past is not None:
            pair = (rl.cat([past[0], pair[0]], 2), rl.cat([past[1], pair[1]], 2))
        output, weights = self.self_attn(normed, pair, bias)
        return x + self.dropout(output), weights, pair

    def attend_memory(self, x: rl.Tensor, pair: KeyValue, bias: rl.Tensor) -> KeyValue:
        """Attention to the encoder's output: the sum and the weights."""
        output, weights = self.cross_attn(self.norm3(x), pair, bias)
        return x + self.dropout(output), weights

    def feed_forward(self, x: rl.Tensor) -> rl.Tensor:
        """The two linear layers, gated or not."""
        normed = self.norm2(x)
        if self.is_gated_act:
            inner = self.activation(self.linear1_0(normed)) * self.linear1_1(normed)
        else:
            inner = self.activation(self.linear1(normed))
        return x + self.dropout(self.linear2(self.dropout(inner)))


class _Stack(nn.Module):
    """Layers of which the first has the table of relative positions, and a norm at the end."""

    def __init__(self, num_layers: int, is_decoder: bool, d_model: int, **options):
        super().__init__()
        self.layers = nn.ModuleList(
            [
                T5Layer(
                    d_model,
                    is_decoder=is_decoder,
                    compute_relative_attention_bias=place == 0,
                    **options,
                )
                for place in range(num_layers)
            ]
        )
        self.norm = T5LayerNorm(d_model, options["layer_norm_eps"])
        self.dropout = nn.Dropout(options["dropout"])


class T5Encoder(_Stack):
    """The stack of the source; arguments as of :class:`T5Layer`, and its table of tokens."""

    def __init__(self, num_layers: int, token_embeddings: nn.Module | None = None, **options):
        super().__init__(num_layers, False, **options)
        if token_embeddings is not None:
            self.token_embeddings = token_embeddings

    def forward(
        self,
        src: rl.Tensor | None = None,
        mask: rl.Tensor | None = None,
        src_key_padding_mask: rl.Tensor | None = None,
        embedded_src: rl.Tensor | None = None,
    ) -> dict:
        """Encode ids ``[B, T]``, or vectors ``[B, T, E]``.

        Args:
            src, embedded_src: one of them.
            mask: ``[T, T]``, bool (True: not allowed) or added to the scores.
            src_key_padding_mask: bool ``[B, T]``, True at padding.

        Returns:
            ``encoder_output`` ``[B, T, E]``, ``encoder_hidden_states`` (what entered each
            layer, and the output),
            ``encoder_sa_scores`` (weights of each layer), ``encoder_position_bias``.
        """
        if embedded_src is None:
            if src is None:
                raise AssertionError("T5Encoder: pass src or embedded_src")
            embedded_src = self.token_embeddings(src)
        x = self.dropout(embedded_src)
        length = x.shape[1]
        positions = self.layers[0].self_attn.position_bias(length, length)
        bias = add_masks(positions, mask, src_key_padding_mask)
        states, scores = [x], []
        for layer in self.layers:
            x, weights, _ = layer.attend(x, bias, None)
            x = layer.feed_forward(x)
            states.append(x)
            scores.append(weights)
        states[-1] = self.dropout(self.norm(x))
        return {
            "encoder_output": states[-1],
            "encoder_hidden_states": states,
            "encoder_position_bias": positions,
            "encoder_sa_scores": scores,
        }


class T5Decoder(_Stack):
    """The stack of the target; arguments as of :class:`T5Layer`."""

    def __init__(self, num_layers: int, **options):
        super().__init__(num_layers, True, **options)

    def forward(
        self,
        embedded_tgt: rl.Tensor,
        memory: rl.Tensor,
        tgt_mask: rl.Tensor | None = None,
        memory_mask: rl.Tensor | None = None,
        tgt_key_padding_mask: rl.Tensor | None = None,
        memory_key_padding_mask: rl.Tensor | None = None,
        past_key_values: list | None = None,
        return_past_key_values: bool = False,
    ) -> dict:
        """Decode vectors ``[B, T, E]`` beside the encoder's output ``[B, S, E]``.

        Args:
            tgt_mask: ``[T, T]``; default: nothing after the query.
            memory_mask: ``[T, S]``.
            tgt_key_padding_mask, memory_key_padding_mask: bool, True at padding.
            past_key_values: what a call before returned; the vectors go on from there.
            return_past_key_values: return keys and values, four tensors a layer.
        """
        x = self.dropout(embedded_tgt)
        known = past_key_values[0][0].shape[2] if past_key_values else 0
        length = x.shape[1]
        positions = self.layers[0].self_attn.position_bias(length, known + length)
        if tgt_mask is None:
            keys = rl.arange(known + length, device=x.device)
            tgt_mask = keys[None, :] > keys[known:, None]
        if known and tgt_key_padding_mask is not None:
            tgt_key_padding_mask = F.pad(tgt_key_padding_mask, (known, 0))
        bias = add_masks(positions, tgt_mask, tgt_key_padding_mask)
        cross = self.layers[0].cross_attn.position_bias(length, memory.shape[1])
        cross = add_masks(cross, memory_mask, memory_key_padding_mask)
        states, own, other, kept = [x], [], [], []
        for place, layer in enumerate(self.layers):
            past = past_key_values[place] if past_key_values else None
            x, weights, pair = layer.attend(x, bias, past[:2] if past else None)
            memory_pair = past[2:] if past else layer.cross_attn.project(memory)
            x, cross_weights = layer.attend_memory(x, memory_pair, cross)
            x = layer.feed_forward(x)
            states.append(x)
            own.append(weights)
            other.append(cross_weights)
            kept.append((*pair, *memory_pair))
        states[-1] = self.dropout(self.norm(x))
        return {
            "decoder_output": states[-1],
            "decoder_hidden_states": states,
            "decoder_position_bias": positions,
            "decoder_sa_scores": own,
            "decoder_ca_scores": other,
            "past_key_values": kept if return_past_key_values else [],
        }


def add_masks(bias: rl.Tensor, mask: rl.Tensor | None, padding: rl.Tensor | None) -> rl.Tensor:
    """Position bias ``[1, H, Q, K]`` with a mask ``[Q, K]`` and padding ``[B, K]`` in it."""
    if mask is not None:
        mask = bias.new_zeros(mask.shape).masked_fill(mask, -1e9) if mask.dtype == rl.bool else mask
        bias = bias + mask
    if padding is not None:
        hidden = bias.new_zeros(padding.shape).masked_fill(padding, -1e9)
        bias = bias + hidden[:, None, None, :]
    return bias
