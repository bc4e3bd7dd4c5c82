"""BART (Lewis et al. 2020) and Marian (Junczys-Dowmunt et al. 2018): encoder and decoder."""

from __future__ import annotations

import math
from typing import Any

import rushlight as rl
from rushlight import nn
from rushlight_text.models.pretrained._parts import (
    Config,
    ModelOutput,
    activation,
    attend,
    causal_mask,
    initialize,
    join_heads,
    masked_loss,
    padding_mask,
    split_heads,
)
from rushlight_text.models.pretrained.cache import KeyValueCache
from rushlight_text.models.pretrained.t5 import shifted

__all__ = ["BartForConditionalGeneration", "BartModel", "MarianMTModel"]

OFFSET = 2  # rows of BART's table of positions that are none


def sinusoids(count: int, size: int) -> rl.Tensor:
    """Marian's positions ``[count, size]``: sines in the first half, cosines in the second."""
    steps = rl.arange(0, size, 2, dtype=rl.float64) / size
    angles = rl.arange(count, dtype=rl.float64)[:, None] / 10000.0**steps
    return rl.cat([angles.sin(), angles.cos()], dim=1).float()


class BartAttention(nn.Module):
    """Attention to the same sequence or to another."""

    def __init__(self, config: Config, heads: int):
        super().__init__()
        self.heads, self.share = heads, config.attention_dropout
        for name in ("k_proj", "v_proj", "q_proj", "out_proj"):
            setattr(self, name, nn.Linear(config.d_model, config.d_model))

    def project(self, memory: rl.Tensor) -> tuple[rl.Tensor, rl.Tensor]:
        """Keys and values of ``[B, K, E]``."""
        key, value = self.k_proj(memory), self.v_proj(memory)
        return split_heads(key, self.heads), split_heads(value, self.heads)

    def forward(
        self, x: rl.Tensor, pair: tuple[rl.Tensor, rl.Tensor], mask: rl.Tensor | None
    ) -> rl.Tensor:
        """``[B, Q, E]`` of the same."""
        query = split_heads(self.q_proj(x), self.heads)
        found = attend(query, *pair, mask, self.share if self.training else 0.0)
        return self.out_proj(join_heads(found))


class BartLayer(nn.Module):
    """A layer of either stack; each part is normalized after its sum."""

    def __init__(self, config: Config, is_decoder: bool):
        super().__init__()
        side = "decoder" if is_decoder else "encoder"
        heads, inner = config[f"{side}_attention_heads"], config[f"{side}_ffn_dim"]
        self.is_decoder = is_decoder
        self.self_attn = BartAttention(config, heads)
        self.self_attn_layer_norm = nn.LayerNorm(config.d_model)
        if is_decoder:
            self.encoder_attn = BartAttention(config, heads)
            self.encoder_attn_layer_norm = nn.LayerNorm(config.d_model)
        self.fc1 = nn.Linear(config.d_model, inner)
        self.fc2 = nn.Linear(inner, config.d_model)
        self.final_layer_norm = nn.LayerNorm(config.d_model)
        self.activation = activation(config.activation_function)
        self.dropout = nn.Dropout(config.dropout)
        self.activation_dropout = nn.Dropout(config.activation_dropout)

    def forward(
        self,
        x: rl.Tensor,
        mask: rl.Tensor | None,
        memory: Any = None,
        memory_mask: rl.Tensor | None = None,
        cache: KeyValueCache | None = None,
        number: int = 0,
    ) -> rl.Tensor:
        """``[B, T, E]`` of the same."""
        pair = self.self_attn.project(x)
        if cache is not None:
            pair = cache.update(number, *pair)
        x = self.self_attn_layer_norm(x + self.dropout(self.self_attn(x, pair, mask)))
        if self.is_decoder:
            kept = None if cache is None else cache.cross[number]
            if kept is None:
                kept = self.encoder_attn.project(memory)
                if cache is not None:
                    cache.cross[number] = kept
            found = self.encoder_attn(x, kept, memory_mask)
            x = self.encoder_attn_layer_norm(x + self.dropout(found))
        inner = self.activation_dropout(self.activation(self.fc1(x)))
        return self.final_layer_norm(x + self.dropout(self.fc2(inner)))


