"""A small transformer that predicts the next word, and the text it reads."""

from __future__ import annotations

import math
import urllib.request
from pathlib import Path
from typing import Any

import rushlight as rl
from lightning_lite.module import LightningModule
from rushlight import nn
from rushlight.utils.data import DataLoader, Dataset

ADDRESS = (
    "https://raw.githubusercontent.com/pytorch/examples/main/word_language_model/data/wikitext-2/"
    "train.txt"
)


class PositionalEncoding(nn.Module):
    """Adds sines and cosines of the position to `(N, L, dim)`."""

    def __init__(self, dim: int, dropout: float = 0.1, max_len: int = 5000) -> None:
        super().__init__()
        self.dropout = nn.Dropout(p=dropout)
        position = rl.arange(max_len).unsqueeze(1)
        frequencies = rl.exp(rl.arange(0, dim, 2) * (-math.log(10000.0) / dim))
        table = rl.zeros(max_len, dim)
        table[:, 0::2] = rl.sin(position * frequencies)
        table[:, 1::2] = rl.cos(position * frequencies[: dim // 2])
        self.register_buffer("pe", table, persistent=False)

    def forward(self, x: Any) -> Any:
        """The input with its positions."""
        return self.dropout(x + self.pe[: x.shape[1]])


class Transformer(nn.Module):
    """Log probabilities of the next word: `(N * L, vocab_size)` for words `(N, L)` and targets."""

    def __init__(
        self,
        vocab_size: int = 33278,
        ninp: int = 200,
        nhead: int = 2,
        nhid: int = 200,
        nlayers: int = 2,
        dropout: float = 0.2,
    ) -> None:
        super().__init__()
        self.pos_encoder = PositionalEncoding(ninp, dropout)
        self.embedding = nn.Embedding(vocab_size, ninp)
        self.transformer = nn.Transformer(
            d_model=ninp,
            nhead=nhead,
            num_encoder_layers=nlayers,
            num_decoder_layers=nlayers,
            dim_feedforward=nhid,
            dropout=dropout,
            batch_first=True,
        )
        self.decoder = nn.Linear(ninp, vocab_size)
        self.ninp, self.vocab_size = ninp, vocab_size

    def forward(self, inputs: Any, target: Any, mask: Any = None) -> Any:
        """Log probabilities; each position sees those before it."""
        if mask is None:
            mask = nn.Transformer.generate_square_subsequent_mask(inputs.shape[1])
            mask = mask.to(inputs.device)
        source = self.pos_encoder(self.embedding(inputs) * math.sqrt(self.ninp))
        wanted = self.pos_encoder(self.embedding(target) * math.sqrt(self.ninp))
        output = self.decoder(self.transformer(source, wanted, tgt_mask=mask))
        return nn.functional.log_softmax(output, dim=-1).view(-1, self.vocab_size)


class Dictionary:
    """Words and their numbers."""

    def __init__(self) -> None:
        self.word2idx: dict[str, int] = {}
        self.idx2word: list[str] = []

    def add_word(self, word: str) -> int:
        """The number of a word, which gets one if it had none."""
        if word not in self.word2idx:
            self.word2idx[word] = len(self.idx2word)
            self.idx2word.append(word)
        return self.word2idx[word]

    def __len__(self) -> int:
        return len(self.idx2word)


def tokenize(path: Any) -> tuple[Any, Dictionary]:
    """The words of a file as numbers, with `<eos>` at the end of each line, and the dictionary."""
    dictionary = Dictionary()
    found: list[int] = []
    for line in Path(path).read_text(encoding="utf-8").splitlines():
        found.extend(dictionary.add_word(word) for word in [*line.split(), "<eos>"])
    return rl.tensor(found, dtype=rl.int64), dictionary


class WikiText2(Dataset):
    """Pieces of `block_size` words of WikiText-2, and the same one word later.

    The text is `data_dir/wikitext-2.txt`, downloaded if it is not there. Raises
    FileNotFoundError, with the address and the folder, where it cannot be had.
    """

    def __init__(
        self, data_dir: Any = "./data", block_size: int = 35, download: bool = True
    ) -> None:
        self.path = Path(data_dir) / "wikitext-2.txt"
        if not self.path.is_file():
            self._fetch(download)
        self.data, self.dictionary = tokenize(self.path)
        self.block_size = block_size

    def _fetch(self, download: bool) -> None:
        reason = "download=False"
        if download:
            try:
                with urllib.request.urlopen(ADDRESS, timeout=60) as answer:
                    text = answer.read()
            except OSError as error:
                reason = str(error)
            else:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                self.path.write_bytes(text)
                return
        raise FileNotFoundError(
            f"WikiText2: {self.path} is not there ({reason}); put {ADDRESS} there by this name"
        )

    @property
    def vocab_size(self) -> int:
        """How many different words there are."""
        return len(self.dictionary)

    def __len__(self) -> int:
        return len(self.data) // self.block_size - 1

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        start = index * self.block_size
        end = start + self.block_size
        return self.data[start:end], self.data[start + 1 : end + 1]


class LightningTransformer(LightningModule):
    """`Transformer`, trained on WikiText-2 with SGD."""

    def __init__(self, vocab_size: int = 33278) -> None:
        super().__init__()
        self.model = Transformer(vocab_size=vocab_size)

    def forward(self, inputs: Any, target: Any) -> Any:
        """Log probabilities of the next words."""
        return self.model(inputs, target)

    def training_step(self, batch: Any, batch_idx: int) -> Any:
        """The negative log-likelihood of the next words."""
        inputs, target = batch
        return nn.functional.nll_loss(self(inputs, target), target.view(-1))

    def prepare_data(self) -> None:
        """Fetch the text."""
        WikiText2(download=True)

    def train_dataloader(self) -> Any:
        """Pieces of the text."""
        return DataLoader(WikiText2())

    def configure_optimizers(self) -> Any:
        """SGD."""
        return rl.optim.SGD(self.model.parameters(), lr=0.1)
