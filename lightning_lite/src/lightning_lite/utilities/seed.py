"""Random number generators by Lightning's names: seeding, isolating, workers."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

import rushlight as rl
from lightning_lite import random_state
from lightning_lite.random_state import SEED_VARIABLE, WORKERS_VARIABLE, seed_everything

__all__ = ["isolate_rng", "pl_worker_init_function", "reset_seed", "seed_everything"]


@contextmanager
def isolate_rng(include_cuda: bool = True) -> Iterator[None]:
    """Leave every random number generator, at the end of the block, as it was at its start.

    >>> from lightning_lite import seed_everything
    >>> _ = seed_everything(1, verbose=False)
    >>> with isolate_rng():
    ...     inside = rl.rand(3)
    >>> bool((inside == rl.rand(3)).all())
    True
    """
    with random_state.isolated():
        yield


def reset_seed(verbose: bool = True) -> None:
    """Seed again with the seed that `seed_everything` was given last; nothing without one."""
    seed = os.environ.get(SEED_VARIABLE)
    if seed is not None:
        workers = os.environ.get(WORKERS_VARIABLE, "0") == "1"
        seed_everything(int(seed), workers=workers, verbose=verbose)


def pl_worker_init_function(worker_id: int, rank: int | None = None) -> None:
    """A `worker_init_fn` that seeds Python's and NumPy's generators from the worker's own seed."""
    seed = (rl.initial_seed() + 7919 * (rank or 0)) % (random_state.LARGEST_SEED + 1)
    seed_everything(seed, verbose=False)
