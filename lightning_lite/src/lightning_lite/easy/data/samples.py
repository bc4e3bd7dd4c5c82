"""Samples of items: every part is got out of the item, read, and numbered."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from lightning_lite.easy.data.blocks import TransformBlock


class Reader:
    """One part of a sample, made of an item."""

    def __init__(self, block: TransformBlock, getter: Callable[[Any], Any]) -> None:
        self.block, self.getter = block, getter

    def setup(self, items: Any) -> None:
        """Learn from the training items."""
        if self.block.coder is not None:
            self.block.coder.setup(self.getter(each) for each in items)

    def __call__(self, item: Any) -> Any:
        """The part."""
        value = self.getter(item)
        if self.block.read is not None:
            value = self.block.read(value)
        return value if self.block.coder is None else self.block.coder(value)


class Samples:
    """The samples of some items, by position; `split`: 0 trains, 1 validates."""

    def __init__(self, items: Sequence[Any], readers: list[Reader], split: int) -> None:
        self.items, self.readers, self.split = items, readers, split

    def __len__(self) -> int:
        """How many there are."""
        return len(self.items)

    def __getitem__(self, position: int) -> tuple[Any, ...]:
        """The parts of a sample."""
        item = self.items[position]
        return tuple(reader(item) for reader in self.readers)


class Datasets:
    """`train` and `valid`: the samples of a source. `learn=False`: readers know their classes."""

    def __init__(
        self, items: Any, splits: Any, readers: list[Reader], n_inp: int, learn: bool = True
    ) -> None:
        rows = items.iloc if hasattr(items, "iloc") else items
        self.items, self.readers, self.n_inp = items, readers, n_inp
        parts = [[rows[position] for position in split] for split in splits]
        for reader in readers if learn else []:
            reader.setup(parts[0])
        self.train, self.valid = (Samples(part, readers, n) for n, part in enumerate(parts))

    @property
    def vocab(self) -> Any:
        """The names of the classes; of each part that has some, where several have."""
        vocabs = [reader.block.vocab for reader in self.readers]
        found = [each for each in vocabs if each is not None]
        return found[0] if len(found) == 1 else found
