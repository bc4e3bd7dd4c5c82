"""LSTMs that read in both directions: labels of texts by attention, tags of words by a chain."""

from __future__ import annotations

import rushlight as rl
from rushlight import nn
from rushlight_text.nn.crf import CRF

__all__ = ["BiLSTMClassifier", "BiLSTMTagger"]


class _Reader(nn.Module):
    """Embeddings and an LSTM in both directions over sequences of different lengths."""

    def __init__(
        self, vocab_size: int, embed_dim: int, hidden_size: int, layers: int, dropout: float
    ):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, embed_dim, padding_idx=0)
        between = dropout if layers > 1 else 0.0
        self.lstm = nn.LSTM(
            embed_dim, hidden_size, layers, batch_first=True, bidirectional=True, dropout=between
        )
        self.dropout = nn.Dropout(dropout)

    def read(self, text: rl.Tensor, lengths: rl.Tensor) -> rl.Tensor:
        """``[B, T, 2 * hidden_size]`` of ids ``[B, T]``; zeros after the end."""
        packed = nn.utils.rnn.pack_padded_sequence(
            self.dropout(self.embedding(text)), lengths, batch_first=True, enforce_sorted=False
        )
        states, _ = self.lstm(packed)
        found, _ = nn.utils.rnn.pad_packed_sequence(
            states, batch_first=True, total_length=text.shape[1]
        )
        return self.dropout(found)


def _mask(text: rl.Tensor, lengths: rl.Tensor) -> rl.Tensor:
    return rl.arange(text.shape[1], device=text.device)[None, :] < lengths[:, None]


class BiLSTMClassifier(_Reader):
    """Classify a text by the weighted mean of an LSTM's states (Zhou et al. 2016).

    Args:
        vocab_size, embed_dim, hidden_size, layers: of the LSTM; id 0 is padding.
        num_class: number of classes.
        dropout: in training.
    """

    def __init__(
        self,
        vocab_size: int,
        embed_dim: int,
        num_class: int,
        *,
        hidden_size: int = 128,
        layers: int = 1,
        dropout: float = 0.3,
    ):
        super().__init__(vocab_size, embed_dim, hidden_size, layers, dropout)
        self.attention = nn.Linear(2 * hidden_size, 1)
        self.fc = nn.Linear(2 * hidden_size, num_class)

    def forward(self, text: rl.Tensor, lengths: rl.Tensor) -> rl.Tensor:
        """Logits ``[B, num_class]`` of ids ``[B, T]`` and lengths ``[B]``."""
        states = self.read(text, lengths)
        weights = self.weights(states, text, lengths)
        return self.fc((states * weights[:, :, None]).sum(1))

    def weights(self, states: rl.Tensor, text: rl.Tensor, lengths: rl.Tensor) -> rl.Tensor:
        """How much each word counts, ``[B, T]``."""
        scores = self.attention(rl.tanh(states)).squeeze(-1)
        return scores.masked_fill(~_mask(text, lengths), float("-inf")).softmax(-1)


class BiLSTMTagger(_Reader):
    """Tag words by an LSTM and a chain of tags (Huang et al. 2015).

    Args:
        vocab_size, embed_dim, hidden_size, layers: of the LSTM; id 0 is padding.
        num_tags: number of tags.
        dropout: in training.
    """

    def __init__(
        self,
        vocab_size: int,
        embed_dim: int,
        num_tags: int,
        *,
        hidden_size: int = 128,
        layers: int = 1,
        dropout: float = 0.3,
    ):
        super().__init__(vocab_size, embed_dim, hidden_size, layers, dropout)
        self.fc = nn.Linear(2 * hidden_size, num_tags)
        self.crf = CRF(num_tags, batch_first=True)

    def forward(self, text: rl.Tensor, lengths: rl.Tensor, tags: rl.Tensor) -> rl.Tensor:
        """The loss of tags ``[B, T]``: minus the mean log likelihood of a sequence."""
        scores = self.fc(self.read(text, lengths))
        return -self.crf(scores, tags, _mask(text, lengths), reduction="mean")

    def decode(self, text: rl.Tensor, lengths: rl.Tensor) -> list[list[int]]:
        """The tags of each sequence."""
        return self.crf.decode(self.fc(self.read(text, lengths)), _mask(text, lengths))
