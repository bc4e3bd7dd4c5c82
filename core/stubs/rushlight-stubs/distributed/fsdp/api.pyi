# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from rushlight._words import _bool
from rushlight._words import _dtype
from rushlight.dtypes import dtype
from typing import Any

class BackwardPrefetch(Enum):
    BACKWARD_PRE = 1
    BACKWARD_POST = 2
class CPUOffload:
    offload_params: _bool
    def __init__(self, offload_params: _bool = ...) -> None: ...
class FullOptimStateDictConfig(OptimStateDictConfig):
    rank0_only: _bool
    def __init__(self, offload_to_cpu: _bool = ..., rank0_only: _bool = ...) -> None: ...
class FullStateDictConfig(StateDictConfig):
    rank0_only: _bool
    def __init__(self, offload_to_cpu: _bool = ..., rank0_only: _bool = ...) -> None: ...
class LocalOptimStateDictConfig(OptimStateDictConfig):
    offload_to_cpu: _bool
    def __init__(self, offload_to_cpu: _bool = ...) -> None: ...
class LocalStateDictConfig(StateDictConfig):
    def __init__(self, offload_to_cpu: _bool = ...) -> None: ...
class MixedPrecision:
    param_dtype: Any
    reduce_dtype: Any
    buffer_dtype: Any
    keep_low_precision_grads: _bool
    cast_forward_inputs: _bool
    cast_root_forward_inputs: _bool
    def __init__(self, param_dtype: _dtype | None = ..., reduce_dtype: _dtype | None = ..., buffer_dtype: _dtype | None = ..., keep_low_precision_grads: _bool = ..., cast_forward_inputs: _bool = ..., cast_root_forward_inputs: _bool = ..., _module_classes_to_ignore: Sequence[type[Any]] = ...) -> None: ...
class OptimStateDictConfig:
    offload_to_cpu: _bool
    def __init__(self, offload_to_cpu: _bool = ...) -> None: ...
class OptimStateKeyType(Enum):
    PARAM_NAME = 1
    PARAM_ID = 2
class ShardedOptimStateDictConfig(OptimStateDictConfig):
    def __init__(self, offload_to_cpu: _bool = ..., _use_dtensor: _bool = ...) -> None: ...
class ShardedStateDictConfig(StateDictConfig):
    def __init__(self, offload_to_cpu: _bool = ..., _use_dtensor: _bool = ...) -> None: ...
class ShardingStrategy(Enum):
    FULL_SHARD = 1
    SHARD_GRAD_OP = 2
    NO_SHARD = 3
    HYBRID_SHARD = 4
    _HYBRID_SHARD_ZERO2 = 5
class StateDictConfig:
    offload_to_cpu: _bool
    def __init__(self, offload_to_cpu: _bool = ...) -> None: ...
class StateDictSettings:
    def __init__(self, state_dict_type: StateDictType, state_dict_config: StateDictConfig, optim_state_dict_config: OptimStateDictConfig) -> None: ...
    state_dict_type: StateDictType
    state_dict_config: StateDictConfig
    optim_state_dict_config: OptimStateDictConfig
class StateDictType(Enum):
    FULL_STATE_DICT = 1
    LOCAL_STATE_DICT = 2
    SHARDED_STATE_DICT = 3