class BartStack(nn.Module):
    """The encoder or the decoder."""

    def __init__(self, config: Config, shared: nn.Embedding, is_decoder: bool):
        super().__init__()
        self.embed_tokens, self.is_decoder = shared, is_decoder
        self.learnt = config.model_type != "marian"
        count = config.max_position_embeddings + (OFFSET if self.learnt else 0)
        self.embed_positions = nn.Embedding(count, config.d_model)
        layers = config["decoder_layers" if is_decoder else "encoder_layers"]
        self.layers = nn.ModuleList([BartLayer(config, is_decoder) for _ in range(layers)])
        if self.learnt:
            self.layernorm_embedding = nn.LayerNorm(config.d_model)
        self.scale = math.sqrt(config.d_model) if config.get("scale_embedding") else 1.0
        self.dropout = nn.Dropout(config.dropout)

    def set_sinusoids(self) -> None:
        """Give a table that is not learnt its numbers."""
        if not self.learnt:
            with rl.no_grad():
                weight = self.embed_positions.weight
                weight.copy_(sinusoids(*weight.shape))
                weight.requires_grad_(False)

    def forward(
        self,
        input_ids: rl.Tensor,
        attention_mask: rl.Tensor | None = None,
        memory: rl.Tensor | None = None,
        memory_mask: rl.Tensor | None = None,
        cache: KeyValueCache | None = None,
    ) -> rl.Tensor:
        """``[B, T, E]`` of ids ``[B, T]``."""
        past = 0 if cache is None else cache.used
        length = input_ids.shape[1]
        offset = OFFSET if self.learnt else 0
        limit = self.embed_positions.num_embeddings - offset
        if past + length > limit:
            raise ValueError(f"{past + length} ids are more than the model's {limit} positions")
        places = rl.arange(past, past + length, device=input_ids.device) + offset
        x = self.embed_tokens(input_ids) * self.scale + self.embed_positions(places)
        if self.learnt:
            x = self.layernorm_embedding(x)
        x = self.dropout(x)
        if self.is_decoder:
            mask = causal_mask(length, past + length, attention_mask, x.dtype, x.device)
        else:
            mask = padding_mask(attention_mask, x.dtype)
        hidden = padding_mask(memory_mask, x.dtype)
        for number, layer in enumerate(self.layers):
            x = layer(x, mask, memory, hidden, cache, number)
        if cache is not None:
            cache.advance(length)
        return x


class BartModel(nn.Module):
    """Encoder and decoder over one table of tokens."""

    def __init__(self, config: Config):
        super().__init__()
        self.config = config
        self.shared = nn.Embedding(
            config.vocab_size, config.d_model, padding_idx=config.pad_token_id
        )
        self.encoder = BartStack(config, self.shared, is_decoder=False)
        self.decoder = BartStack(config, self.shared, is_decoder=True)
        initialize(self, config.init_std)
        for stack in (self.encoder, self.decoder):
            stack.set_sinusoids()

    def forward(
        self,
        input_ids: rl.Tensor,
        attention_mask: rl.Tensor | None = None,
        decoder_input_ids: rl.Tensor | None = None,
        decoder_attention_mask: rl.Tensor | None = None,
    ) -> ModelOutput:
        """``last_hidden_state`` of the decoder ``[B, T, E]``, and ``encoder_output``; without
        `decoder_input_ids` the target is the source, shifted."""
        memory = self.encoder(input_ids, attention_mask)
        if decoder_input_ids is None:
            decoder_input_ids = shifted(input_ids, self.config)
        x = self.decoder(decoder_input_ids, decoder_attention_mask, memory, attention_mask)
        return ModelOutput(last_hidden_state=x, encoder_output=memory)


class BartForConditionalGeneration(nn.Module):
    """Encoder, decoder, and logits of the next id; the table of tokens serves as the last layer."""

    is_encoder_decoder = True

    def __init__(self, config: Config):
        super().__init__()
        self.config = config
        self.model = BartModel(config)
        self.lm_head = nn.Linear(config.d_model, config.vocab_size, bias=False)
        self.lm_head.weight = self.model.shared.weight
        self.register_buffer("final_logits_bias", rl.zeros(1, config.vocab_size))

    def make_cache(self, batch: int, length: int) -> KeyValueCache:
        """An empty cache of the decoder for `batch` sequences of up to `length` ids."""
        config, weight = self.config, self.model.shared.weight
        heads = config.decoder_attention_heads
        return KeyValueCache(
            config.decoder_layers,
            batch,
            heads,
            length,
            config.d_model // heads,
            weight.dtype,
            weight.device,
        )

    def encode(self, input_ids: rl.Tensor, attention_mask: rl.Tensor | None = None) -> rl.Tensor:
        """The encoder's output ``[B, S, E]``."""
        return self.model.encoder(input_ids, attention_mask)

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
        """Logits of a target; arguments and results as of :class:`T5ForConditionalGeneration`."""
        if encoder_output is None:
            if input_ids is None:
                raise ValueError("pass input_ids or encoder_output")
            encoder_output = self.encode(input_ids, attention_mask)
        if decoder_input_ids is None:
            decoder_input_ids = shifted(labels, self.config)
        x = self.model.decoder(
            decoder_input_ids, decoder_attention_mask, encoder_output, attention_mask, cache
        )
        logits = self.lm_head(x) + self.final_logits_bias
        loss = masked_loss(logits, labels)
        return ModelOutput(logits=logits, loss=loss, encoder_output=encoder_output)


class MarianMTModel(BartForConditionalGeneration):
    """Marian's translation models: BART with positions that are sines."""

    # Today's checkpoints leave the tables of sines out.
    computed = ("embed_positions.weight",)
