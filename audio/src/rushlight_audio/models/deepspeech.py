"""Deep Speech (Hannun et al., Deep Speech: scaling up end-to-end speech recognition, 2014).

Names of parameters and their shapes are torchaudio's, so that state dicts go both ways.
"""

from __future__ import annotations

import rushlight as rl
from rushlight import nn
from rushlight.nn import functional

__all__ = ["DeepSpeech"]


class FullyConnected(nn.Module):
    """A linear layer, a ReLU that stops at `relu_max_clip`, dropout."""

    def __init__(
        self, n_feature: int, n_hidden: int, dropout: float, relu_max_clip: int = 20
    ) -> None:
        super().__init__()
        self.fc = nn.Linear(n_feature, n_hidden, bias=True)
        self.relu_max_clip = relu_max_clip
        self.dropout = dropout

    def forward(self, x: rl.Tensor) -> rl.Tensor:
        """The layer's result."""
        x = functional.hardtanh(self.fc(x), 0.0, self.relu_max_clip)
        return functional.dropout(x, self.dropout, self.training) if self.dropout else x


class DeepSpeech(nn.Module):
    """Log probabilities of characters: three layers by frame, a recurrence both ways, two layers.

    Args:
        n_feature: numbers of a frame.
        n_hidden: width.
        n_class: characters, blank included.
        dropout: share that is dropped behind each layer in training.

    >>> DeepSpeech(n_feature=8, n_hidden=4, n_class=3)(rl.zeros(1, 1, 5, 8)).shape
    rushlight.Size([1, 5, 3])
    """

    def __init__(
        self, n_feature: int, n_hidden: int = 2048, n_class: int = 40, dropout: float = 0.0
    ) -> None:
        super().__init__()
        self.n_hidden = n_hidden
        self.fc1 = FullyConnected(n_feature, n_hidden, dropout)
        self.fc2 = FullyConnected(n_hidden, n_hidden, dropout)
        self.fc3 = FullyConnected(n_hidden, n_hidden, dropout)
        self.bi_rnn = nn.RNN(n_hidden, n_hidden, nonlinearity="relu", bidirectional=True)
        self.fc4 = FullyConnected(n_hidden, n_hidden, dropout)
        self.out = nn.Linear(n_hidden, n_class)

    def forward(self, x: rl.Tensor) -> rl.Tensor:
        """Log probabilities ``[B, T, n_class]`` of frames ``[B, 1, T, n_feature]``."""
        x = self.fc3(self.fc2(self.fc1(x)))
        x, _ = self.bi_rnn(x.squeeze(1).transpose(0, 1))
        forth, back = x.chunk(2, dim=2)
        x = self.out(self.fc4(forth + back))
        return functional.log_softmax(x.permute(1, 0, 2), dim=2)
