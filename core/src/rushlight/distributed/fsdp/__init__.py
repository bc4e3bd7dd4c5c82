"""Models whose parameters are divided among ranks: :func:`fully_shard`.

Stands above DTensors and nn; begin reading at :mod:`.module`. ``FullyShardedDataParallel`` refuses:
use :func:`fully_shard`.
"""

from rushlight.distributed.fsdp.module import FSDPModule, MixedPrecisionPolicy, fully_shard
from rushlight.refusals import rest_of

__all__ = ["FSDPModule", "MixedPrecisionPolicy", "fully_shard"]
__getattr__ = rest_of(__name__)
