"""What a pass over a data pipe has more than one over another data set: all ranks and workers
shuffle alike, and each reads its part."""

from __future__ import annotations

import sys

import rushlight
from rushlight.utils.data import graph_settings, workers
from rushlight.utils.data.sampler import drawn_seed


def _distributed():
    """The module of process groups where a program has made one, or None."""
    distributed = sys.modules.get("rushlight.distributed")
    if distributed is None or not distributed.is_available() or not distributed.is_initialized():
        return None
    return distributed


def ranks() -> tuple[int, int]:
    """How many ranks read, and the number of this one."""
    distributed = _distributed()
    if distributed is None:
        return 1, 0
    return distributed.get_world_size(), distributed.get_rank()


def shared_seed(generator=None) -> int:
    """A seed drawn by the first rank, for all of them."""
    seed, distributed = drawn_seed(generator), _distributed()
    if distributed is None:
        return seed
    sent = [seed]
    distributed.broadcast_object_list(sent, src=0)
    return sent[0]


def seed_pipes(pipe, seed: int) -> None:
    """Seed all pipes that shuffle by one number."""
    generator = rushlight.Generator()
    generator.manual_seed(seed)
    graph_settings.apply_random_seed(pipe, generator)


def _sharding_worker_init_fn(worker_init_fn, world_size, rank_id, worker_id):
    """Let the pipes in a worker process read the part of this rank and worker."""
    info = workers.get_worker_info()
    graph_settings.apply_sharding(
        info.dataset, info.num_workers * world_size, worker_id * world_size + rank_id
    )
    if worker_init_fn is not None:
        worker_init_fn(worker_id)
