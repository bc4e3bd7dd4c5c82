"""Llama and its kin (Mistral, Qwen2): rotary positions, RMS norms, gated layers, few keys."""

from __future__ import annotations

import math
from typing import Any

import rushlight as rl
import rushlight.nn.functional as F
from rushlight import nn
from rushlight_text.models.pretrained._parts import (
    Config,
    ModelOutput,
    activation,
    attend,
    causal_mask,
    initialize,
    join_heads,
    last_positions,
    masked_loss,
    positions,
)
from rushlight_text.models.pretrained.cache import KeyValueCache

__all__ = ["LlamaForCausalLM", "LlamaModel", "rotary_frequencies"]


def rotary_frequencies(config: Config) -> rl.Tensor:
    """The frequency of each pair of features, ``[D / 2]`` float32.

    Raises NotImplementedError for scalings other than ``linear`` and ``llama3``.
    """
    size = config.get("head_dim") or config.hidden_size // config.num_attention_heads
    scaling = config.get("rope_parameters") or config.get("rope_scaling") or {}
    theta = scaling.get("rope_theta") or config.get("rope_theta") or 10000.0
    steps = rl.arange(0, size, 2, dtype=rl.float64) / size
    frequencies = 1.0 / theta**steps
    kind = scaling.get("rope_type") or scaling.get("type") or "default"
    if kind == "linear":
        frequencies = frequencies / scaling["factor"]
    elif kind == "llama3":
        frequencies = _llama3(frequencies, scaling)
    elif kind != "default":
        raise NotImplementedError(
            f"rotary positions of type {kind!r} are not there; 'default', 'linear', 'llama3' are"
        )
    return frequencies.float()


def _llama3(frequencies: rl.Tensor, scaling: dict[str, Any]) -> rl.Tensor:
    """Slow frequencies are divided, fast ones stay, those between are mixed (Llama 3.1)."""
    low, high = scaling["low_freq_factor"], scaling["high_freq_factor"]
    turns = scaling["original_max_position_embeddings"] * frequencies / (2 * math.pi)
    kept = ((turns - low) / (high - low)).clamp(0, 1)
    return kept * frequencies + (1 - kept) * frequencies / scaling["factor"]


def rotate(x: rl.Tensor, cos: rl.Tensor, sin: rl.Tensor) -> rl.Tensor:
    """Turn the pairs of features of ``[B, H, T, D]`` by the angles of their positions."""
    first, second = x.chunk(2, dim=-1)
    return x * cos + rl.cat([-second, first], dim=-1) * sin


class LlamaRMSNorm(nn.Module):
    """Divide by the root of the mean square, times a weight."""

    def __init__(self, size: int, eps: float):
        super().__init__()
        self.weight = nn.Parameter(rl.ones(size))
        self.eps = eps

    def forward(self, x: rl.Tensor) -> rl.Tensor:
        """``[..., size]`` of the same."""
        return F.rms_norm(x, x.shape[-1:], self.weight, self.eps)


class LlamaAttention(nn.Module):
    """Attention to what came before; several heads of queries share one of keys and values."""

    def __init__(self, config: Config):
        super().__init__()
        self.heads = config.num_attention_heads
        self.key_heads = config.get("num_key_value_heads") or self.heads
        self.size = config.get("head_dim") or config.hidden_size // self.heads
        qkv = config.get("attention_bias", False) or config.model_type == "qwen2"
        out = config.get("attention_bias", False)
        self.q_proj = nn.Linear(config.hidden_size, self.heads * self.size, bias=qkv)
        self.k_proj = nn.Linear(config.hidden_size, self.key_heads * self.size, bias=qkv)
        self.v_proj = nn.Linear(config.hidden_size, self.key_heads * self.size, bias=qkv)
        self.o_proj = nn.Linear(self.heads * self.size, config.hidden_size, bias=out)

    def forward(
        self,
        x: rl.Tensor,
        angles: tuple[rl.Tensor, rl.Tensor],
        mask: rl.Tensor | None,
        cache: KeyValueCache | None,
        layer: int,
    ) -> rl.Tensor:
        """``[B, T, E]`` of the same."""
        batch, length = x.shape[:2]
        query = self.q_proj(x).view(batch, length, self.heads, self.size).transpose(1, 2)
        key = self.k_proj(x).view(batch, length, self.key_heads, self.size).transpose(1, 2)
        value = self.v_proj(x).view(batch, length, self.key_heads, self.size).transpose(1, 2)
        query, key = rotate(query, *angles), rotate(key, *angles)
        if cache is not None:
            key, value = cache.update(layer, key, value)
        groups = self.heads // self.key_heads
        if groups > 1:
            key = key.repeat_interleave(groups, dim=1)
            value = value.repeat_interleave(groups, dim=1)
        return self.o_proj(join_heads(attend(query, key, value, mask)))


