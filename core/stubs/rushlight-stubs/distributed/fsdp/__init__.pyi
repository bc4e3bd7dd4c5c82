# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from rushlight._words import _bool
from rushlight._words import _int
from rushlight.distributed.device_mesh import DeviceMesh
from rushlight.nn.module import Module
from rushlight.tensor.tensor import Parameter

from rushlight.distributed.fsdp.api import BackwardPrefetch as BackwardPrefetch
from rushlight.distributed.fsdp.api import CPUOffload as CPUOffload
from rushlight.distributed.fsdp.module import FSDPModule as FSDPModule
from rushlight.distributed.fsdp.api import FullOptimStateDictConfig as FullOptimStateDictConfig
from rushlight.distributed.fsdp.api import FullStateDictConfig as FullStateDictConfig
from rushlight.distributed.fsdp.fully_sharded_data_parallel import FullyShardedDataParallel as FullyShardedDataParallel
from rushlight.distributed.fsdp.api import LocalOptimStateDictConfig as LocalOptimStateDictConfig
from rushlight.distributed.fsdp.api import LocalStateDictConfig as LocalStateDictConfig
from rushlight.distributed.fsdp.api import MixedPrecision as MixedPrecision
from rushlight.distributed.fsdp.module import MixedPrecisionPolicy as MixedPrecisionPolicy
from rushlight.distributed.fsdp.api import OptimStateDictConfig as OptimStateDictConfig
from rushlight.distributed.fsdp.api import OptimStateKeyType as OptimStateKeyType
from rushlight.distributed.fsdp.api import ShardedOptimStateDictConfig as ShardedOptimStateDictConfig
from rushlight.distributed.fsdp.api import ShardedStateDictConfig as ShardedStateDictConfig
from rushlight.distributed.fsdp.api import ShardingStrategy as ShardingStrategy
from rushlight.distributed.fsdp.api import StateDictConfig as StateDictConfig
from rushlight.distributed.fsdp.api import StateDictSettings as StateDictSettings
from rushlight.distributed.fsdp.api import StateDictType as StateDictType
def fully_shard(module: Module, *, mesh: DeviceMesh | None = ..., reshard_after_forward: _bool | _int | None = ..., shard_placement_fn: None = ..., mp_policy: MixedPrecisionPolicy | None = ..., offload_policy: object = ..., ignored_params: set[Parameter] | None = ...) -> FSDPModule: ...
