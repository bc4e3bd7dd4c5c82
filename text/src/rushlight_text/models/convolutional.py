"""Convolutions over words: the strongest of them decide."""

from __future__ import annotations

from collections.abc import Sequence

import rushlight as rl
import rushlight.nn.functional as F
from rushlight import nn

__all__ = ["TextCNN"]


class TextCNN(nn.Module):
    """Classify a text by the maxima of convolutions over its words (Kim 2014).

    Args:
        vocab_size: number of tokens. embed_dim: length of a vector. num_class: number of classes.
        channels: of the convolution of each width.
        widths: words that a convolution sees at once.
        dropout: of the maxima, in training.
        padding_idx: id that counts nothing.
        vectors: ``[vocab_size, embed_dim]``, such as of :class:`rushlight_text.vocab.GloVe`.

    Example
    -------
    >>> TextCNN(20, 8, 3)(rl.tensor([[4, 5, 6, 0]])).shape
    rushlight.Size([1, 3])
    """

    def __init__(
        self,
        vocab_size: int,
        embed_dim: int,
        num_class: int,
        *,
        channels: int = 100,
        widths: Sequence[int] = (3, 4, 5),
        dropout: float = 0.5,
        padding_idx: int = 0,
        vectors: rl.Tensor | None = None,
    ):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, embed_dim, padding_idx)
        if vectors is not None:
            with rl.no_grad():
                self.embedding.weight.copy_(vectors)
        self.convolutions = nn.ModuleList(
            [nn.Conv1d(embed_dim, channels, width) for width in widths]
        )
        self.widest = max(widths)
        self.dropout = nn.Dropout(dropout)
        self.fc = nn.Linear(channels * len(widths), num_class)

    def forward(self, text: rl.Tensor) -> rl.Tensor:
        """Logits ``[B, num_class]`` of ids ``[B, T]``; texts that are too short are padded."""
        missing = self.widest - text.shape[1]
        if missing > 0:
            text = F.pad(text, (0, missing), value=self.embedding.padding_idx)
        x = self.embedding(text).transpose(1, 2)
        maxima = [F.relu(convolution(x)).amax(-1) for convolution in self.convolutions]
        return self.fc(self.dropout(rl.cat(maxima, dim=1)))
