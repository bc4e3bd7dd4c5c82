"""Collectives with gradients: backward sends gradients the way that values came.

Stands beside the collectives and may import them; all of it is in :mod:`.functional`.
"""

from __future__ import annotations

from rushlight.distributed.nn.functional import (
    all_gather,
    all_reduce,
    all_to_all,
    all_to_all_single,
    broadcast,
    gather,
    reduce,
    reduce_scatter,
    scatter,
)
from rushlight.refusals import rest_of

__all__ = [
    "all_gather", "all_reduce", "all_to_all", "all_to_all_single", "broadcast", "gather", "reduce",
    "reduce_scatter", "scatter",
]  # fmt: skip

__getattr__ = rest_of(__name__, parts="functional")
