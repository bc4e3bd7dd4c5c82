"""Settings of :class:`FullyShardedDataParallel`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto

from rushlight.dtypes import dtype
from rushlight.nn.normalization import _BatchNorm

__all__ = [
    "BackwardPrefetch", "CPUOffload", "FullOptimStateDictConfig", "FullStateDictConfig",
    "LocalOptimStateDictConfig", "LocalStateDictConfig", "MixedPrecision", "OptimStateDictConfig",
    "OptimStateKeyType", "ShardedOptimStateDictConfig", "ShardedStateDictConfig",
    "ShardingStrategy", "StateDictConfig", "StateDictSettings", "StateDictType",
]  # fmt: skip


class ShardingStrategy(Enum):
    """What is divided among ranks.

    FULL_SHARD: parameters, gradients and states; parameters are given up after forward.
    SHARD_GRAD_OP: the same, but parameters stay whole from forward to backward.
    NO_SHARD: nothing; each rank has everything, and gradients are averaged.
    HYBRID_SHARD, _HYBRID_SHARD_ZERO2: as the first two among the ranks of a machine
    (``LOCAL_WORLD_SIZE``), each of which holds all; gradients are averaged over the machines. Other
    ranks go together by `process_group`, a pair of groups that divides and repeats, or by
    `device_mesh`, whose rows divide.
    """

    FULL_SHARD = auto()
    SHARD_GRAD_OP = auto()
    NO_SHARD = auto()
    HYBRID_SHARD = auto()
    _HYBRID_SHARD_ZERO2 = auto()


class BackwardPrefetch(Enum):
    """When the next parameters are gathered in backward. Here they are gathered where they are
    needed: of no consequence."""

    BACKWARD_PRE = auto()
    BACKWARD_POST = auto()


@dataclass
class MixedPrecision:
    """In which dtypes a module computes and reduces.

    param_dtype: of whole parameters, and of inputs that are cast.
    reduce_dtype: of gradients while they are averaged; `param_dtype` by default.
    buffer_dtype: of floating-point buffers; state dicts have their own.
    keep_low_precision_grads: refused.
    cast_forward_inputs: cast the inputs of every such module.
    cast_root_forward_inputs: cast those of the outermost one.
    _module_classes_to_ignore: classes that keep their precision under an `auto_wrap_policy`.
    """

    param_dtype: dtype | None = None
    reduce_dtype: dtype | None = None
    buffer_dtype: dtype | None = None
    keep_low_precision_grads: bool = False
    cast_forward_inputs: bool = False
    cast_root_forward_inputs: bool = True
    _module_classes_to_ignore: Sequence[type] = (_BatchNorm,)


@dataclass
class CPUOffload:
    """Whether parts of parameters are kept in memory of the CPU (`offload_params`); on the CPU they
    are."""

    offload_params: bool = False


class StateDictType(Enum):
    """What state dicts hold.

    FULL_STATE_DICT: whole tensors.
    LOCAL_STATE_DICT: for each unit ``_flat_param``, its parameters one after another as a DTensor
    of one dimension, a copy, instead of PyTorch's ShardedTensor; optimizers' are parts.
    SHARDED_STATE_DICT: parts, as DTensors.
    """

    FULL_STATE_DICT = auto()
    LOCAL_STATE_DICT = auto()
    SHARDED_STATE_DICT = auto()


@dataclass
class StateDictConfig:
    """How state dicts are made; `offload_to_cpu`: in memory of the CPU."""

    offload_to_cpu: bool = False


@dataclass
class FullStateDictConfig(StateDictConfig):
    """For whole tensors; `rank0_only`: the other ranks get empty dicts. `offload_to_cpu`: in memory
    of the CPU."""

    rank0_only: bool = False


@dataclass
class LocalStateDictConfig(StateDictConfig):
    """For parts of flat parameters; `offload_to_cpu`: in memory of the CPU."""


@dataclass
class ShardedStateDictConfig(StateDictConfig):
    """For parts, which are DTensors whatever `_use_dtensor` is; `offload_to_cpu`: in memory of the
    CPU."""

    _use_dtensor: bool = False


@dataclass
class OptimStateDictConfig:
    """How state dicts of optimizers are made; `offload_to_cpu`: in memory of the CPU."""

    offload_to_cpu: bool = True


@dataclass
class FullOptimStateDictConfig(OptimStateDictConfig):
    """For whole tensors; `rank0_only`: the other ranks get empty dicts. `offload_to_cpu`: in memory
    of the CPU."""

    rank0_only: bool = False


@dataclass
class LocalOptimStateDictConfig(OptimStateDictConfig):
    """For parts of flat parameters; `offload_to_cpu`: in memory of the CPU."""

    offload_to_cpu: bool = False


@dataclass
class ShardedOptimStateDictConfig(OptimStateDictConfig):
    """For parts, which are DTensors whatever `_use_dtensor` is; `offload_to_cpu`: in memory of the
    CPU."""

    _use_dtensor: bool = False


@dataclass
class StateDictSettings:
    """What state dicts of a module and of its optimizer hold (`state_dict_type`), and how they are
    made (`state_dict_config`, `optim_state_dict_config`)."""

    state_dict_type: StateDictType
    state_dict_config: StateDictConfig
    optim_state_dict_config: OptimStateDictConfig


class OptimStateKeyType(Enum):
    """What the parameters of an optimizer's state dict are called by."""

    PARAM_NAME = auto()
    PARAM_ID = auto()
