"""RoBERTa: the encoder, a head that classifies, and both together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass

import rushlight as rl
from rushlight import nn
from rushlight_text.models.roberta.modules import TransformerEncoder

__all__ = ["RobertaClassificationHead", "RobertaEncoder", "RobertaEncoderConf", "RobertaModel"]


@dataclass
class RobertaEncoderConf:
    """The sizes of an encoder; the defaults are RoBERTa base's."""

    vocab_size: int = 50265
    embedding_dim: int = 768
    ffn_dimension: int = 3072
    padding_idx: int = 1
    max_seq_len: int = 514
    num_attention_heads: int = 12
    num_encoder_layers: int = 12
    dropout: float = 0.1
    scaling: float | None = None
    normalize_before: bool = False


class RobertaEncoder(nn.Module):
    """Ids to features; arguments as of :class:`RobertaEncoderConf`.

    freeze: parameters need no gradient.
    """

    def __init__(
        self,
        vocab_size: int,
        embedding_dim: int,
        ffn_dimension: int,
        padding_idx: int,
        max_seq_len: int,
        num_attention_heads: int,
        num_encoder_layers: int,
        dropout: float = 0.1,
        scaling: float | None = None,
        normalize_before: bool = False,
        freeze: bool = False,
    ):
        super().__init__()
        self.transformer = TransformerEncoder(
            vocab_size,
            embedding_dim,
            padding_idx,
            max_seq_len,
            num_encoder_layers,
            num_attention_heads,
            ffn_dimension,
            dropout,
            normalize_before,
            scaling,
        )
        self.requires_grad_(not freeze)

    def forward(self, tokens: rl.Tensor, masked_tokens: rl.Tensor | None = None) -> rl.Tensor:
        """``[B, T, E]`` of ids ``[B, T]``; with a mask ``[B, T]`` only its features, ``[N, E]``."""
        output = self.transformer(tokens).transpose(0, 1)
        return output if masked_tokens is None else output[masked_tokens.bool()]


class RobertaClassificationHead(nn.Module):
    """Two layers on the first token's features.

    Args:
        num_classes: number of logits.
        input_dim: size of the features.
        inner_dim: size between the layers; default: `input_dim`.
        dropout: before each layer, in training.
        activation: makes the function between them.
    """

    def __init__(
        self,
        num_classes: int,
        input_dim: int,
        inner_dim: int | None = None,
        dropout: float = 0.1,
        activation: Callable[[], nn.Module] = nn.ReLU,
    ):
        super().__init__()
        self.dense = nn.Linear(input_dim, inner_dim or input_dim)
        self.dropout = nn.Dropout(dropout)
        self.out_proj = nn.Linear(inner_dim or input_dim, num_classes)
        self.activation_fn = activation()

    def forward(self, features: rl.Tensor) -> rl.Tensor:
        """Logits ``[B, num_classes]`` of features ``[B, T, E]``."""
        x = self.activation_fn(self.dense(self.dropout(features[:, 0])))
        return self.out_proj(self.dropout(x))


class RobertaModel(nn.Module):
    """An encoder and, if one is given, a head.

    Example
    -------
    >>> sizes = dict(embedding_dim=8, ffn_dimension=16, num_attention_heads=2)
    >>> conf = RobertaEncoderConf(vocab_size=20, num_encoder_layers=1, **sizes)
    >>> model = RobertaModel(conf, RobertaClassificationHead(num_classes=3, input_dim=8))
    >>> model(rl.tensor([[0, 5, 6, 2]])).shape
    rushlight.Size([1, 3])
    """

    def __init__(
        self,
        encoder_conf: RobertaEncoderConf,
        head: nn.Module | None = None,
        freeze_encoder: bool = False,
    ):
        super().__init__()
        if not isinstance(encoder_conf, RobertaEncoderConf):
            raise AssertionError(
                "RobertaModel(): encoder_conf must be a RobertaEncoderConf, "
                f"not {type(encoder_conf).__name__}"
            )
        self.encoder = RobertaEncoder(**asdict(encoder_conf), freeze=freeze_encoder)
        self.head = head

    def forward(self, tokens: rl.Tensor, masked_tokens: rl.Tensor | None = None) -> rl.Tensor:
        """Features ``[B, T, E]``, or what the head makes of them."""
        features = self.encoder(tokens, masked_tokens)
        return features if self.head is None else self.head(features)
