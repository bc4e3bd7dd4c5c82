"""The bag of embeddings: the mean of a sentence's word vectors, and a linear layer."""

from __future__ import annotations

import rushlight as rl
from rushlight import nn

__all__ = ["EmbeddingBagClassifier"]


class EmbeddingBagClassifier(nn.Module):
    """Classify a text by the mean of its tokens' embeddings (Joulin et al. 2016, fastText).

    Order is not seen; bigrams as further tokens
    (:func:`rushlight_text.data.ngrams_iterator`) bring some of it back.

    Args:
        vocab_size: number of tokens.
        embed_dim: length of an embedding.
        num_class: number of classes.
        mode: how the embeddings of a text become one: ``"mean"``, ``"sum"`` or ``"max"``.
        dropout: share of the pooled features that is dropped in training.
        padding_idx: id that counts nothing.

    Raises:
        ValueError: a size that is not positive.
    """

    def __init__(
        self,
        vocab_size: int,
        embed_dim: int,
        num_class: int,
        *,
        mode: str = "mean",
        dropout: float = 0.0,
        padding_idx: int | None = None,
    ):
        super().__init__()
        for name, size in (
            ("vocab_size", vocab_size),
            ("embed_dim", embed_dim),
            ("num_class", num_class),
        ):
            if size < 1:
                raise ValueError(f"EmbeddingBagClassifier(): {name} must be positive, got {size}")
        self.embedding = nn.EmbeddingBag(vocab_size, embed_dim, mode=mode, padding_idx=padding_idx)
        self.dropout = nn.Dropout(dropout)
        self.fc = nn.Linear(embed_dim, num_class)
        self.init_weights()

    def init_weights(self) -> None:
        """Draw the embeddings and the weights from U(-0.5, 0.5); the bias is zero.

        Wide embeddings keep the mean of some twenty of them from vanishing at the start.
        """
        bound = 0.5
        with rl.no_grad():
            self.embedding.weight.uniform_(-bound, bound)
            if self.embedding.padding_idx is not None:
                self.embedding.weight[self.embedding.padding_idx] = 0
            self.fc.weight.uniform_(-bound, bound)
            self.fc.bias.zero_()

    def forward(self, text: rl.Tensor, offsets: rl.Tensor | None = None) -> rl.Tensor:
        """Logits ``[B, num_class]`` of ids ``[N]`` with offsets ``[B]``, or of ids ``[B, T]``."""
        return self.fc(self.dropout(self.embedding(text, offsets)))
