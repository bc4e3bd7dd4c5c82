"""The ranks that parameters are divided over: a mesh of one dimension, or of two, whose rows divide
them and whose columns hold the same parts."""

from __future__ import annotations

import os

from rushlight.devices import device
from rushlight.distributed.device_mesh import DeviceMesh
from rushlight.distributed.fsdp.api import ShardingStrategy
from rushlight.distributed.groups import default_group
from rushlight.distributed.objects import all_gather_object
from rushlight.distributed.process_group import ProcessGroup

HYBRID = (ShardingStrategy.HYBRID_SHARD, ShardingStrategy._HYBRID_SHARD_ZERO2)
# Parameters stay whole from forward to backward.
KEEPING = (ShardingStrategy.SHARD_GRAD_OP, ShardingStrategy._HYBRID_SHARD_ZERO2)


def kind_of(module, device_id) -> str:
    """The kind of device that a module will be on."""
    if device_id is not None:
        return device(device_id).type
    found = next((p.device.type for p in module.parameters()), "cpu")
    return "cpu" if found == "meta" else found


def mesh_of(kind, strategy, process_group, device_mesh, by_policy) -> DeviceMesh:
    """The mesh of a module on a `kind` of device, from FullyShardedDataParallel's arguments;
    `by_policy`: units inside get it, too."""
    if device_mesh is not None and process_group is not None:
        raise ValueError("Cannot pass both process_group and device_mesh at the same time.")
    if strategy in HYBRID:
        return _of_hybrid(kind, strategy, process_group, device_mesh, by_policy)
    if isinstance(process_group, tuple):
        raise ValueError(
            f"FullyShardedDataParallel: a pair of groups is for hybrid sharding, not {strategy}; "
            "pass one group"
        )
    if device_mesh is not None and device_mesh.ndim != 1:
        raise NotImplementedError(
            f"FullyShardedDataParallel: {strategy} over a mesh of {device_mesh.ndim} dimensions; "
            "pass one of 1, or a hybrid strategy"
        )
    if device_mesh is not None:
        return device_mesh
    if process_group is not None:
        return DeviceMesh.from_group(process_group, kind)
    return DeviceMesh(kind, list(range(default_group().size())))


def _of_hybrid(kind, strategy, process_group, device_mesh, by_policy) -> DeviceMesh:
    if device_mesh is not None:
        if device_mesh.ndim != 2:
            raise ValueError(f"Expected device_mesh to have ndim=2 but got {device_mesh.ndim}")
        return device_mesh
    if process_group is None:
        if not by_policy:
            raise ValueError(
                f"Manual wrapping with {strategy} requires explicit specification of process group "
                "or device_mesh."
            )
        return DeviceMesh(kind, _by_machine(default_group().size()))
    pair = isinstance(process_group, tuple) and len(process_group) == 2
    if not pair or not all(isinstance(each, ProcessGroup) for each in process_group):
        raise ValueError(
            "Expected process_group to be passed in as either None or "
            f"Tuple[dist.ProcessGroup, dist.ProcessGroup] but got {type(process_group)}"
        )
    return _of_groups(kind, *process_group)


def _by_machine(size) -> list:
    """Rows of ranks that a launcher started on one machine."""
    local = int(os.environ.get("LOCAL_WORLD_SIZE", size))
    if size % local:
        raise ValueError(
            f"FullyShardedDataParallel: LOCAL_WORLD_SIZE={local} ranks a machine of {size} in all; "
            "pass process_group or device_mesh"
        )
    return [list(range(first, first + local)) for first in range(0, size, local)]


def _of_groups(kind, dividing, repeating) -> DeviceMesh:
    """The mesh whose row, and column, of this rank are two groups."""
    rows: list = [None] * repeating.size()
    all_gather_object(rows, dividing.ranks, group=repeating)
    return DeviceMesh.from_group([repeating, dividing], kind, rows)
