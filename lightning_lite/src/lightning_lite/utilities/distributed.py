"""Samplers for several processes, and what only the first one does."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from lightning_lite.utilities.rank_zero import (
    rank_zero_deprecation,
    rank_zero_info,
    rank_zero_only,
    rank_zero_warn,
)
from rushlight.utils.data import Dataset, DistributedSampler

__all__ = ["rank_zero_deprecation", "rank_zero_info", "rank_zero_only", "rank_zero_warn"]


def is_shared_filesystem(strategy: Any = None, path: Any = None, timeout: int = 3) -> bool:
    """Whether all machines see the same files: one machine does."""
    return True


def prepare_for_backward(model: Any, output: Any) -> None:
    """Prepare a distributed model's gradients: in one process there is nothing to prepare."""


class _SampledIndices(Dataset):
    """The indices that a sampler gives, as a data set."""

    def __init__(self, sampler: Any) -> None:
        self.sampler = sampler
        self.indices: list[Any] = []

    def reset(self) -> None:
        """Ask the sampler for a new order."""
        self.indices = list(self.sampler)

    def __len__(self) -> int:
        return len(self.sampler)

    def __getitem__(self, index: int) -> Any:
        return self.indices[index]


class DistributedSamplerWrapper(DistributedSampler):
    """Any sampler, divided among processes: each takes every `num_replicas`-th index.

    `kwargs`: `num_replicas`, `rank`, `shuffle`, `drop_last` of `DistributedSampler`.
    """

    dataset: _SampledIndices

    def __init__(self, sampler: Any, *args: Any, **kwargs: Any) -> None:
        super().__init__(_SampledIndices(sampler), *args, **kwargs)

    def __iter__(self) -> Iterator[Any]:
        self.dataset.reset()
        return (self.dataset[index] for index in super().__iter__())


class UnrepeatedDistributedSampler(DistributedSampler):
    """A distributed sampler that repeats no index to give all processes the same number. The order
    follows from the epoch alone."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.rank >= len(self.dataset):
            raise ValueError(
                f"UnrepeatedDistributedSampler: rank {self.rank} of a data set of "
                f"{len(self.dataset)} gets no item"
            )
        self.num_samples = len(range(self.rank, len(self.dataset), self.num_replicas))
        self.total_size = len(self.dataset)

    def __iter__(self) -> Iterator[Any]:
        import rushlight as rl

        order = list(range(self.total_size))
        if self.shuffle:
            generator = rl.Generator().manual_seed(self.epoch)
            order = rl.randperm(self.total_size, generator=generator).tolist()
        return iter(order[self.rank : self.total_size : self.num_replicas])


class UnrepeatedDistributedSamplerWrapper(UnrepeatedDistributedSampler):
    """`UnrepeatedDistributedSampler` over any sampler."""

    dataset: _SampledIndices

    def __init__(self, sampler: Any, *args: Any, **kwargs: Any) -> None:
        super().__init__(_SampledIndices(sampler), *args, **kwargs)

    def __iter__(self) -> Iterator[Any]:
        self.dataset.reset()
        return (self.dataset[index] for index in super().__iter__())
