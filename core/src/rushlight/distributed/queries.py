"""Questions about groups: ranks, sizes, backends."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from rushlight import devices
from rushlight.distributed.backends import Backend
from rushlight.distributed.groups import GroupMember, default_group, job, resolved
from rushlight.distributed.launching import environments

if TYPE_CHECKING:
    from rushlight.distributed.process_group import ProcessGroup


def is_initialized() -> bool:
    """Whether this process belongs to a group of all processes."""
    return GroupMember.WORLD is not None


def get_rank(group: ProcessGroup | int | None = None) -> int:
    """This process's rank in a group (all processes by default); -1 if it is not in it."""
    found = resolved(group)
    return -1 if found is None else found.rank()


def get_world_size(group: ProcessGroup | int | None = None) -> int:
    """How many processes are in a group (all by default); -1 if this one is not in it."""
    found = resolved(group)
    return -1 if found is None else found.size()


def get_backend(group: ProcessGroup | int | None = None) -> Backend:
    """The name of a group's backend, in lower case."""
    found = resolved(group)
    if found is None:
        raise ValueError("Invalid process group specified: this process does not belong to it")
    return found.backend


def get_backend_config(group: ProcessGroup | int | None = None) -> str:
    """Which backend serves which device, as ``"cpu:gloo,cuda:gloo"``."""
    return get_backend(group).config


def get_default_backend_for_device(device) -> str:
    """The backend that serves a type of device by default."""
    kind = devices.device(device).type if isinstance(device, str) else device.type
    return Backend.default_device_backend_map.get(kind, "gloo")


def get_global_rank(group: ProcessGroup, group_rank: int) -> int:
    """The rank in the whole job of a rank of a group."""
    found = _member(group)
    if not 0 <= group_rank < found.size():
        raise ValueError(
            f"Group rank {group_rank} is not part of group {found.group_name!r} of "
            f"{found.size()} ranks"
        )
    return found.ranks[group_rank]


def get_group_rank(group: ProcessGroup, global_rank: int) -> int:
    """The rank in a group of a rank of the whole job."""
    found = _member(group)
    if global_rank not in found.rank_of:
        raise ValueError(f"Global rank {global_rank} is not part of group {found.ranks}")
    return found.rank_of[global_rank]


def _member(group):
    found = resolved(group)
    if found is None:
        raise ValueError("this process does not belong to the group")
    return found


def get_process_group_ranks(group: ProcessGroup | int | None) -> list[int]:
    """The ranks in the whole job of a group's members, by their rank in the group."""
    return list(_member(group).ranks)


def get_node_local_rank(fallback_rank: int | None = None) -> int:
    """This process's rank on its machine, by the variable LOCAL_RANK, else by those that
    ``srun``, ``jsrun``, ``pbsdsh`` or ``mpiexec`` sets."""
    if "LOCAL_RANK" in os.environ:
        return int(os.environ["LOCAL_RANK"])
    if (found := environments.local_rank()) is not None:
        return found
    if fallback_rank is None:
        raise RuntimeError(
            "LOCAL_RANK is not in the environment. Consider passing fallback_rank to allow "
            "`get_node_local_rank` to work, assuming you are not running in a multi-device context "
            "and want the code to run locally instead."
        )
    return int(fallback_rank)


def get_pg_count() -> int:
    """How many groups this process belongs to."""
    default_group()
    return len(job.groups)
