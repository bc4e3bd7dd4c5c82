"""Python objects between processes: pickled, as bytes in tensors.

Unpickling runs what the sender says: exchange objects with processes of one's own job alone.
"""

from __future__ import annotations

import io
import pickle
from typing import TYPE_CHECKING, Any

from rushlight import dtypes
from rushlight.distributed import collectives, exchanges, point_to_point
from rushlight.distributed.groups import resolved
from rushlight.machine import np
from rushlight.tensor.tensor import make_tensor

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rushlight.distributed.process_group import ProcessGroup


def _pickled(value):
    file = io.BytesIO()
    pickle.Pickler(file, protocol=5).dump(value)
    return _bytes(np.frombuffer(file.getvalue(), np.uint8).copy())


def _bytes(array):
    return make_tensor(array, dtypes.uint8)


def _numbers(*values):
    return make_tensor(np.array(values, np.int64), dtypes.int64)


def _empty(count):
    return _bytes(np.empty(count, np.uint8))


def _unpickled(tensor, count=None):
    return pickle.loads(tensor._array[:count].tobytes())  # noqa: S301 - of our own job


def _sizes(group, mine):
    """How many bytes each rank has."""
    sizes = _numbers(*[0] * group.size())
    collectives.all_gather_into_tensor(sizes, _numbers(mine), group)
    return sizes.tolist()


def all_gather_object(
    object_list: list[Any], obj: object, group: ProcessGroup | int | None = None
) -> None:
    """Fill `object_list`, one entry a rank, with all ranks' objects."""
    found = resolved(group)
    if found is None:
        return
    _check("all_gather_object", "object_list", object_list, found)
    data = _pickled(obj)
    sizes = _sizes(found, data.numel())
    arrived = [_empty(size) for size in sizes]
    exchanges.all_to_all(arrived, [data] * found.size(), found)
    for rank, tensor in enumerate(arrived):
        object_list[rank] = _unpickled(tensor)


def _check(operation, argument, objects, group):
    if objects is None or len(objects) != group.size():
        count = None if objects is None else len(objects)
        raise ValueError(
            f"{operation}: {argument} has {count} entries, expected {group.size()}: one for each "
            "rank of the group"
        )


def gather_object(
    obj: object,
    object_gather_list: list[Any] | None = None,
    dst: int | None = None,
    group: ProcessGroup | int | None = None,
    group_dst: int | None = None,
) -> None:
    """Fill `object_gather_list` on rank `dst` (0 by default) with all ranks' objects."""
    found = resolved(group)
    if found is None:
        return
    dst = 0 if dst is None and group_dst is None else dst
    root = collectives.root_in("gather_object", found, "dst", dst, group_dst)
    here = found.rank() == root
    if here:
        if not object_gather_list:
            raise ValueError("Argument ``gather_list`` must be specified on destination rank.")
        _check("gather_object", "object_gather_list", object_gather_list, found)
    data = _pickled(obj)
    sizes = _sizes(found, data.numel())
    nothing = [_empty(0) for _ in sizes]
    arrived = [_empty(size) for size in sizes] if here else nothing
    sent = [data if rank == root else _empty(0) for rank in range(found.size())]
    exchanges.all_to_all(arrived, sent, found)
    if here:
        for rank, tensor in enumerate(arrived):
            object_gather_list[rank] = _unpickled(tensor)


def scatter_object_list(
    scatter_object_output_list: list[Any],
    scatter_object_input_list: Sequence[object] | None = None,
    src: int | None = None,
    group: ProcessGroup | int | None = None,
    group_src: int | None = None,
) -> None:
    """Set ``scatter_object_output_list[0]`` on each rank to its object of the list of `src`."""
    found = resolved(group)
    if found is None:
        return
    if not isinstance(scatter_object_output_list, list) or not scatter_object_output_list:
        raise ValueError(
            "Expected argument scatter_object_output_list to be a list of size at least 1."
        )
    src = 0 if src is None and group_src is None else src
    root = collectives.root_in("scatter_object_list", found, "src", src, group_src)
    sent = None
    if found.rank() == root:
        name = "scatter_object_input_list"
        _check("scatter_object_list", name, scatter_object_input_list, found)
        sent = [_pickled(each) for each in scatter_object_input_list or ()]
    size = _numbers(0)
    sizes = None if sent is None else [_numbers(each.numel()) for each in sent]
    exchanges.scatter(size, sizes, group=found, group_src=root)
    arrived = [_empty(int(size) if rank == root else 0) for rank in range(found.size())]
    nothing = [_empty(0) for _ in range(found.size())]
    exchanges.all_to_all(arrived, nothing if sent is None else sent, found)
    scatter_object_output_list[0] = _unpickled(arrived[root])


def broadcast_object_list(
    object_list: list[Any],
    src: int | None = None,
    group: ProcessGroup | int | None = None,
    device=None,
    group_src: int | None = None,
) -> None:
    """Replace the objects of a list on every rank by those of rank `src` (0 by default)."""
    found = resolved(group)
    if found is None:
        return
    src = 0 if src is None and group_src is None else src
    root = collectives.root_in("broadcast_object_list", found, "src", src, group_src)
    here = found.rank() == root
    data = [_pickled(each) for each in object_list] if here else []
    sizes = _numbers(*[each.numel() for each in data] or [0] * len(object_list))
    collectives.broadcast(sizes, group=found, group_src=root)
    for place, size in enumerate(sizes.tolist()):
        tensor = data[place] if here else _empty(size)
        collectives.broadcast(tensor, group=found, group_src=root)
        if not here:
            object_list[place] = _unpickled(tensor)


def send_object_list(
    object_list: Sequence[object],
    dst: int | None = None,
    group: ProcessGroup | int | None = None,
    device=None,
    group_dst: int | None = None,
    use_batch=False,
) -> None:
    """Send objects to rank `dst`, which calls :func:`recv_object_list`."""
    found = resolved(group)
    if found is None:
        return
    data = [_pickled(each) for each in object_list]
    sizes = _numbers(*[each.numel() for each in data])
    point_to_point.send(sizes, dst, found, group_dst=group_dst)
    for each in data:
        point_to_point.send(each, dst, found, group_dst=group_dst)


def recv_object_list(
    object_list: list[Any],
    src: int | None = None,
    group: ProcessGroup | int | None = None,
    device=None,
    group_src: int | None = None,
    use_batch=False,
) -> int:
    """Replace the objects of a list by as many that rank `src` (any where it is None) sends;
    returns the sender's rank."""
    found = resolved(group)
    if found is None:
        return -1
    sizes = _numbers(*[0] * len(object_list))
    sender = point_to_point.recv(sizes, src, found, group_src=group_src)
    for place, size in enumerate(sizes.tolist()):
        tensor = _empty(size)
        point_to_point.recv(tensor, sender, found)
        object_list[place] = _unpickled(tensor)
    return sender
