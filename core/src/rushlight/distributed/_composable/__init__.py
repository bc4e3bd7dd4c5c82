"""PyTorch's former path to functions that change modules for several ranks."""

from __future__ import annotations

from rushlight.distributed.fsdp import fully_shard
from rushlight.refusals import rest_of

__all__ = ["fully_shard"]
__getattr__ = rest_of(__name__, parts="fsdp")
