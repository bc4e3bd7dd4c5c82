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
            self.block.coder.setup(self._read(self.getter(each)) for each in items)

    def _read(self, value: Any) -> Any:
        return value if self.block.read is None else self.block.read(value)

    def __call__(self, item: Any, outside: bool = False) -> Any:
        """The part; of an item from `outside` that the getter does not fit, the item itself."""
        fits = getattr(self.getter, "fits", None)
        whole = outside and fits is not None and not fits(item)
        value = self._read(item if whole else self.getter(item))
        return value if self.block.coder is None else self.block.coder(value)


class Samples:
    """The samples of some items, by position; `split`: 0 trains, 1 validates. `outside`: items may
    be inputs themselves."""

    def __init__(
        self, items: Sequence[Any], readers: list[Reader], split: int, outside: bool = False
    ) -> None:
        self.items, self.readers, self.split, self.outside = items, readers, split, outside
        self.kept: dict[tuple[int, int], Any] = {}

    def __len__(self) -> int:
        """How many there are."""
        return len(self.items)

    def of_split(self, split: int) -> Samples:
        """The same samples, for the transforms of training (0) or validation (1)."""
        made = Samples(self.items, self.readers, split, self.outside)
        made.kept = self.kept
        return made

    def __getitem__(self, position: int) -> tuple[Any, ...]:
        """The parts of a sample."""
        numbers = range(len(self.readers))
        return tuple(self._part(position, number) for number in numbers)

    def _part(self, position: int, number: int) -> Any:
        key, reader = (position, number), self.readers[number]
        if key in self.kept:
            return self.kept[key]
        made = reader(self.items[position], self.outside)
        if reader.block.keeps:
            self.kept[key] = made
        return made


class Datasets:
    """`train` and `valid`: the samples of a source. `learn=False`: readers know their classes."""

    def __init__(
        self, items: Any, splits: Any, readers: list[Reader], n_inp: int, learn: bool = True
    ) -> None:
        for reader in readers:
            items = items if reader.block.prepare is None else reader.block.prepare(items)
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
