"""A sampler that deals the indices of a dataset out to several processes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rushlight.ops.random.sampling import Generator, randperm
from rushlight.utils.data.sampler import Sampler, T_co

if TYPE_CHECKING:
    from collections.abc import Sized


class DistributedSampler(Sampler[T_co]):
    """The share of one process of a dataset's indices: every `num_replicas`-th, from `rank` on.

    All processes shuffle alike, by ``seed + epoch``; call :meth:`set_epoch` before every epoch.
    Shares are equally long: the first indices are dealt twice, or with `drop_last` the last ones
    not at all. Without an initialized process group both numbers must be given.
    """

    def __init__(
        self,
        dataset: Sized,
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle=True,
        seed=0,
        drop_last=False,
    ):
        from rushlight import distributed

        if num_replicas is None:
            num_replicas = distributed.get_world_size()
        if rank is None:
            rank = distributed.get_rank()
        if not 0 <= rank < num_replicas:
            raise ValueError(
                f"Invalid rank {rank}, rank should be in the interval [0, {num_replicas - 1}]"
            )
        self.dataset, self.num_replicas, self.rank = dataset, num_replicas, rank
        self.epoch, self.drop_last = 0, drop_last
        self.shuffle, self.seed = shuffle, seed
        count = len(dataset)
        if drop_last and count % num_replicas:
            self.num_samples = math.ceil((count - num_replicas) / num_replicas)
        else:
            self.num_samples = math.ceil(count / num_replicas)
        self.total_size = self.num_samples * num_replicas

    def __iter__(self):
        count = len(self.dataset)
        if self.shuffle:
            generator = Generator()
            generator.manual_seed(self.seed + self.epoch)
            indices = randperm(count, generator=generator).tolist()
        else:
            indices = list(range(count))
        if self.drop_last:
            indices = indices[: self.total_size]
        elif indices:
            copies = math.ceil(self.total_size / len(indices))
            indices = (indices * copies)[: self.total_size]
        if len(indices) != self.total_size:
            raise RuntimeError(
                f"DistributedSampler: the dataset had {self.total_size} indices to deal when the "
                f"sampler was made, and has {len(indices)} now"
            )
        return iter(indices[self.rank : self.total_size : self.num_replicas])

    def __len__(self):
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        """Choose the order of the next pass."""
        self.epoch = epoch


__all__ = ["DistributedSampler"]
