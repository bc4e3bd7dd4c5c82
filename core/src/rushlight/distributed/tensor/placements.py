"""How a tensor's elements are divided among the ranks of a mesh."""

from __future__ import annotations

from dataclasses import dataclass


class Placement:
    """Base of :class:`Shard`, :class:`Replicate` and :class:`Partial`."""

    def is_shard(self, dim: int | None = None) -> bool:
        """Whether ranks have parts (along a dimension)."""
        return False

    def is_replicate(self) -> bool:
        """Whether every rank has all elements."""
        return False

    def is_partial(self) -> bool:
        """Whether ranks have summands."""
        return False


@dataclass(frozen=True)
class Shard(Placement):
    """Ranks have consecutive parts along a dimension, the first ones the longer parts."""

    dim: int = 0

    @staticmethod
    def local_shard_size_and_offset(
        curr_local_size: int, num_chunks: int, rank: int
    ) -> tuple[int, int]:
        """How many of so many elements a rank has, and where they begin."""
        start, end = bounds(curr_local_size, num_chunks, rank)
        return end - start, start

    def is_shard(self, dim: int | None = None) -> bool:
        """Whether ranks have parts (along a dimension)."""
        return dim is None or dim == self.dim

    def __str__(self):
        return f"S({self.dim})"


@dataclass(frozen=True)
class Replicate(Placement):
    """Every rank has all elements."""

    def is_replicate(self) -> bool:
        """Whether every rank has all elements."""
        return True

    def __str__(self):
        return "R"


@dataclass(frozen=True)
class Partial(Placement):
    """Ranks have summands of the whole: ``reduce_op`` of them all is the tensor.

    `DTensor.from_local` takes it, and `full_tensor` and `redistribute` reduce.
    """

    reduce_op: str = "sum"

    def is_partial(self) -> bool:
        """Whether ranks have summands."""
        return True

    def __repr__(self):
        return f"Partial({self.reduce_op})"

    def __str__(self):
        return f"P({self.reduce_op})"


def bounds(length: int, size: int, rank: int) -> tuple[int, int]:
    """Where a rank's part of a dimension begins and ends: parts of equal length, rounded up, as
    far as they reach."""
    step = -(-length // size)
    start = min(rank * step, length)
    return start, min(start + step, length)
