"""What the arguments of FSDPStrategy mean: policies of parts, precisions, activations."""

from __future__ import annotations

import functools
import inspect
from typing import Any

from lightning_lite.messages import warn
from rushlight.distributed.algorithms._checkpoint.checkpoint_wrapper import (
    CheckpointWrapper,
    apply_activation_checkpointing,
)
from rushlight.distributed.device_mesh import DeviceMesh, init_device_mesh
from rushlight.distributed.fsdp import (
    FSDPModule,
    MixedPrecision,
    MixedPrecisionPolicy,
    ShardingStrategy,
    fully_shard,
)
from rushlight.distributed.fsdp.wrap import ModuleWrapPolicy, lambda_auto_wrap_policy

_RESHARDS = {
    ShardingStrategy.FULL_SHARD: None,
    ShardingStrategy.SHARD_GRAD_OP: False,
    ShardingStrategy.NO_SHARD: None,
    ShardingStrategy.HYBRID_SHARD: None,
    ShardingStrategy._HYBRID_SHARD_ZERO2: False,
}
HYBRID = (ShardingStrategy.HYBRID_SHARD, ShardingStrategy._HYBRID_SHARD_ZERO2)


def policy_of(given: Any, name: str) -> Any:
    """A policy of `rushlight.distributed.fsdp.wrap`, from what an argument `name` was given.

    TypeError for what is neither classes nor a policy.
    """
    if given is None:
        return None
    if isinstance(given, set | frozenset | tuple | list):
        if not all(isinstance(each, type) for each in given):
            raise TypeError(f"FSDPStrategy({name}={given!r}): expected classes of modules")
        return ModuleWrapPolicy(given)
    if not callable(given):
        if hasattr(given, "_run_policy"):
            return given
        raise TypeError(
            f"FSDPStrategy({name}={given!r}): expected a set of classes, a policy of "
            "rushlight.distributed.fsdp.wrap, or a function of a module"
        )
    return given if _asks(given) else functools.partial(lambda_auto_wrap_policy, lambda_fn=given)


def _asks(policy: Any) -> bool:
    """Whether a function takes `recurse`, as policies do."""
    try:
        inspect.signature(policy).bind(module=None, recurse=True, nonwrapped_numel=0)
    except TypeError:
        return False
    return True


def checkpointing_policy(classes: Any, policy: Any) -> Any:
    """Which parts keep no activations. ValueError where both arguments are given."""
    if classes is not None and policy is not None:
        raise ValueError(
            "FSDPStrategy: give one of activation_checkpointing and activation_checkpointing_policy"
        )
    if classes is not None:
        policy = classes if isinstance(classes, list | tuple | set) else [classes]
        return policy_of(policy, "activation_checkpointing")
    return policy_of(policy, "activation_checkpointing_policy")


def strategy_of(given: Any) -> ShardingStrategy:
    """The sharding strategy that a name, in any case, stands for. ValueError for none."""
    strategy = given
    if isinstance(given, str):
        strategy = ShardingStrategy.__members__.get(given.upper())
    if not isinstance(strategy, ShardingStrategy):
        names = ", ".join(map(repr, ShardingStrategy.__members__))
        raise ValueError(f"FSDPStrategy(sharding_strategy={given!r}): expected one of {names}")
    return strategy


def reshards(strategy: ShardingStrategy) -> bool | None:
    """Whether parameters are given up after forward, as `fully_shard` takes it."""
    return _RESHARDS[strategy]


def check_mesh(strategy: ShardingStrategy, mesh: Any) -> None:
    """ValueError for a mesh that does not say how many processes repeat and divide."""
    if mesh is None:
        return
    if strategy not in HYBRID:
        raise ValueError(
            f"FSDPStrategy(device_mesh={mesh!r}): is for sharding_strategy='HYBRID_SHARD', got "
            f"{strategy.name!r}"
        )
    if (len(mesh) if isinstance(mesh, tuple) else mesh.ndim) != 2:
        raise ValueError(
            f"FSDPStrategy(device_mesh={mesh!r}): expected two sizes, of the processes that hold "
            "the same parts and of those that divide them"
        )


def mesh_of(strategy: ShardingStrategy, given: Any, nodes: int, processes: int, kind: str) -> Any:
    """The mesh of so many machines of so many processes; None for all of them in one row."""
    if strategy not in (*HYBRID, ShardingStrategy.NO_SHARD) or isinstance(given, DeviceMesh):
        return given
    whole = strategy is ShardingStrategy.NO_SHARD
    sizes = (nodes * processes, 1) if whole else given or (nodes, processes)
    return init_device_mesh(kind, sizes)


def offloads(given: Any) -> bool:
    """Whether parameters are to be kept in memory of the CPU."""
    return bool(getattr(given, "offload_params", given))


def precisions(given: Any) -> tuple[Any, Any]:
    """Policies of the whole model and of its parts.

    TypeError for no precision, NotImplementedError for dtypes of buffers and gradients.
    """
    if given is None or isinstance(given, MixedPrecisionPolicy):
        return given, given
    if not isinstance(given, MixedPrecision):
        raise TypeError(
            f"FSDPStrategy(mixed_precision={given!r}): expected a MixedPrecisionPolicy or "
            "MixedPrecision of rushlight.distributed.fsdp"
        )
    if given.buffer_dtype is not None or given.keep_low_precision_grads:
        raise NotImplementedError(
            "FSDPStrategy(mixed_precision=): buffer_dtype and keep_low_precision_grads are not "
            "available; buffers and gradients keep the dtype of the model"
        )
    dtypes = given.param_dtype, given.reduce_dtype
    inside = given.cast_forward_inputs
    root = inside or given.cast_root_forward_inputs
    return tuple(
        MixedPrecisionPolicy(*dtypes, cast_forward_inputs=casts) for casts in (root, inside)
    )  # type: ignore[return-value]


def divide_parts(module: Any, policy: Any, options: dict[str, Any]) -> None:
    """Divide the parts of a module that a policy chooses, inner ones first, each by itself."""
    if policy is None:
        return

    def divide(part: Any, **other: Any) -> Any:
        if other:
            raise NotImplementedError(
                f"FSDPStrategy(auto_wrap_policy=): options of a part, {sorted(other)}, are not "
                "available; return True or False"
            )
        return part if isinstance(part, FSDPModule) else fully_shard(part, **options)

    apply_activation_checkpointing(module, checkpoint_wrapper_fn=divide, auto_wrap_policy=policy)


def checkpoint_activations(module: Any, policy: Any) -> None:
    """Let the parts of a module that a policy chooses compute their activations again in backward.
    Warns, and changes nothing, where the module has such parts already."""
    if policy is None:
        return
    if any(isinstance(each, CheckpointWrapper) for each in module.modules()):
        warn(
            "FSDPStrategy(activation_checkpointing_policy=): the model has parts that keep no "
            "activations already; the policy is not used"
        )
        return
    apply_activation_checkpointing(module, auto_wrap_policy=policy)
