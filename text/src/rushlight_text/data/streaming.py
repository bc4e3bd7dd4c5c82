"""Text files of any size, line by line, and sequences packed into blocks of one length."""

from __future__ import annotations

import gzip
import itertools
import os
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import rushlight as rl
from rushlight.utils.data import IterableDataset, get_worker_info

__all__ = ["PackedBlocks", "TextLines", "pack"]

Location = str | os.PathLike


class TextLines(IterableDataset):
    """The lines of text files, plain or packed by gzip; never more than a buffer in memory.

    Workers of a `DataLoader` share the lines: each has every n-th.

    Args:
        paths: one file or several.
        transform: function of each line; where it gives None the line is left out.
        buffer_size: lines that are shuffled together; 0 keeps the order.
        seed: of the shuffling, with the number of the pass.
        errors: what becomes of bytes that are not UTF-8, as of ``open``.

    Raises:
        FileNotFoundError: at once, if a file is missing.
        ValueError: a line is not UTF-8; the text names file and line.
    """

    def __init__(
        self,
        paths: Location | Sequence[Location],
        transform: Callable[[str], Any] | None = None,
        *,
        buffer_size: int = 0,
        seed: int = 0,
        errors: str = "strict",
    ):
        self.paths = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
        for path in self.paths:
            if not os.path.isfile(path):
                raise FileNotFoundError(f"TextLines(): no such file: {os.fspath(path)!r}")
        self.transform, self.buffer_size = transform, buffer_size
        self.seed, self.errors, self.passes = seed, errors, 0

    def __iter__(self) -> Iterator[Any]:
        worker = get_worker_info()
        lines: Iterator[str] = itertools.chain.from_iterable(map(self._lines, self.paths))
        if worker is not None:
            lines = itertools.islice(lines, worker.id, None, worker.num_workers)
        if self.buffer_size:
            lines = _mixed(lines, self.buffer_size, random.Random(f"{self.seed} {self.passes}"))
        self.passes += 1
        for line in lines:
            item = line if self.transform is None else self.transform(line)
            if item is not None:
                yield item

    def _lines(self, path: Location) -> Iterator[str]:
        packed = os.fspath(path).endswith(".gz")
        number = 0
        with (gzip.open if packed else open)(path, "rb") as file:
            for number, line in enumerate(file, start=1):
                try:
                    yield line.rstrip(b"\r\n").decode("utf-8", self.errors)
                except UnicodeDecodeError as error:
                    raise ValueError(f"{path}, line {number}: not UTF-8: {error}") from error


def _mixed(items: Iterator[Any], size: int, pick: random.Random) -> Iterator[Any]:
    buffer = list(itertools.islice(items, size))
    for item in items:
        place = pick.randrange(len(buffer))
        buffer[place], item = item, buffer[place]
        yield item
    pick.shuffle(buffer)
    yield from buffer


def pack(
    sequences: Iterable[Sequence[int]],
    block_size: int,
    *,
    separator: int | None = None,
    drop_last: bool = True,
) -> Iterator[list[int]]:
    """All ids one after the other, cut into blocks of `block_size`: nothing is padded.

    Args:
        sequences: lists of ids.
        block_size: ids of a block.
        separator: id that follows each sequence.
        drop_last: leave out what is left after the last whole block.

    >>> list(pack([[1, 2, 3], [4], [5, 6]], 4, separator=0))
    [[1, 2, 3, 0], [4, 0, 5, 6]]
    """
    if block_size < 1:
        raise ValueError(f"pack(): block_size must be positive, got {block_size}")
    block: list[int] = []
    for sequence in sequences:
        block.extend(sequence)
        if separator is not None:
            block.append(separator)
        start = 0
        while len(block) - start >= block_size:
            yield block[start : start + block_size]
            start += block_size
        del block[:start]
    if block and not drop_last:
        yield block


class PackedBlocks(IterableDataset):
    """Blocks for language models: inputs, and targets one id on.

    Args:
        sequences: lists of ids that can be gone through again, such as :class:`TextLines` with a
            tokenizer for `transform`.
        block_size: ids of the inputs.
        separator: id that follows each sequence.

    Yields pairs of int64 ``[block_size]``; the last target of a block is the first
    input of the next.
    """

    def __init__(
        self,
        sequences: Iterable[Sequence[int]],
        block_size: int,
        *,
        separator: int | None = None,
    ):
        if block_size < 1:
            raise ValueError(f"PackedBlocks(): block_size must be positive, got {block_size}")
        self.sequences, self.block_size, self.separator = sequences, block_size, separator

    def __iter__(self) -> Iterator[tuple[rl.Tensor, rl.Tensor]]:
        previous: list[int] = []
        for block in pack(self.sequences, self.block_size, separator=self.separator):
            if previous:
                ids = rl.tensor([*previous, block[0]], dtype=rl.int64)
                yield ids[:-1], ids[1:]
            previous = block
