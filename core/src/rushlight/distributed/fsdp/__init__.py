"""Models whose parameters are divided among ranks: :func:`fully_shard`, and the older
:class:`FullyShardedDataParallel` around a module.

Stands above DTensors and nn; begin reading at :mod:`.module`.
"""

from rushlight.distributed.fsdp.api import (
    BackwardPrefetch,
    CPUOffload,
    FullOptimStateDictConfig,
    FullStateDictConfig,
    LocalOptimStateDictConfig,
    LocalStateDictConfig,
    MixedPrecision,
    OptimStateDictConfig,
    OptimStateKeyType,
    ShardedOptimStateDictConfig,
    ShardedStateDictConfig,
    ShardingStrategy,
    StateDictConfig,
    StateDictSettings,
    StateDictType,
)
from rushlight.distributed.fsdp.fully_sharded_data_parallel import FullyShardedDataParallel
from rushlight.distributed.fsdp.module import FSDPModule, MixedPrecisionPolicy, fully_shard
from rushlight.refusals import rest_of

__all__ = [
    "BackwardPrefetch", "CPUOffload", "FSDPModule", "FullOptimStateDictConfig",
    "FullStateDictConfig", "FullyShardedDataParallel", "LocalOptimStateDictConfig",
    "LocalStateDictConfig", "MixedPrecision", "MixedPrecisionPolicy", "OptimStateDictConfig",
    "OptimStateKeyType", "ShardedOptimStateDictConfig", "ShardedStateDictConfig",
    "ShardingStrategy", "StateDictConfig", "StateDictSettings", "StateDictType", "fully_shard",
]  # fmt: skip
__getattr__ = rest_of(__name__, parts="sharded_grad_scaler wrap")
