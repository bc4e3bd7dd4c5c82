"""BERT, RoBERTa (XLM-R) and ELECTRA: one encoder, with the names that checkpoints have."""

from __future__ import annotations

import rushlight as rl
from rushlight import nn
from rushlight_text.models.pretrained._parts import (
    Config,
    ModelOutput,
    activation,
    attend,
    initialize,
    join_heads,
    padding_mask,
    split_heads,
)

__all__ = ["BertModel", "BertPooler", "ElectraModel", "RobertaModel"]


class BertEmbeddings(nn.Module):
    """Tokens, positions and numbers of texts, added and normalized."""

    def __init__(self, config: Config):
        super().__init__()
        size = config.get("embedding_size") or config.hidden_size
        pad = config.pad_token_id
        self.word_embeddings = nn.Embedding(config.vocab_size, size, padding_idx=pad)
        # RoBERTa's positions begin after the id of padding, which has a row of its own.
        self.after_padding = config.model_type in ("roberta", "xlm-roberta", "camembert")
        self.position_embeddings = nn.Embedding(
            config.max_position_embeddings, size, padding_idx=pad if self.after_padding else None
        )
        self.token_type_embeddings = nn.Embedding(config.type_vocab_size, size)
        self.LayerNorm = nn.LayerNorm(size, eps=config.layer_norm_eps)
        self.dropout = nn.Dropout(config.hidden_dropout_prob)

    def forward(
        self,
        input_ids: rl.Tensor,
        token_type_ids: rl.Tensor | None = None,
        position_ids: rl.Tensor | None = None,
    ) -> rl.Tensor:
        """``[B, T, E]`` of ids ``[B, T]``."""
        if position_ids is None:
            position_ids = self._positions(input_ids)
        if token_type_ids is None:
            token_type_ids = rl.zeros_like(input_ids)
        embedded = self.word_embeddings(input_ids) + self.token_type_embeddings(token_type_ids)
        return self.dropout(self.LayerNorm(embedded + self.position_embeddings(position_ids)))

    def _positions(self, input_ids: rl.Tensor) -> rl.Tensor:
        length, limit = input_ids.shape[1], self.position_embeddings.num_embeddings
        pad = self.word_embeddings.padding_idx
        if length > limit - (pad + 1 if self.after_padding else 0):
            raise ValueError(f"{length} ids are more than the model's {limit} positions hold")
        if not self.after_padding:
            return rl.arange(length, device=input_ids.device)[None]
        real = (input_ids != pad).long()
        return real.cumsum(1) * real + pad


class BertSelfAttention(nn.Module):
    """Query, key and value, and attention between them."""

    def __init__(self, config: Config):
        super().__init__()
        self.heads = config.num_attention_heads
        for name in ("query", "key", "value"):
            setattr(self, name, nn.Linear(config.hidden_size, config.hidden_size))
        self.dropout = config.attention_probs_dropout_prob

    def forward(self, x: rl.Tensor, mask: rl.Tensor | None) -> rl.Tensor:
        """``[B, T, E]`` of the same."""
        query = split_heads(self.query(x), self.heads)
        key = split_heads(self.key(x), self.heads)
        value = split_heads(self.value(x), self.heads)
        return join_heads(attend(query, key, value, mask, self.dropout if self.training else 0.0))


class BertOutput(nn.Module):
    """A linear layer, then the sum with what came before, normalized."""

    def __init__(self, config: Config, size: int):
        super().__init__()
        self.dense = nn.Linear(size, config.hidden_size)
        self.LayerNorm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)
        self.dropout = nn.Dropout(config.hidden_dropout_prob)

    def forward(self, x: rl.Tensor, before: rl.Tensor) -> rl.Tensor:
        """``[B, T, E]``."""
        return self.LayerNorm(self.dropout(self.dense(x)) + before)


class BertAttention(nn.Module):
    """Attention and its output."""

    def __init__(self, config: Config):
        super().__init__()
        self.self = BertSelfAttention(config)
        self.output = BertOutput(config, config.hidden_size)

    def forward(self, x: rl.Tensor, mask: rl.Tensor | None) -> rl.Tensor:
        """``[B, T, E]`` of the same."""
        return self.output(self.self(x, mask), x)


