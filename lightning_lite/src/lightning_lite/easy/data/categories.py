"""Targets as numbers: classes by a vocabulary, several classes at once, plain numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import rushlight as rl
from lightning_lite.easy.data.describing import describable


@describable
class Coder:
    """The base of what turns a value into what a sample holds."""

    vocab: Any = None

    def learnt(self) -> dict[str, Any]:
        """What `setup` learnt, as plain values; `relearn` takes it."""
        return {"vocab": self.vocab}

    def relearn(self, state: dict[str, Any]) -> None:
        """Know what another has learnt."""
        self.vocab = state["vocab"]

    def setup(self, values: Iterable[Any]) -> None:
        """Learn from the training values."""

    def __call__(self, value: Any) -> Any:
        """What the sample holds."""
        return value

    def decode(self, value: Any) -> Any:
        """What a person reads."""
        return value


@describable
class Categorize(Coder):
    """A class by its number in `vocab`, by default all that training has; sorted if `sort`, a given
    one as well.

    `add_na`: number 0 stands for classes that are not there; KeyError for them otherwise.
    """

    def __init__(self, vocab: Any = None, sort: bool = True, add_na: bool = False) -> None:
        self.sort, self.add_na = sort, add_na
        self.given = None if vocab is None else self._ordered(vocab)
        self._set(self.given or [])

    def _ordered(self, names: Iterable[Any]) -> list[Any]:
        ordered = sorted(names) if self.sort else list(names)
        return ["#na#", *ordered] if self.add_na else ordered

    def _set(self, vocab: list[Any]) -> None:
        self.vocab = vocab
        self.numbers = {name: number for number, name in enumerate(vocab)}

    def relearn(self, state: dict[str, Any]) -> None:
        """Know the vocabulary that another has learnt."""
        self.given = list(state["vocab"])
        self._set(self.given)

    def setup(self, values: Iterable[Any]) -> None:
        """Learn the vocabulary, unless one was given."""
        if self.given is None:
            self._set(self._ordered(dict.fromkeys(values)))

    def number(self, value: Any) -> int:
        """The number of a class."""
        found = self.numbers.get(value)
        if found is None and not self.add_na:
            raise KeyError(f"the label {value!r} is not among the {len(self.vocab)} of training")
        return found or 0

    def __call__(self, value: Any) -> Any:
        """The class as a tensor of no dimension (int64)."""
        return rl.tensor(self.number(value))

    def decode(self, value: Any) -> Any:
        """The class's name."""
        return self.vocab[int(value)]


@describable
class MultiCategorize(Categorize):
    """Several classes of a sample as ones and zeros `(C,)` (float32); a given `vocab` keeps its
    order."""

    def __init__(self, vocab: Any = None, add_na: bool = False) -> None:
        super().__init__(vocab, sort=vocab is None, add_na=add_na)

    def setup(self, values: Iterable[Any]) -> None:
        """Learn the vocabulary, unless one was given."""
        super().setup(name for names in values for name in names)

    def __call__(self, value: Any) -> Any:
        """Ones where the classes are."""
        row = rl.zeros(len(self.vocab))
        for name in value:
            row[self.number(name)] = 1.0
        return row

    def decode(self, value: Any) -> list[Any]:
        """The classes' names."""
        return [name for name, flag in zip(self.vocab, value.tolist(), strict=True) if flag]


@describable
class CategorizeEach(MultiCategorize):
    """Several classes of a sample by their numbers `(K,)` (int64), in their order."""

    def __call__(self, value: Any) -> Any:
        """The numbers."""
        return rl.tensor([self.number(name) for name in value], dtype=rl.int64)

    def decode(self, value: Any) -> list[Any]:
        """The classes' names."""
        return [self.vocab[number] for number in value.tolist()]


@describable
class EncodedMultiCategorize(Coder):
    """Classes that are ones and zeros already; `vocab`: their names."""

    def __init__(self, vocab: Sequence[Any]) -> None:
        self.vocab = list(vocab)

    def __call__(self, value: Any) -> Any:
        """The ones and zeros as float32. ValueError for another number of them."""
        row = rl.tensor([float(each) for each in value])
        if len(row) != len(self.vocab):
            raise ValueError(f"MultiCategoryBlock: {len(row)} flags for {len(self.vocab)} classes")
        return row

    def decode(self, value: Any) -> list[Any]:
        """The classes' names."""
        return [name for name, flag in zip(self.vocab, value.tolist(), strict=True) if flag]


@describable
class Number(Coder):
    """A number, or `n_out` of them, as float32."""

    def __init__(self, n_out: int | None = None) -> None:
        self.n_out = n_out

    def learnt(self) -> dict[str, Any]:
        """How many numbers a sample has."""
        return {"n_out": self.n_out}

    def relearn(self, state: dict[str, Any]) -> None:
        """Know how many numbers a sample has."""
        self.n_out = state["n_out"]

    def setup(self, values: Iterable[Any]) -> None:
        """Count how many numbers a sample has."""
        first = next(iter(values), 0.0)
        if self.n_out is None:
            self.n_out = len(first) if hasattr(first, "__len__") else 1

    def __call__(self, value: Any) -> Any:
        """The number, or numbers, as a tensor."""
        numbers = [float(each) for each in value] if hasattr(value, "__len__") else float(value)
        return rl.tensor(numbers)

    def decode(self, value: Any) -> Any:
        """Plain numbers."""
        return value.tolist()