class LlamaMLP(nn.Module):
    """Two linear layers, of which one gates the other, and a third."""

    def __init__(self, config: Config):
        super().__init__()
        bias = config.get("mlp_bias", False)
        self.gate_proj = nn.Linear(config.hidden_size, config.intermediate_size, bias=bias)
        self.up_proj = nn.Linear(config.hidden_size, config.intermediate_size, bias=bias)
        self.down_proj = nn.Linear(config.intermediate_size, config.hidden_size, bias=bias)
        self.activation = activation(config.hidden_act)

    def forward(self, x: rl.Tensor) -> rl.Tensor:
        """``[B, T, E]`` of the same."""
        return self.down_proj(self.activation(self.gate_proj(x)) * self.up_proj(x))


class LlamaDecoderLayer(nn.Module):
    """Attention and gated layers, each after a norm."""

    def __init__(self, config: Config):
        super().__init__()
        self.self_attn = LlamaAttention(config)
        self.mlp = LlamaMLP(config)
        self.input_layernorm = LlamaRMSNorm(config.hidden_size, config.rms_norm_eps)
        self.post_attention_layernorm = LlamaRMSNorm(config.hidden_size, config.rms_norm_eps)

    def forward(self, x, angles, mask, cache, layer) -> rl.Tensor:
        """``[B, T, E]`` of the same."""
        x = x + self.self_attn(self.input_layernorm(x), angles, mask, cache, layer)
        return x + self.mlp(self.post_attention_layernorm(x))


class LlamaModel(nn.Module):
    """The decoder; `config` as of a ``config.json``, with a ``sliding_window`` or without.

    Raises NotImplementedError where some layers have a window and others have none (Qwen2 with
    ``use_sliding_window``).
    """

    def __init__(self, config: Config):
        super().__init__()
        self.config = config
        self.embed_tokens = nn.Embedding(
            config.vocab_size, config.hidden_size, padding_idx=config.get("pad_token_id")
        )
        self.layers = nn.ModuleList(
            [LlamaDecoderLayer(config) for _ in range(config.num_hidden_layers)]
        )
        self.norm = LlamaRMSNorm(config.hidden_size, config.rms_norm_eps)
        self.register_buffer("frequencies", rotary_frequencies(config), persistent=False)
        self.window: int | None = None
        if config.model_type == "mistral":
            self.window = config.get("sliding_window")
        elif config.get("use_sliding_window"):
            raise NotImplementedError(
                "windows of some layers alone are not there; pass use_sliding_window=False for "
                "texts that are shorter than the window"
            )
        initialize(self, config.initializer_range)

    def make_cache(self, batch: int, length: int) -> KeyValueCache:
        """An empty cache for `batch` sequences of up to `length` ids."""
        first, weight = self.layers[0].self_attn, self.embed_tokens.weight
        return KeyValueCache(
            len(self.layers),
            batch,
            first.key_heads,
            length,
            first.size,
            weight.dtype,
            weight.device,
        )

    def forward(
        self,
        input_ids: rl.Tensor,
        attention_mask: rl.Tensor | None = None,
        cache: KeyValueCache | None = None,
    ) -> ModelOutput:
        """Decode ids; arguments and results as of :class:`GPT2Model`."""
        past = 0 if cache is None else cache.used
        length = input_ids.shape[1]
        x = self.embed_tokens(input_ids)
        places = positions(length, past, attention_mask, input_ids.device)
        angles = self._angles(places, x.dtype)
        mask = causal_mask(length, past + length, attention_mask, x.dtype, x.device, self.window)
        states = [x]
        for number, layer in enumerate(self.layers):
            states.append(layer(states[-1], angles, mask, cache, number))
        states[-1] = self.norm(states[-1])
        if cache is not None:
            cache.advance(length)
        return ModelOutput(last_hidden_state=states[-1], hidden_states=states)

    def _angles(self, places: rl.Tensor, dtype: rl.dtype) -> tuple[rl.Tensor, rl.Tensor]:
        turns = places.float()[:, :, None] * self.frequencies
        turns = rl.cat([turns, turns], dim=-1)[:, None]
        return turns.cos().to(dtype), turns.sin().to(dtype)


class LlamaForCausalLM(nn.Module):
    """The decoder and logits of the next id."""

    is_encoder_decoder = False

    def __init__(self, config: Config):
        super().__init__()
        self.config = config
        self.model = LlamaModel(config)
        self.lm_head = nn.Linear(config.hidden_size, config.vocab_size, bias=False)
        initialize(self.lm_head, config.initializer_range)
        if config.get("tie_word_embeddings", False):
            self.lm_head.weight = self.model.embed_tokens.weight

    def make_cache(self, batch: int, length: int) -> KeyValueCache:
        """An empty cache for `batch` sequences of up to `length` ids."""
        return self.model.make_cache(batch, length)

    def forward(
        self,
        input_ids: rl.Tensor,
        attention_mask: rl.Tensor | None = None,
        labels: rl.Tensor | None = None,
        cache: KeyValueCache | None = None,
        logits_to_keep: int = 0,
    ) -> ModelOutput:
        """``logits`` and ``loss`` as of :class:`GPT2LMHeadModel`."""
        x = self.model(input_ids, attention_mask, cache).last_hidden_state
        logits = self.lm_head(last_positions(x, logits_to_keep, labels))
        loss = None if labels is None else masked_loss(logits[:, :-1], labels[:, 1:])
        return ModelOutput(logits=logits, loss=loss)
