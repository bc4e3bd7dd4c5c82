"""PyTorch's former path to `fully_shard`."""

from __future__ import annotations

from rushlight.distributed.fsdp import FSDPModule, MixedPrecisionPolicy, fully_shard
from rushlight.refusals import rest_of

__all__ = ["FSDPModule", "MixedPrecisionPolicy", "fully_shard"]
__getattr__ = rest_of(__name__)
