"""Groups that divide all ranks, or those of a group, among them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rushlight.distributed.groups import GroupMember, default_group, resolved
from rushlight.distributed.initialization import new_group
from rushlight.machine.cuda import runtime

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import timedelta

    from rushlight.distributed.process_group import ProcessGroup


def new_subgroups(
    group_size: int | None = None,
    group: ProcessGroup | int | None = None,
    timeout: timedelta | float | None = None,
    backend: str | None = None,
    pg_options: object = None,
    group_desc: str | None = None,
) -> tuple[ProcessGroup | int | None, list[ProcessGroup | int]]:
    """Divide all ranks into groups of `group_size` neighbours, by default as many as this machine
    has GPUs; returns (this rank's group, all)."""
    world = default_group()
    if group_size is None:
        if not runtime.available():
            raise ValueError("Default group size only takes effect when CUDA is available")
        group_size = runtime.current().device_count()
    if group_size <= 0:
        raise ValueError(f"The arg 'group_size' ({group_size}) must be positive")
    if world.size() % group_size:
        raise ValueError(
            f"The world size ({world.size()}) must be divisible by 'group_size={group_size}'"
        )
    starts = range(0, world.size(), group_size)
    ranks = [list(range(start, start + group_size)) for start in starts]
    return new_subgroups_by_enumeration(ranks, timeout, backend, pg_options, group_desc)


def new_subgroups_by_enumeration(
    ranks_per_subgroup_list: Sequence[Sequence[int]],
    timeout: timedelta | float | None = None,
    backend: str | None = None,
    pg_options: object = None,
    group_desc: str | None = None,
) -> tuple[ProcessGroup | int | None, list[ProcessGroup | int]]:
    """Make a group of each list of ranks, no rank twice; returns (this rank's group, all)."""
    if not ranks_per_subgroup_list:
        raise ValueError("The arg 'ranks_per_subgroup_list' cannot be empty")
    world = default_group()
    named = [rank for ranks in ranks_per_subgroup_list for rank in ranks]
    if len(set(named)) != len(named):
        twice = next(rank for rank in named if named.count(rank) > 1)
        raise ValueError(f"Rank {twice} has appeared in more than one subgroup")
    groups = [
        new_group(r, timeout, backend, group_desc=group_desc) for r in ranks_per_subgroup_list
    ]
    own = None
    for ranks, made in zip(ranks_per_subgroup_list, groups, strict=True):
        if world.world_rank in ranks:
            own = made
    return own, groups


def split_group(
    parent_pg: ProcessGroup | None = None,
    split_ranks: Sequence[Sequence[int]] | None = None,
    timeout: timedelta | float | None = None,
    pg_options: object = None,
    group_desc: str | None = None,
    backend: str | None = None,
) -> ProcessGroup | int | None:
    """This rank's group of those into which `split_ranks` (lists of ranks of the parent) divides
    the parent; None if it is in none."""
    parent = resolved(parent_pg)
    if parent is None or not split_ranks:
        raise ValueError("split_group: needs a group that this process is in, and split_ranks")
    own = None
    for ranks in split_ranks:
        named = [parent.ranks[rank] for rank in ranks]
        made = new_group(named, timeout, backend, group_desc=group_desc)
        if made is not GroupMember.NON_GROUP_MEMBER:
            own = made
    return own
