"""Collective operations on tensors: every rank of a group calls the same ones in the same order.

Each takes ``group=None`` (all processes) and ``async_op=False``; with ``async_op=True`` it returns
a :class:`Work` at once and the tensors must be left alone until its ``wait()``. A process that does
not belong to the group gets None, and nothing happens.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from rushlight.distributed import buffers, debug
from rushlight.distributed.buffers import (
    check_dtypes,
    check_tensor,
    check_tensors,
    flat,
    fresh,
    new,
    on_device,
)
from rushlight.distributed.groups import resolved
from rushlight.distributed.reduce_op import ReduceOp
from rushlight.distributed.reductions import Reduction
from rushlight.distributed.works import Work
from rushlight.machine import np
from rushlight.machine.cuda import runtime

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import timedelta

    from rushlight.distributed.process_group import ProcessGroup
    from rushlight.distributed.reduce_op import PremultipliedSum, RedOpType
    from rushlight.tensor.tensor import Tensor


def finished(work: Work, async_op: bool) -> Work | None:
    """What a collective returns."""
    if async_op:
        return work
    work.wait()
    return None


def root_in(operation: str, group, argument: str, rank, group_rank) -> int:
    """The rank in the group of a root that is given by its rank in the job or in the group."""
    if rank is not None and group_rank is not None:
        raise ValueError(f"{operation}: Can't specify both group_{argument} and {argument}")
    if group_rank is not None:
        if not 0 <= group_rank < group.size():
            raise ValueError(f"{operation}: invalid group_{argument} {group_rank}: the group has "
                             f"{group.size()} ranks")  # fmt: skip
        return group_rank
    if rank is None:
        raise ValueError(f"{operation}: Must specify {argument} or group_{argument}")
    if rank not in group.rank_of:
        raise ValueError(
            f"{operation}: invalid {argument} rank {rank}; the group's ranks are {group.ranks}"
        )
    return group.rank_of[rank]


def _shape(tensor):
    return f"shape {tuple(tensor.shape)}, {tensor.dtype}"


def started(carrier, group, name, op, tensors, start, finish=None, result=()) -> Work:
    """Issue a collective: `start` gives its requests, of a communicator of the group."""
    debug.check(group, name, op, tensors)
    shape = _shape(tensors[0]) if tensors else None
    made = Work(group, name, start(), finish, result, shape).holding(start)
    return group.start(made if carrier is None else made.by(carrier))


def all_reduce(
    tensor: Tensor,
    op: RedOpType | PremultipliedSum = ReduceOp.SUM,
    group: ProcessGroup | int | None = None,
    async_op: bool = False,
) -> Work | None:
    """Replace `tensor` (any shape) on every rank by the reduction of all ranks' tensors."""
    check_tensor("all_reduce", "tensor", tensor)
    found = resolved(group)
    if found is None:
        return None
    return finished(_reduced("all_reduce", tensor, op, found, None), async_op)


