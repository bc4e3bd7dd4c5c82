"""T5 and Flan-T5 (Raffel et al. 2020) with the names of Hugging Face's checkpoints."""

from __future__ import annotations

from typing import Any

import rushlight as rl
from rushlight import nn
from rushlight_text.models._relative import relative_buckets
from rushlight_text.models.pretrained._parts import (
    Config,
    ModelOutput,
    activation,
    attend,
    causal_mask,
    join_heads,
    masked_loss,
    padding_mask,
    split_heads,
)
from rushlight_text.models.pretrained.cache import KeyValueCache
from rushlight_text.models.t5.modules import T5LayerNorm

__all__ = ["T5EncoderModel", "T5ForConditionalGeneration"]


class T5Attention(nn.Module):
    """Attention without scaling; the first layer of a stack has the table of positions."""

    def __init__(self, config: Config, is_decoder: bool, has_table: bool):
        super().__init__()
        inner = config.num_heads * config.d_kv
        self.heads, self.is_decoder = config.num_heads, is_decoder
        self.buckets = config.relative_attention_num_buckets
        self.distance = config.relative_attention_max_distance
        for name in ("q", "k", "v"):
            setattr(self, name, nn.Linear(config.d_model, inner, bias=False))
        self.o = nn.Linear(inner, config.d_model, bias=False)
        if has_table:
            self.relative_attention_bias = nn.Embedding(self.buckets, config.num_heads)
        self.share = config.dropout_rate

    def bias(self, queries: int, keys: int, device: Any) -> rl.Tensor:
        """``[1, H, Q, K]``."""
        found = relative_buckets(
            queries, keys, not self.is_decoder, self.buckets, self.distance, device
        )
        return self.relative_attention_bias(found).permute(2, 0, 1).unsqueeze(0)

    def project(self, memory: rl.Tensor) -> tuple[rl.Tensor, rl.Tensor]:
        """Keys and values of ``[B, K, E]``."""
        return split_heads(self.k(memory), self.heads), split_heads(self.v(memory), self.heads)

    def forward(
        self, x: rl.Tensor, pair: tuple[rl.Tensor, rl.Tensor], bias: rl.Tensor | None
    ) -> rl.Tensor:
        """``[B, Q, E]`` of the same, keys and values, and what is added to the scores."""
        query = split_heads(self.q(x), self.heads)
        found = attend(query, *pair, bias, self.share if self.training else 0.0, scale=1.0)
        return self.o(join_heads(found))


class _Sublayer(nn.Module):
    """A norm, a part under its published name, and the sum."""

    def __init__(self, config: Config, name: str, part: nn.Module):
        super().__init__()
        setattr(self, name, part)
        self.layer_norm = T5LayerNorm(config.d_model, config.layer_norm_epsilon)
        self.dropout = nn.Dropout(config.dropout_rate)
        self.name = name

    @property
    def part(self) -> Any:
        """The part."""
        return getattr(self, self.name)


class T5Dense(nn.Module):
    """Two linear layers, or three with a gate."""

    def __init__(self, config: Config):
        super().__init__()
        gate, _, name = config.feed_forward_proj.rpartition("-")
        self.gated = gate == "gated"
        # The name stands for GELU by tanh in T5 1.1.
        self.activation = activation("gelu_new" if (gate, name) == ("gated", "gelu") else name)
        for part in ("wi_0", "wi_1") if self.gated else ("wi",):
            setattr(self, part, nn.Linear(config.d_model, config.d_ff, bias=False))
        self.wo = nn.Linear(config.d_ff, config.d_model, bias=False)
        self.dropout = nn.Dropout(config.dropout_rate)

    def forward(self, x: rl.Tensor) -> rl.Tensor:
        """``[B, T, E]`` of the same."""
        if self.gated:
            x = self.activation(self.wi_0(x)) * self.wi_1(x)
        else:
            x = self.activation(self.wi(x))
        return self.wo(self.dropout(x))


