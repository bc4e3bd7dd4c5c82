"""A recurrent network that predicts the next word."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import rushlight as rl
from lightning_lite.demos.transformer import WikiText2
from lightning_lite.module import LightningModule
from rushlight import nn
from rushlight.utils.data import DataLoader, Sampler


class SimpleLSTM(nn.Module):
    """Log probabilities of the next words, `(N * L, vocab_size)`, and the new state."""

    def __init__(
        self,
        vocab_size: int = 33278,
        ninp: int = 512,
        nhid: int = 512,
        nlayers: int = 4,
        dropout: float = 0.2,
    ) -> None:
        super().__init__()
        self.vocab_size, self.nlayers, self.nhid = vocab_size, nlayers, nhid
        self.drop = nn.Dropout(dropout)
        self.encoder = nn.Embedding(vocab_size, ninp)
        self.rnn = nn.LSTM(ninp, nhid, nlayers, dropout=dropout, batch_first=True)
        self.decoder = nn.Linear(nhid, vocab_size)
        nn.init.uniform_(self.encoder.weight, -0.1, 0.1)
        nn.init.zeros_(self.decoder.bias)
        nn.init.uniform_(self.decoder.weight, -0.1, 0.1)

    def forward(self, inputs: Any, hidden: Any) -> tuple[Any, Any]:
        """Words `(N, L)` and a state; see the class."""
        output, hidden = self.rnn(self.drop(self.encoder(inputs)), hidden)
        decoded = self.decoder(self.drop(output)).view(-1, self.vocab_size)
        return nn.functional.log_softmax(decoded, dim=1), hidden

    def init_hidden(self, batch_size: int) -> tuple[Any, Any]:
        """The state before the first word."""
        weight = next(self.parameters())
        shape = (self.nlayers, batch_size, self.nhid)
        return weight.new_zeros(shape), weight.new_zeros(shape)


class SequenceSampler(Sampler):
    """Batches of positions such that each row of a batch goes on where it ended in the one before:
    `batch_size` rows, which divide the data set among them."""

    def __init__(self, dataset: Any, batch_size: int) -> None:
        self.dataset, self.batch_size = dataset, batch_size
        self.chunk_size = len(dataset) // batch_size

    def __iter__(self) -> Iterator[list[int]]:
        for start in range(self.chunk_size):
            yield [start + row * self.chunk_size for row in range(self.batch_size)]

    def __len__(self) -> int:
        return self.chunk_size


class LightningLSTM(LightningModule):
    """`SimpleLSTM`, trained on WikiText-2 with SGD; the state goes on from batch to batch."""

    def __init__(self, vocab_size: int = 33278) -> None:
        super().__init__()
        self.model = SimpleLSTM(vocab_size=vocab_size)
        self.hidden: Any = None

    def on_train_epoch_end(self) -> None:
        """Begin the next epoch with an empty state."""
        self.hidden = None

    def training_step(self, batch: Any, batch_idx: int) -> Any:
        """The negative log-likelihood of the next words."""
        inputs, target = batch
        if self.hidden is None:
            self.hidden = self.model.init_hidden(inputs.size(0))
        self.hidden = tuple(each.detach() for each in self.hidden)
        output, self.hidden = self.model(inputs, self.hidden)
        loss = nn.functional.nll_loss(output, target.view(-1))
        self.log("train_loss", loss, prog_bar=True)
        return loss

    def prepare_data(self) -> None:
        """Fetch the text."""
        WikiText2(download=True)

    def train_dataloader(self) -> Any:
        """Batches of 20 rows that go on."""
        dataset = WikiText2()
        return DataLoader(dataset, batch_sampler=SequenceSampler(dataset, batch_size=20))

    def configure_optimizers(self) -> Any:
        """SGD."""
        return rl.optim.SGD(self.parameters(), lr=20.0)
