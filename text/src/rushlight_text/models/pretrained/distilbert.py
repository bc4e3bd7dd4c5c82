"""DistilBERT (Sanh et al. 2019): BERT without numbers of texts and pooler, with other names."""

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

__all__ = ["DistilBertModel"]


class Embeddings(nn.Module):
    """Tokens and positions, added and normalized."""

    def __init__(self, config: Config):
        super().__init__()
        self.word_embeddings = nn.Embedding(
            config.vocab_size, config.dim, padding_idx=config.pad_token_id
        )
        self.position_embeddings = nn.Embedding(config.max_position_embeddings, config.dim)
        self.LayerNorm = nn.LayerNorm(config.dim, eps=1e-12)
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, input_ids: rl.Tensor) -> rl.Tensor:
        """``[B, T, E]`` of ids ``[B, T]``."""
        length, limit = input_ids.shape[1], self.position_embeddings.num_embeddings
        if length > limit:
            raise ValueError(f"{length} ids are more than the model's {limit} positions hold")
        places = rl.arange(length, device=input_ids.device)[None]
        embedded = self.word_embeddings(input_ids) + self.position_embeddings(places)
        return self.dropout(self.LayerNorm(embedded))


class MultiHeadSelfAttention(nn.Module):
    """Attention of a sequence to itself."""

    def __init__(self, config: Config):
        super().__init__()
        self.heads, self.dropout = config.n_heads, config.attention_dropout
        for name in ("q_lin", "k_lin", "v_lin", "out_lin"):
            setattr(self, name, nn.Linear(config.dim, config.dim))

    def forward(self, x: rl.Tensor, mask: rl.Tensor | None) -> rl.Tensor:
        """``[B, T, E]`` of the same."""
        query = split_heads(self.q_lin(x), self.heads)
        key = split_heads(self.k_lin(x), self.heads)
        value = split_heads(self.v_lin(x), self.heads)
        found = attend(query, key, value, mask, self.dropout if self.training else 0.0)
        return self.out_lin(join_heads(found))


class FFN(nn.Module):
    """Two linear layers."""

    def __init__(self, config: Config):
        super().__init__()
        self.lin1 = nn.Linear(config.dim, config.hidden_dim)
        self.lin2 = nn.Linear(config.hidden_dim, config.dim)
        self.activation = activation(config.activation)
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, x: rl.Tensor) -> rl.Tensor:
        """``[B, T, E]`` of the same."""
        return self.dropout(self.lin2(self.activation(self.lin1(x))))


class TransformerBlock(nn.Module):
    """Attention and two linear layers, each normalized after its sum."""

    def __init__(self, config: Config):
        super().__init__()
        self.attention = MultiHeadSelfAttention(config)
        self.sa_layer_norm = nn.LayerNorm(config.dim, eps=1e-12)
        self.ffn = FFN(config)
        self.output_layer_norm = nn.LayerNorm(config.dim, eps=1e-12)

    def forward(self, x: rl.Tensor, mask: rl.Tensor | None) -> rl.Tensor:
        """``[B, T, E]`` of the same."""
        x = self.sa_layer_norm(self.attention(x, mask) + x)
        return self.output_layer_norm(self.ffn(x) + x)


class Transformer(nn.Module):
    """The stack of layers."""

    def __init__(self, config: Config):
        super().__init__()
        self.layer = nn.ModuleList([TransformerBlock(config) for _ in range(config.n_layers)])

    def forward(self, x: rl.Tensor, mask: rl.Tensor | None) -> list[rl.Tensor]:
        """What entered the first layer, and what each made."""
        states = [x]
        for layer in self.layer:
            states.append(layer(states[-1], mask))
        return states


class DistilBertModel(nn.Module):
    """The encoder; arguments and results as of :class:`BertModel`, without a pooler."""

    base_model_prefix = "distilbert"

    def __init__(self, config: Config, add_pooling_layer: bool = False):
        super().__init__()
        self.config = config
        self.embeddings = Embeddings(config)
        self.transformer = Transformer(config)
        initialize(self, config.initializer_range)

    def forward(
        self,
        input_ids: rl.Tensor,
        attention_mask: rl.Tensor | None = None,
        token_type_ids: rl.Tensor | None = None,
    ) -> ModelOutput:
        """Encode ids ``[B, T]``; `token_type_ids` have no effect."""
        x = self.embeddings(input_ids)
        states = self.transformer(x, padding_mask(attention_mask, x.dtype))
        return ModelOutput(last_hidden_state=states[-1], hidden_states=states)