class T5Block(nn.Module):
    """Self-attention, in the decoder attention to the encoder's output, linear layers."""

    def __init__(self, config: Config, is_decoder: bool, has_table: bool):
        super().__init__()
        own = T5Attention(config, is_decoder, has_table)
        parts = [_Sublayer(config, "SelfAttention", own)]
        if is_decoder:
            cross = T5Attention(config, is_decoder, False)
            parts.append(_Sublayer(config, "EncDecAttention", cross))
        parts.append(_Sublayer(config, "DenseReluDense", T5Dense(config)))
        self.layer = nn.ModuleList(parts)

    def forward(
        self,
        x: rl.Tensor,
        bias: rl.Tensor,
        memory: rl.Tensor | None = None,
        memory_mask: rl.Tensor | None = None,
        cache: KeyValueCache | None = None,
        number: int = 0,
    ) -> rl.Tensor:
        """``[B, T, E]`` of the same."""
        first, last = self.layer[0], self.layer[-1]
        normed = first.layer_norm(x)
        pair = first.part.project(normed)
        if cache is not None:
            pair = cache.update(number, *pair)
        x = x + first.dropout(first.part(normed, pair, bias))
        if len(self.layer) == 3:
            cross = self.layer[1]
            pair = None if cache is None else cache.cross[number]
            if pair is None:
                pair = cross.part.project(memory)
                if cache is not None:
                    cache.cross[number] = pair
            x = x + cross.dropout(cross.part(cross.layer_norm(x), pair, memory_mask))
        return x + last.dropout(last.part(last.layer_norm(x)))


class T5Stack(nn.Module):
    """The encoder or the decoder."""

    def __init__(self, config: Config, shared: nn.Embedding, is_decoder: bool):
        super().__init__()
        count = (config.get("num_decoder_layers") if is_decoder else None) or config.num_layers
        self.embed_tokens = shared
        self.block = nn.ModuleList([T5Block(config, is_decoder, n == 0) for n in range(count)])
        self.final_layer_norm = T5LayerNorm(config.d_model, config.layer_norm_epsilon)
        self.dropout = nn.Dropout(config.dropout_rate)
        self.is_decoder = is_decoder

    def forward(
        self,
        input_ids: rl.Tensor,
        attention_mask: rl.Tensor | None = None,
        memory: rl.Tensor | None = None,
        memory_mask: rl.Tensor | None = None,
        cache: KeyValueCache | None = None,
    ) -> rl.Tensor:
        """``[B, T, E]`` of ids ``[B, T]``."""
        x = self.dropout(self.embed_tokens(input_ids))
        past = 0 if cache is None else cache.used
        length = x.shape[1]
        bias = self.block[0].layer[0].part.bias(length, past + length, x.device)
        if self.is_decoder:
            mask = causal_mask(length, past + length, attention_mask, x.dtype, x.device)
        else:
            mask = padding_mask(attention_mask, x.dtype)
        bias = bias if mask is None else bias + mask
        hidden = padding_mask(memory_mask, x.dtype)
        for number, block in enumerate(self.block):
            x = block(x, bias, memory, hidden, cache, number)
        if cache is not None:
            cache.advance(length)
        return self.dropout(self.final_layer_norm(x))


def _initialize(module: nn.Module, config: Config) -> None:
    """Draw weights as T5 was trained from: by the widths, since scores are not scaled."""
    factor, size = config.initializer_factor, config.d_model
    spreads = {
        "q": (size * config.d_kv) ** -0.5,
        "k": size**-0.5,
        "v": size**-0.5,
        "o": (config.num_heads * config.d_kv) ** -0.5,
        "wo": config.d_ff**-0.5,
        "relative_attention_bias": size**-0.5,
        "shared": 1.0,
        "lm_head": 1.0,
    }
    with rl.no_grad():
        for name, part in module.named_modules():
            if isinstance(part, (nn.Linear, nn.Embedding)):
                spread = spreads.get(name.rpartition(".")[2], size**-0.5)
                part.weight.normal_(0.0, factor * spread)


