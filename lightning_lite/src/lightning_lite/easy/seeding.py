"""fastai's way to seed."""

from __future__ import annotations

import rushlight as rl
from lightning_lite.random_state import LARGEST_SEED, seed_everything


def set_seed(s: int, reproducible: bool = False) -> None:
    """Seed the generators of Python, NumPy and Rushlight with `s`; the two libraries' with its
    remainder by 2**32 - 1. `reproducible`: have cuDNN choose algorithms that repeat their bits.

    >>> set_seed(42)
    >>> first = rl.rand(1)
    >>> set_seed(42)
    >>> bool(rl.rand(1) == first)
    True
    """
    seed_everything(s % LARGEST_SEED, verbose=False)
    rl.manual_seed(s)
    if reproducible:
        rl.backends.cudnn.deterministic = True
        rl.backends.cudnn.benchmark = False