class BertIntermediate(nn.Module):
    """The wide layer."""

    def __init__(self, config: Config):
        super().__init__()
        self.dense = nn.Linear(config.hidden_size, config.intermediate_size)
        self.activation = activation(config.hidden_act)

    def forward(self, x: rl.Tensor) -> rl.Tensor:
        """``[B, T, F]`` of ``[B, T, E]``."""
        return self.activation(self.dense(x))


class BertLayer(nn.Module):
    """Attention and two linear layers."""

    def __init__(self, config: Config):
        super().__init__()
        self.attention = BertAttention(config)
        self.intermediate = BertIntermediate(config)
        self.output = BertOutput(config, config.intermediate_size)

    def forward(self, x: rl.Tensor, mask: rl.Tensor | None) -> rl.Tensor:
        """``[B, T, E]`` of the same."""
        x = self.attention(x, mask)
        return self.output(self.intermediate(x), x)


class BertEncoder(nn.Module):
    """The stack of layers."""

    def __init__(self, config: Config):
        super().__init__()
        self.layer = nn.ModuleList([BertLayer(config) for _ in range(config.num_hidden_layers)])

    def forward(self, x: rl.Tensor, mask: rl.Tensor | None) -> list[rl.Tensor]:
        """What entered the first layer, and what each made."""
        states = [x]
        for layer in self.layer:
            states.append(layer(states[-1], mask))
        return states


class BertPooler(nn.Module):
    """A layer with tanh on the first token."""

    def __init__(self, config: Config):
        super().__init__()
        self.dense = nn.Linear(config.hidden_size, config.hidden_size)

    def forward(self, states: rl.Tensor) -> rl.Tensor:
        """``[B, E]`` of ``[B, T, E]``."""
        return rl.tanh(self.dense(states[:, 0]))


class BertModel(nn.Module):
    """The encoder (Devlin et al. 2019).

    Args:
        config: as of a ``config.json``; `rushlight_text.models.pretrained.config` completes one.
        add_pooling_layer: give ``pooler_output``, too.
    """

    base_model_prefix = "bert"

    def __init__(self, config: Config, add_pooling_layer: bool = True):
        super().__init__()
        self.config = config
        self.embeddings = BertEmbeddings(config)
        size = config.get("embedding_size") or config.hidden_size
        if size != config.hidden_size:
            self.embeddings_project = nn.Linear(size, config.hidden_size)
        self.encoder = BertEncoder(config)
        self.pooler = BertPooler(config) if add_pooling_layer else None
        initialize(self, config.initializer_range)

    def forward(
        self,
        input_ids: rl.Tensor,
        attention_mask: rl.Tensor | None = None,
        token_type_ids: rl.Tensor | None = None,
        position_ids: rl.Tensor | None = None,
    ) -> ModelOutput:
        """Encode ids.

        Args:
            input_ids: ``[B, T]``.
            attention_mask: ``[B, T]``, 0 at padding.
            token_type_ids: number of the text that each id is of.
            position_ids: default: counted.

        Returns:
            ``last_hidden_state`` ``[B, T, E]``, ``pooler_output`` ``[B, E]``, ``hidden_states``.
        """
        x = self.embeddings(input_ids, token_type_ids, position_ids)
        if hasattr(self, "embeddings_project"):
            x = self.embeddings_project(x)
        states = self.encoder(x, padding_mask(attention_mask, x.dtype))
        pooled = None if self.pooler is None else self.pooler(states[-1])
        return ModelOutput(last_hidden_state=states[-1], pooler_output=pooled, hidden_states=states)


class RobertaModel(BertModel):
    """RoBERTa (Liu et al. 2019) and XLM-R: BERT's encoder, positions counted after padding's id."""

    base_model_prefix = "roberta"


class ElectraModel(BertModel):
    """ELECTRA (Clark et al. 2020): BERT's encoder without a pooler; embeddings may be narrower."""

    base_model_prefix = "electra"

    def __init__(self, config: Config, add_pooling_layer: bool = False):
        super().__init__(config, add_pooling_layer=False)
