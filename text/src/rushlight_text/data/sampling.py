"""Batches of sequences of similar length, by number or by tokens."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from rushlight.utils.data import Sampler

__all__ = ["LengthBucketSampler", "TokenBudgetSampler"]

BUCKET = 100  # batches that are sorted together


class _ByLength(Sampler):
    """Indices in nearly the order of their lengths, cut into batches by the subclass."""

    def __init__(self, lengths: Sequence[int], shuffle: bool, seed: int, bucket: int):
        for index, length in enumerate(lengths):
            if length < 0:
                raise ValueError(f"{type(self).__name__}(): length {index} is {length}")
        self.lengths, self.shuffle, self.seed, self.bucket = list(lengths), shuffle, seed, bucket
        self.epoch = 0

    def set_epoch(self, epoch: int) -> None:
        """Let the next pass have the order of an epoch; by itself it goes on from 0."""
        self.epoch = epoch

    def _cut(self, order: list[int]) -> Iterator[list[int]]:
        raise NotImplementedError

    def _batches(self, epoch: int) -> list[list[int]]:
        if not self.shuffle:
            return list(self._cut(sorted(range(len(self.lengths)), key=self.lengths.__getitem__)))
        pick = random.Random(f"{self.seed} {epoch}")
        order = list(range(len(self.lengths)))
        pick.shuffle(order)
        batches: list[list[int]] = []
        for start in range(0, len(order), self.bucket):
            part = sorted(order[start : start + self.bucket], key=self.lengths.__getitem__)
            batches += self._cut(part)
        pick.shuffle(batches)
        return batches

    def __iter__(self) -> Iterator[list[int]]:
        epoch, self.epoch = self.epoch, self.epoch + 1
        yield from self._batches(epoch)


class LengthBucketSampler(_ByLength):
    """Batches of `batch_size` indices whose sequences are of similar length.

    For ``DataLoader(batch_sampler=...)``. A hundred batches at a time are drawn at random, sorted
    by length, and cut; so padding is little, and batches differ from epoch to epoch.

    Args:
        lengths: of all sequences.
        batch_size: indices in a batch.
        shuffle: at random; else by length, the shortest first.
        drop_last: leave out batches that are not full.
        seed: of the order, with the number of the epoch.
        bucket: batches that are sorted together.

    >>> list(LengthBucketSampler([5, 1, 4, 2], 2, shuffle=False))
    [[1, 3], [2, 0]]
    """

    def __init__(
        self,
        lengths: Sequence[int],
        batch_size: int,
        *,
        shuffle: bool = True,
        drop_last: bool = False,
        seed: int = 0,
        bucket: int = BUCKET,
    ):
        if batch_size < 1:
            raise ValueError(
                f"LengthBucketSampler(): batch_size must be positive, got {batch_size}"
            )
        super().__init__(lengths, shuffle, seed, bucket * batch_size)
        self.batch_size, self.drop_last = batch_size, drop_last

    def _cut(self, order: list[int]) -> Iterator[list[int]]:
        for start in range(0, len(order), self.batch_size):
            batch = order[start : start + self.batch_size]
            if len(batch) == self.batch_size or not self.drop_last:
                yield batch

    def __len__(self) -> int:
        whole, rest = divmod(len(self.lengths), self.batch_size)
        return whole + (rest > 0 and not self.drop_last)


class TokenBudgetSampler(_ByLength):
    """Batches of as many indices as fit into `max_tokens`, padding included.

    For ``DataLoader(batch_sampler=...)``: many short sequences or few long ones, so that all
    batches take about the same memory and time. A sequence that is longer than the budget is a
    batch of its own.

    Args:
        lengths: of all sequences.
        max_tokens: longest length times number of sequences of a batch, at most.
        max_sequences: number of sequences of a batch, at most.
        multiple: lengths count as if padded to a multiple of it.
        shuffle, seed: as of :class:`LengthBucketSampler`.
        bucket: sequences that are sorted together.

    >>> list(TokenBudgetSampler([5, 1, 4, 2], 8, shuffle=False))
    [[1, 3], [2], [0]]
    """

    def __init__(
        self,
        lengths: Sequence[int],
        max_tokens: int,
        *,
        max_sequences: int | None = None,
        multiple: int = 1,
        shuffle: bool = True,
        seed: int = 0,
        bucket: int = 10_000,
    ):
        if max_tokens < 1 or multiple < 1:
            raise ValueError(
                "TokenBudgetSampler(): max_tokens and multiple must be positive, got "
                f"{max_tokens} and {multiple}"
            )
        super().__init__(lengths, shuffle, seed, bucket)
        self.max_tokens, self.multiple = max_tokens, multiple
        self.max_sequences = max_sequences or len(self.lengths)
        self._counted: tuple[int, list[list[int]]] | None = None

    def _cut(self, order: list[int]) -> Iterator[list[int]]:
        batch: list[int] = []
        longest = 0
        for index in order:
            length = max(longest, -(-self.lengths[index] // self.multiple) * self.multiple)
            full = length * (len(batch) + 1) > self.max_tokens
            if batch and (full or len(batch) == self.max_sequences):
                yield batch
                batch = []
                length = -(-self.lengths[index] // self.multiple) * self.multiple
            batch.append(index)
            longest = length
        if batch:
            yield batch

    def __len__(self) -> int:
        """The number of batches of the coming epoch."""
        if self._counted is None or self._counted[0] != self.epoch:
            self._counted = (self.epoch, self._batches(self.epoch))
        return len(self._counted[1])
