"""PyTorch's path to how a tensor's elements are divided among ranks."""

from __future__ import annotations

from rushlight.distributed.tensor.placements import Partial, Placement, Replicate, Shard
from rushlight.refusals import rest_of

__all__ = ["Partial", "Placement", "Replicate", "Shard"]
__getattr__ = rest_of(__name__)
