"""Vectors of tokens as a module, with torchtext's prototype's names."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import rushlight as rl
from rushlight import nn
from rushlight_text import vocab

__all__ = ["FastText", "GloVe", "Vectors", "build_vectors", "load_vectors_from_file_path"]


class Vectors(nn.Module):
    """A table from token to vector.

    Args:
        tokens: distinct tokens.
        vectors: ``[N, dim]``, one for each.
        unk_tensor: ``[dim]``, of unknown tokens; default: zeros.

    Raises:
        ValueError: numbers or lengths that do not fit, or a token that stands twice.
    """

    is_jitable = False
    table: rl.Tensor
    unknown: rl.Tensor

    def __init__(
        self,
        tokens: Sequence[str],
        vectors: rl.Tensor,
        unk_tensor: rl.Tensor | None = None,
    ):
        super().__init__()
        if len(tokens) != len(vectors):
            raise ValueError(f"Vectors(): {len(tokens)} tokens and {len(vectors)} vectors")
        self.rows = {token: row for row, token in enumerate(tokens)}
        if len(self.rows) != len(tokens):
            raise ValueError("Vectors(): a token stands twice in tokens")
        unknown = rl.zeros(vectors.shape[1]) if unk_tensor is None else unk_tensor
        if unknown.shape != vectors.shape[1:]:
            raise ValueError(
                f"Vectors(): unk_tensor has shape {list(unknown.shape)}, the vectors "
                f"{list(vectors.shape[1:])}"
            )
        self.register_buffer("table", vectors)
        self.register_buffer("unknown", unknown)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, token: str) -> rl.Tensor:
        row = self.rows.get(token)
        return self.unknown if row is None else self.table[row]

    def __setitem__(self, token: str, vector: rl.Tensor) -> None:
        """Give a token another vector, or a new one its first."""
        if vector.shape != self.unknown.shape:
            raise ValueError(
                f"Vectors: a vector must have shape {list(self.unknown.shape)}, got "
                f"{list(vector.shape)}"
            )
        if token in self.rows:
            self.table[self.rows[token]] = vector
        else:
            self.rows[token] = len(self.table)
            self.table = rl.cat([self.table, vector[None].to(self.table)])

    def lookup_vectors(self, tokens: Sequence[str]) -> rl.Tensor:
        """``[N, dim]`` of a list of tokens."""
        if not len(tokens):
            return self.table[:0]
        return rl.stack([self[token] for token in tokens])

    def forward(self, tokens: Sequence[str]) -> rl.Tensor:
        """The same as :meth:`lookup_vectors`."""
        return self.lookup_vectors(tokens)


def build_vectors(
    tokens: Sequence[str], vectors: rl.Tensor, unk_tensor: rl.Tensor | None = None
) -> Vectors:
    """:class:`Vectors`.

    >>> build_vectors(["a"], rl.tensor([[1.0, 2.0]]))(["a", "b"])
    tensor([[1., 2.],
            [0., 0.]])
    """
    return Vectors(tokens, vectors, unk_tensor)


def load_vectors_from_file_path(
    filepath: str | os.PathLike,
    delimiter: str = ",",
    unk_tensor: rl.Tensor | None = None,
    num_cpus: int = 10,
) -> Vectors:
    """Read a file of ``token,1 2 3`` a line.

    Args:
        filepath: UTF-8 text.
        delimiter: between the token and its numbers, which spaces separate.
        unk_tensor: of unknown tokens; default: zeros.
        num_cpus: accepted for torchtext's sake; one is used.

    Raises ValueError naming the line where it has another form.
    """
    tokens, rows = [], []
    lines = Path(filepath).read_text(encoding="utf-8").splitlines()
    for number, line in enumerate(lines, start=1):
        token, found, numbers = line.rpartition(delimiter) if delimiter != " " else _first(line)
        try:
            rows.append([float(each) for each in numbers.split()])
        except ValueError as error:
            raise ValueError(f"{filepath}, line {number}: {error}") from None
        if not found or len(rows[-1]) != len(rows[0]):
            raise ValueError(
                f"{filepath}, line {number}: expected a token, {delimiter!r} and "
                f"{len(rows[0])} numbers"
            )
        tokens.append(token)
    return Vectors(tokens, rl.tensor(rows), unk_tensor)


def _first(line: str) -> tuple[str, str, str]:
    return line.partition(" ")


def _of(read: vocab.Vectors, unk_tensor: rl.Tensor | None) -> Vectors:
    return Vectors(read.itos, read.vectors, unk_tensor)


def FastText(  # noqa: N802 - torchtext's name
    language: str = "en",
    unk_tensor: rl.Tensor | None = None,
    root: str = ".data",
    validate_file: bool = True,
    num_cpus: int = 32,
) -> Vectors:
    """fastText's vectors of Wikipedia in `language`; `root` keeps the files."""
    return _of(vocab.FastText(language, cache=root), unk_tensor)


def GloVe(  # noqa: N802 - torchtext's name
    name: str = "840B",
    dim: int = 300,
    unk_tensor: rl.Tensor | None = None,
    root: str = ".data",
    validate_file: bool = True,
    num_cpus: int = 32,
) -> Vectors:
    """GloVe's vectors; `name` and `dim` as of :class:`rushlight_text.vocab.GloVe`."""
    return _of(vocab.GloVe(name, dim, cache=root), unk_tensor)