def reduce(
    tensor: Tensor,
    dst: int | None = None,
    op: RedOpType | PremultipliedSum = ReduceOp.SUM,
    group: ProcessGroup | int | None = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:
    """Replace `tensor` on rank `dst` by the reduction of all ranks' tensors."""
    check_tensor("reduce", "tensor", tensor)
    found = resolved(group)
    if found is None:
        return None
    root = root_in("reduce", found, "dst", dst, group_dst)
    return finished(_reduced("reduce", tensor, op, found, root), async_op)


def _reduced(name, tensor, op, group, root):
    carrier = group.carrier(name, tensor._array)
    plan = Reduction(name, tensor.dtype, op, group.size(), on_device(tensor))
    elements = flat(tensor)
    wire = plan.encode(elements)
    # Reduced in the tensor's own memory where it is contiguous: no copy on the usual way.
    if wire is elements and not tensor._array.flags.writeable:
        wire = wire.copy()

    def finish():
        if root is None or root == group.rank():
            buffers.store(tensor, plan.decode(wire))

    return started(
        carrier, group, name, plan.kind, (tensor,),
        lambda: carrier.reduce(wire, plan.operation, root), finish, [tensor],
    )  # fmt: skip


def all_reduce_coalesced(
    tensors: Sequence[Tensor],
    op: RedOpType | PremultipliedSum = ReduceOp.SUM,
    group: ProcessGroup | int | None = None,
    async_op: bool = False,
) -> Work | None:
    """:func:`all_reduce` of several tensors."""
    check_tensors("all_reduce_coalesced", "tensors", tensors)
    found = resolved(group)
    if found is None:
        return None
    works = [_reduced("all_reduce_coalesced", t, op, found, None) for t in tensors]
    return _together(found, works, list(tensors), async_op)


def _together(group, works, result, async_op):
    """One work of several, in the order in which they were issued."""
    for work in works[:-1] if async_op else works:
        work.wait()
    if not async_op:
        return None
    if works:
        works[-1]._result = result
    return works[-1]


def broadcast(
    tensor: Tensor,
    src: int | None = None,
    group: ProcessGroup | int | None = None,
    async_op: bool = False,
    group_src: int | None = None,
) -> Work | None:
    """Replace `tensor` on every rank by that of rank `src`."""
    check_tensor("broadcast", "tensor", tensor)
    found = resolved(group)
    if found is None:
        return None
    root = root_in("broadcast", found, "src", src, group_src)
    carrier, here = found.carrier("broadcast", tensor._array), found.rank() == root
    wire = flat(tensor) if here else fresh(tensor)
    finish = None if here else (lambda: buffers.store(tensor, wire))
    work = started(
        carrier, found, "broadcast", root, (tensor,),
        lambda: carrier.broadcast(wire, root), finish, [tensor],
    )  # fmt: skip
    return finished(work, async_op)


def all_gather(
    tensor_list: Sequence[Tensor],
    tensor: Tensor,
    group: ProcessGroup | int | None = None,
    async_op: bool = False,
) -> Work | None:
    """Fill `tensor_list`, one tensor a rank, with all ranks' tensors."""
    check_tensors("all_gather", "tensor_list", tensor_list)
    check_tensor("all_gather", "tensor", tensor)
    check_dtypes("all_gather", [*tensor_list, tensor])
    found = resolved(group)
    if found is None:
        return None
    _check_list("all_gather", "tensor_list", tensor_list, found)
    for place, each in enumerate(tensor_list):
        if each.numel() != tensor.numel():
            raise ValueError(
                f"all_gather: tensor_list[{place}] has shape {tuple(each.shape)}, expected "
                f"{tuple(tensor.shape)} as `tensor` has; every rank's tensor has this shape"
            )
    wires = [fresh(t) for t in tensor_list]
    finish = functools.partial(buffers.store_all, tensor_list, wires)
    work = _gathered("all_gather", found, wires, tensor, finish, list(tensor_list))
    return finished(work, async_op)


def _gathered(name, group, wires, tensor, finish, result):
    sent, carrier = flat(tensor), group.carrier(name, tensor._array)
    # MPI and NCCL forbid that what is sent and what is filled overlap; PyTorch's programs do it.
    if any(np.may_share_memory(sent, wire) for wire in wires):
        sent = sent.copy()
    return started(
        carrier, group, name, None, (tensor,),
        lambda: carrier.all_gather(wires, sent), finish, result,
    )  # fmt: skip


def _check_list(operation, argument, tensors, group):
    if len(tensors) != group.size():
        raise ValueError(
            f"{operation}: {argument} has {len(tensors)} tensors, expected {group.size()}: one for "
            "each rank of the group"
        )


def all_gather_into_tensor(
    output_tensor: Tensor,
    input_tensor: Tensor,
    group: ProcessGroup | int | None = None,
    async_op: bool = False,
) -> Work | None:
    """Fill `output_tensor` with all ranks' tensors one after the other: along the first dimension
    (``(n * k, ...)`` from ``(k, ...)``) or along a new one (``(n, k, ...)``)."""
    name = "all_gather_into_tensor"
    check_tensor(name, "input_tensor", input_tensor)
    check_tensor(name, "output_tensor", output_tensor)
    check_dtypes(name, [output_tensor, input_tensor])
    found = resolved(group)
    if found is None:
        return None
    _check_size(name, "output_tensor", output_tensor, "input_tensor", input_tensor, found)
    wire = fresh(output_tensor)
    finish = functools.partial(buffers.store, output_tensor, wire)
    wires = np.split(wire, found.size())
    work = _gathered(name, found, wires, input_tensor, finish, [output_tensor])
    return finished(work, async_op)


def _check_size(operation, larger_name, larger, smaller_name, smaller, group):
    if larger.numel() != smaller.numel() * group.size():
        raise ValueError(
            f"{operation}: {larger_name} of shape {tuple(larger.shape)} has {larger.numel()} "
            f"elements, expected {group.size()} times those of {smaller_name} "
            f"({tuple(smaller.shape)}): {smaller.numel() * group.size()}"
        )


def all_gather_coalesced(
    output_tensor_lists: Sequence[Sequence[Tensor]],
    input_tensor_list: Sequence[Tensor],
    group: ProcessGroup | int | None = None,
    async_op: bool = False,
) -> Work | None:
    """:func:`all_gather` of several tensors: ``output_tensor_lists[rank][i]`` is a rank's i-th."""
    check_tensors("all_gather_coalesced", "input_tensor_list", input_tensor_list)
    found = resolved(group)
    if found is None:
        return None
    _check_list("all_gather_coalesced", "output_tensor_lists", output_tensor_lists, found)
    works = [
        all_gather([of_rank[place] for of_rank in output_tensor_lists], tensor, group, True)
        for place, tensor in enumerate(input_tensor_list)
    ]
    return _together(found, works, list(output_tensor_lists), async_op)


def reduce_scatter(
    output: Tensor,
    input_list: Sequence[Tensor],
    op: RedOpType | PremultipliedSum = ReduceOp.SUM,
    group: ProcessGroup | int | None = None,
    async_op: bool = False,
) -> Work | None:
    """Replace `output` by the reduction of the tensors that all ranks have for this one: those of
    ``input_list``, one a rank."""
    check_tensor("reduce_scatter", "output", output)
    check_tensors("reduce_scatter", "input_list", input_list)
    check_dtypes("reduce_scatter", [*input_list, output])
    found = resolved(group)
    if found is None:
        return None
    _check_list("reduce_scatter", "input_list", input_list, found)
    own = input_list[found.rank()]
    if own.numel() != output.numel():
        raise ValueError(
            f"reduce_scatter: output has shape {tuple(output.shape)}, expected "
            f"{tuple(own.shape)} as input_list[{found.rank()}] has"
        )
    sizes = [each.numel() for each in input_list]
    elements = np.concatenate([flat(each) for each in input_list])
    return _scattered("reduce_scatter", found, output, elements, sizes, op, async_op)


def reduce_scatter_tensor(
    output: Tensor,
    input: Tensor,
    op: RedOpType | PremultipliedSum = ReduceOp.SUM,
    group: ProcessGroup | int | None = None,
    async_op: bool = False,
) -> Work | None:
    """Replace `output` by this rank's part of the reduction of `input`, which is as many times as
    large as there are ranks."""
    name = "reduce_scatter_tensor"
    check_tensor(name, "output", output)
    check_tensor(name, "input", input)
    check_dtypes(name, [input, output])
    found = resolved(group)
    if found is None:
        return None
    _check_size(name, "input", input, "output", output, found)
    sizes = [output.numel()] * found.size()
    return _scattered(name, found, output, flat(input), sizes, op, async_op)


def _scattered(name, group, output, elements, sizes, op, async_op):
    carrier = group.carrier(name, output._array)
    plan = Reduction(name, output.dtype, op, group.size(), on_device(output))
    ends = np.cumsum(sizes)[:-1] * plan.parts
    sent = plan.encode(elements)
    wire = new(sent, output.numel() * plan.parts)
    work = started(
        carrier, group, name, plan.kind, (output,),
        lambda: carrier.reduce_scatter(wire, np.split(sent, ends), plan.operation),
        lambda: buffers.store(output, plan.decode(wire)), [output],
    )  # fmt: skip
    return finished(work, async_op)


def barrier(
    group: ProcessGroup | int | None = None,
    async_op: bool = False,
    device_ids: Sequence[int] | None = None,
    timeout: timedelta | float | None = None,
) -> Work | None:
    """Return when all ranks of the group have called it."""
    found = resolved(group)
    if found is None:
        return None
    for device in found.of_devices:  # ranks meet when their GPUs have done what came before
        runtime.current().stream_synchronize(runtime.streams.current(device))
    work = started(None, found, "barrier", None, (), found.communicator.barrier)
    if async_op:
        return work
    work.wait(timeout)
    return None


all_gather_single, reduce_scatter_single = all_gather_into_tensor, reduce_scatter_tensor