class T5EncoderModel(nn.Module):
    """The encoder alone."""

    def __init__(self, config: Config):
        super().__init__()
        self.config = config
        self.shared = nn.Embedding(config.vocab_size, config.d_model)
        self.encoder = T5Stack(config, self.shared, is_decoder=False)
        _initialize(self, config)

    def forward(self, input_ids: rl.Tensor, attention_mask: rl.Tensor | None = None) -> ModelOutput:
        """``last_hidden_state`` ``[B, T, E]`` of ids ``[B, T]``."""
        return ModelOutput(last_hidden_state=self.encoder(input_ids, attention_mask))


class T5ForConditionalGeneration(nn.Module):
    """Encoder, decoder, and logits of the next id."""

    is_encoder_decoder = True

    def __init__(self, config: Config):
        super().__init__()
        self.config = config
        self.shared = nn.Embedding(config.vocab_size, config.d_model)
        self.encoder = T5Stack(config, self.shared, is_decoder=False)
        self.decoder = T5Stack(config, self.shared, is_decoder=True)
        self.lm_head = nn.Linear(config.d_model, config.vocab_size, bias=False)
        _initialize(self, config)
        self.tied = config.get("tie_word_embeddings", True)
        if self.tied:
            self.lm_head.weight = self.shared.weight

    def make_cache(self, batch: int, length: int) -> KeyValueCache:
        """An empty cache of the decoder for `batch` sequences of up to `length` ids."""
        config, weight = self.config, self.shared.weight
        layers = len(self.decoder.block)
        return KeyValueCache(
            layers, batch, config.num_heads, length, config.d_kv, weight.dtype, weight.device
        )

    def encode(self, input_ids: rl.Tensor, attention_mask: rl.Tensor | None = None) -> rl.Tensor:
        """The encoder's output ``[B, S, E]``."""
        return self.encoder(input_ids, attention_mask)

    def forward(
        self,
        input_ids: rl.Tensor | None = None,
        attention_mask: rl.Tensor | None = None,
        decoder_input_ids: rl.Tensor | None = None,
        decoder_attention_mask: rl.Tensor | None = None,
        labels: rl.Tensor | None = None,
        encoder_output: rl.Tensor | None = None,
        cache: KeyValueCache | None = None,
    ) -> ModelOutput:
        """Logits of a target.

        Args:
            input_ids, attention_mask: of the source ``[B, S]``, unless there is `encoder_output`.
            decoder_input_ids: of the target ``[B, T]``; default: `labels`, shifted.
            labels: ``[B, T]``; -100 does not count.
            encoder_output: of :meth:`encode`.
            cache: of :meth:`make_cache`; then `decoder_input_ids` are the new ones.

        Returns:
            ``logits`` ``[B, T, V]``, ``loss`` with labels, ``encoder_output``.
        """
        if encoder_output is None:
            if input_ids is None:
                raise ValueError("pass input_ids or encoder_output")
            encoder_output = self.encode(input_ids, attention_mask)
        if decoder_input_ids is None:
            decoder_input_ids = shifted(labels, self.config)
        x = self.decoder(
            decoder_input_ids, decoder_attention_mask, encoder_output, attention_mask, cache
        )
        if self.config.get("scale_decoder_outputs", self.tied):
            x = x * self.config.d_model**-0.5
        logits = self.lm_head(x)
        loss = masked_loss(logits, labels)
        return ModelOutput(logits=logits, loss=loss, encoder_output=encoder_output)


def shifted(labels: rl.Tensor | None, config: Config) -> rl.Tensor:
    """The ids that a decoder sees for labels: one later, the start before, padding for -100."""
    if labels is None:
        raise ValueError("pass decoder_input_ids or labels")
    start = config.get("decoder_start_token_id")
    start = config.pad_token_id if start is None else start
    first = rl.full((labels.shape[0], 1), start, dtype=labels.dtype, device=labels.device)
    moved = rl.cat([first, labels[:, :-1]], dim=1)
    return moved.masked_fill(moved == -100, config.pad_token_id)
