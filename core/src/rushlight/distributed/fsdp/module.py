"""fully_shard: the parameters of modules divided among ranks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rushlight.autograd.graph import saved_tensors_hooks
from rushlight.autograd.mode import is_grad_enabled
from rushlight.distributed.device_mesh import DeviceMesh
from rushlight.distributed.fsdp.sharded_parameters import ShardedParameters
from rushlight.distributed.groups import default_group
from rushlight.distributed.tensor.dtensor import DTensor
from rushlight.dtypes import dtype
from rushlight.nn.module import Module
from rushlight.tensor.tensor import Parameter, Tensor
from rushlight.utils._pytree import tree_map
from rushlight.utils.checkpoint import BEFORE_SECOND_RUN

__all__ = ["FSDPModule", "MixedPrecisionPolicy", "fully_shard"]


@dataclass(frozen=True)
class MixedPrecisionPolicy:
    """In which dtypes a module computes and reduces.

    param_dtype: of whole parameters and, with `cast_forward_inputs`, of inputs.
    reduce_dtype: of gradients while they are averaged; `param_dtype` by default.
    output_dtype: of outputs.
    """

    param_dtype: dtype | None = None
    reduce_dtype: dtype | None = None
    output_dtype: dtype | None = None
    cast_forward_inputs: bool = True


_depth = [0]  # of forwards of sharded modules that go on


class FSDPModule:
    """What a module is that was given to :func:`fully_shard`, beside its own class."""

    _sharded: ShardedParameters
    _reshards: bool | None
    _policy: MixedPrecisionPolicy

    def forward(self, *args, **kwargs):
        """The module's forward, with its parameters whole."""
        policy = self._policy
        if policy.param_dtype is not None and policy.cast_forward_inputs:
            args, kwargs = cast((args, kwargs), policy.param_dtype)
        output = computed_whole(self._sharded, self._reshards, super().forward, args, kwargs)
        return output if policy.output_dtype is None else cast(output, policy.output_dtype)

    def unshard(self, async_op: bool = False) -> None:
        """Make this module's parameters whole."""
        self._sharded.unshard()

    def reshard(self) -> None:
        """Keep this rank's parts of the parameters alone."""
        self._sharded.reshard()

    def set_requires_gradient_sync(self, requires_gradient_sync, *, recurse=True) -> None:
        """Whether backward averages gradients; without it they add up, whole, on each rank."""
        for module in _sharded_in(self, recurse):
            module._sharded.synchronizes = requires_gradient_sync

    def set_reshard_after_forward(self, reshard_after_forward, recurse=True) -> None:
        """Whether parameters are given up between forward and backward."""
        for module in _sharded_in(self, recurse):
            module._reshards = reshard_after_forward

    def state_dict(self, *args, **kwargs):
        """The module's state dict; parameters are DTensors."""
        self._sharded.reshard()
        return super().state_dict(*args, **kwargs)


def _sharded_in(module: Any, recurse) -> list:
    """A sharded module, with `recurse` those inside of it as well."""
    found = module.modules() if recurse else [module]
    return [each for each in found if isinstance(each, FSDPModule)]


def is_outermost() -> bool:
    """Whether no forward of a sharded module goes on."""
    return not _depth[0]


def computed_whole(state, reshards, forward, args, kwargs):
    """A forward with parameters whole, given up after it unless `reshards` is False, or None and
    this is the outermost module."""
    state.unshard()
    _depth[0] += 1
    BEFORE_SECOND_RUN.append(state.unshard_again)
    try:
        with saved_tensors_hooks(state.pack, state.unpack):
            output = forward(*args, **kwargs)
    finally:
        BEFORE_SECOND_RUN.pop()
        _depth[0] -= 1
    outermost = is_outermost() and reshards is None
    if reshards is not False and not (outermost and is_grad_enabled()):
        state.reshard()
    return output


def cast(values, dtype):
    """Floating-point tensors of a structure in a dtype."""

    def one(value):
        if isinstance(value, Tensor) and value.is_floating_point():
            return value.to(dtype)
        return value

    return tree_map(one, values)


def fully_shard(
    module: Module,
    *,
    mesh: DeviceMesh | None = None,
    reshard_after_forward: bool | int | None = None,
    shard_placement_fn: None = None,
    mp_policy: MixedPrecisionPolicy | None = None,
    offload_policy: object = None,
    ignored_params: set[Parameter] | None = None,
):
    """Divide a module's parameters among ranks: each holds its rows of every parameter.

    Call it for the layers and then for the whole model. The parameters of one call become whole
    together for forward and backward, and gradients are averaged and divided. Optimizers see, and
    have state for, this rank's parts; the result is that of DistributedDataParallel.

    Args:
        module: on the CPU or a GPU, the same on every rank. Its class becomes one that is also
            :class:`FSDPModule`.
        mesh: the ranks; all by default. Of a mesh of two dimensions the ranks of a row divide the
            parameters, and those of a column hold the same parts (hybrid sharding).
        reshard_after_forward: whether parameters are given up between forward and backward; by
            default they are, except those of the outermost module.
        mp_policy: a :class:`MixedPrecisionPolicy`.
        ignored_params: a set of parameters that every rank keeps whole.

    Returns the module. `shard_placement_fn` is not available; `offload_policy` is of no
    consequence on the CPU.
    """
    if shard_placement_fn is not None:
        raise NotImplementedError("fully_shard: shard_placement_fn is not available; leave it out")
    if isinstance(module, FSDPModule):
        raise ValueError("fully_shard: the module is sharded already")
    if mesh is None:
        kinds = [parameter.device.type for parameter in module.parameters()]
        mesh = DeviceMesh(kinds[0] if kinds else "cpu", list(range(default_group().size())))
    if mesh.ndim not in (1, 2):
        raise ValueError(f"fully_shard expects a 1D or 2D DeviceMesh but got {mesh}")
    policy = mp_policy or MixedPrecisionPolicy()
    chosen = unsharded_parameters(module, ignored_params or set())
    kind = type(module)
    module.__class__ = type("FSDP" + kind.__name__, (FSDPModule, kind), {})
    module._policy, module._reshards = policy, reshard_after_forward
    module.__dict__["_sharded"] = ShardedParameters(chosen, mesh, policy)
    return module


def unsharded_parameters(module, ignored):
    """``[((owner, name), ...), parameter]`` of the parameters that no inner call has taken."""
    skipped = {id(parameter) for parameter in ignored}
    found: dict[int, tuple] = {}
    for owner in module.modules():
        for name, parameter in owner._parameters.items():
            if parameter is None or isinstance(parameter, DTensor) or id(parameter) in skipped:
                continue
            if parameter.is_meta:
                raise NotImplementedError(
                    f"fully_shard: the parameter {name!r} is on meta; make the module on "
                    "the CPU or a GPU"
                )
            if not parameter.dim():
                raise ValueError(
                    f"fully_shard doesn't support scalar parameters. Change {name} to a 1D tensor "
                    "with numel equal to 1."
                )
            found.setdefault(id(parameter), ([], parameter))[0].append((owner, name))
    return list(found.values())
