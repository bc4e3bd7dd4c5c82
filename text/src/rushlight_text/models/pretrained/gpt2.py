"""GPT-2 (Radford et al. 2019)."""

from __future__ import annotations

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
    last_positions,
    masked_loss,
    positions,
    split_heads,
)
from rushlight_text.models.pretrained.cache import KeyValueCache

__all__ = ["GPT2LMHeadModel", "GPT2Model"]


class Conv1D(nn.Module):
    """A linear layer whose weight ``[in, out]`` stands the other way round, as in checkpoints."""

    def __init__(self, inputs: int, outputs: int):
        super().__init__()
        self.weight = nn.Parameter(rl.empty(inputs, outputs).normal_(0.0, 0.02))
        self.bias = nn.Parameter(rl.zeros(outputs))

    def forward(self, x: rl.Tensor) -> rl.Tensor:
        """``[..., out]`` of ``[..., in]``."""
        return x @ self.weight + self.bias


class Attention(nn.Module):
    """Attention to what came before."""

    def __init__(self, config: Config):
        super().__init__()
        self.heads = config.n_head
        self.c_attn = Conv1D(config.n_embd, 3 * config.n_embd)
        self.c_proj = Conv1D(config.n_embd, config.n_embd)
        self.share = config.attn_pdrop
        self.resid_dropout = nn.Dropout(config.resid_pdrop)

    def forward(
        self, x: rl.Tensor, mask: rl.Tensor | None, cache: KeyValueCache | None, layer: int
    ) -> rl.Tensor:
        """``[B, T, E]`` of the same."""
        query, key, value = (
            split_heads(part, self.heads) for part in self.c_attn(x).chunk(3, dim=-1)
        )
        if cache is not None:
            key, value = cache.update(layer, key, value)
        found = attend(query, key, value, mask, self.share if self.training else 0.0)
        return self.resid_dropout(self.c_proj(join_heads(found)))


class MLP(nn.Module):
    """Two linear layers."""

    def __init__(self, config: Config):
        super().__init__()
        inner = config.get("n_inner") or 4 * config.n_embd
        self.c_fc = Conv1D(config.n_embd, inner)
        self.c_proj = Conv1D(inner, config.n_embd)
        self.activation = activation(config.activation_function)
        self.dropout = nn.Dropout(config.resid_pdrop)

    def forward(self, x: rl.Tensor) -> rl.Tensor:
        """``[B, T, E]`` of the same."""
        return self.dropout(self.c_proj(self.activation(self.c_fc(x))))


class Block(nn.Module):
    """Attention and two linear layers, each after a norm."""

    def __init__(self, config: Config):
        super().__init__()
        self.ln_1 = nn.LayerNorm(config.n_embd, eps=config.layer_norm_epsilon)
        self.attn = Attention(config)
        self.ln_2 = nn.LayerNorm(config.n_embd, eps=config.layer_norm_epsilon)
        self.mlp = MLP(config)

    def forward(
        self, x: rl.Tensor, mask: rl.Tensor | None, cache: KeyValueCache | None, layer: int
    ) -> rl.Tensor:
        """``[B, T, E]`` of the same."""
        x = x + self.attn(self.ln_1(x), mask, cache, layer)
        return x + self.mlp(self.ln_2(x))


class GPT2Model(nn.Module):
    """The decoder; `config` as of a ``config.json``."""

    def __init__(self, config: Config):
        super().__init__()
        self.config = config
        self.wte = nn.Embedding(config.vocab_size, config.n_embd)
        self.wpe = nn.Embedding(config.n_positions, config.n_embd)
        self.drop = nn.Dropout(config.embd_pdrop)
        self.h = nn.ModuleList([Block(config) for _ in range(config.n_layer)])
        self.ln_f = nn.LayerNorm(config.n_embd, eps=config.layer_norm_epsilon)
        initialize(self, config.initializer_range)

    def make_cache(self, batch: int, length: int) -> KeyValueCache:
        """An empty cache for `batch` sequences of up to `length` ids."""
        config, weight = self.config, self.wte.weight
        size = config.n_embd // config.n_head
        return KeyValueCache(
            config.n_layer, batch, config.n_head, length, size, weight.dtype, weight.device
        )

    def forward(
        self,
        input_ids: rl.Tensor,
        attention_mask: rl.Tensor | None = None,
        cache: KeyValueCache | None = None,
    ) -> ModelOutput:
        """Decode ids.

        Args:
            input_ids: ``[B, T]``; with a cache the new ones.
            attention_mask: ``[B, T]`` with 0 at padding, on either side; with a cache of all ids.
            cache: of :meth:`make_cache`; filled by the call.

        Returns:
            ``last_hidden_state`` ``[B, T, E]`` and ``hidden_states``.
        """
        past = 0 if cache is None else cache.used
        length = input_ids.shape[1]
        if past + length > self.wpe.num_embeddings:
            raise ValueError(
                f"{past + length} ids are more than the model's {self.wpe.num_embeddings} positions"
            )
        places = positions(length, past, attention_mask, input_ids.device)
        x = self.drop(self.wte(input_ids) + self.wpe(places))
        mask = causal_mask(length, past + length, attention_mask, x.dtype, x.device)
        states = [x]
        for layer, block in enumerate(self.h):
            states.append(block(states[-1], mask, cache, layer))
        states[-1] = self.ln_f(states[-1])
        if cache is not None:
            cache.advance(length)
        return ModelOutput(last_hidden_state=states[-1], hidden_states=states)


class GPT2LMHeadModel(nn.Module):
    """The decoder and logits of the next id; the table of tokens serves as the last layer."""

    is_encoder_decoder = False

    def __init__(self, config: Config):
        super().__init__()
        self.config = config
        self.transformer = GPT2Model(config)
        self.lm_head = nn.Linear(config.n_embd, config.vocab_size, bias=False)
        if config.get("tie_word_embeddings", True):
            self.lm_head.weight = self.transformer.wte.weight

    def make_cache(self, batch: int, length: int) -> KeyValueCache:
        """An empty cache for `batch` sequences of up to `length` ids."""
        return self.transformer.make_cache(batch, length)

    def forward(
        self,
        input_ids: rl.Tensor,
        attention_mask: rl.Tensor | None = None,
        labels: rl.Tensor | None = None,
        cache: KeyValueCache | None = None,
        logits_to_keep: int = 0,
    ) -> ModelOutput:
        """``logits`` ``[B, T, V]``, and ``loss`` with labels ``[B, T]``, which are the ids
        themselves: the shift is done here; -100 does not count. Without labels `logits_to_keep`
        asks for the logits of so many last positions alone; 0 stands for all."""
        x = self.transformer(input_ids, attention_mask, cache).last_hidden_state
        logits = self.lm_head(last_positions(x, logits_to_keep, labels))
        loss = None if labels is None else masked_loss(logits[:, :-1], labels[:, 1:])
        return ModelOutput(logits=logits, loss=loss)
