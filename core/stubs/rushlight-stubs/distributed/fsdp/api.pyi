# Written by ci/stubs.py from what the package says at run time: do not edit.
from __future__ import annotations

from collections.abc import Sequence
from rushlight._words import _bool
from rushlight._words import _dtype
from rushlight.dtypes import dtype
from rushlight.tensor.tensor import Tensor
from typing import Any
from typing import Self

class BackwardPrefetch:
    BACKWARD_PRE: Any
    BACKWARD_POST: Any
    def __new__(cls, value: Tensor) -> Self: ...
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
class OptimStateKeyType:
    PARAM_NAME: Any
    PARAM_ID: Any
    def __new__(cls, value: Tensor) -> Self: ...
class ShardedOptimStateDictConfig(OptimStateDictConfig):
    def __init__(self, offload_to_cpu: _bool = ..., _use_dtensor: _bool = ...) -> None: ...
class ShardedStateDictConfig(StateDictConfig):
    def __init__(self, offload_to_cpu: _bool = ..., _use_dtensor: _bool = ...) -> None: ...
class ShardingStrategy:
    FULL_SHARD: Any
    SHARD_GRAD_OP: Any
    NO_SHARD: Any
    HYBRID_SHARD: Any
    def __new__(cls, value: Tensor) -> Self: ...
class StateDictConfig:
    offload_to_cpu: _bool
    def __init__(self, offload_to_cpu: _bool = ...) -> None: ...
class StateDictSettings:
    def __init__(self, state_dict_type: StateDictType, state_dict_config: StateDictConfig, optim_state_dict_config: OptimStateDictConfig) -> None: ...
class StateDictType:
    FULL_STATE_DICT: Any
    LOCAL_STATE_DICT: Any
    SHARDED_STATE_DICT: Any
    def __new__(cls, value: Tensor) -> Self: ...
