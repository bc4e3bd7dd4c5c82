"""A group of processes as programs have it in hand."""

from __future__ import annotations

from typing import cast

from rushlight.distributed import collectives
from rushlight.distributed.groups import RankGroup
from rushlight.distributed.nccl_communicator import NCCLCommunicator
from rushlight.distributed.reduce_op import ReduceOp
from rushlight.distributed.works import Work


class ProcessGroup(RankGroup):
    """Some processes of the job, in the order of their ranks in the group.

    Made by :func:`init_process_group` and :func:`new_group`.
    """

    device_carrier = NCCLCommunicator

    def allreduce(self, tensors, opts=None) -> Work:
        """Start :func:`all_reduce` of a tensor, or of the one tensor of a list."""
        work = collectives.all_reduce(_only(tensors), _op(opts), group=self, async_op=True)
        return cast(Work, work)

    def broadcast(self, tensors, opts=0) -> Work:
        """Start :func:`broadcast` from a rank of the group."""
        root = getattr(opts, "rootRank", opts)
        work = collectives.broadcast(_only(tensors), group=self, group_src=root, async_op=True)
        return cast(Work, work)

    def allgather(self, output_tensors, input_tensors) -> Work:
        """Start :func:`all_gather`."""
        if isinstance(input_tensors, (list, tuple)):
            output_tensors = output_tensors[0]
        work = collectives.all_gather(output_tensors, _only(input_tensors), self, True)
        return cast(Work, work)

    def barrier(self, opts=None) -> Work:
        """Start :func:`barrier`."""
        return cast(Work, collectives.barrier(self, async_op=True))


def _only(tensors):
    if not isinstance(tensors, (list, tuple)):
        return tensors
    if len(tensors) != 1:
        raise ValueError(f"expected one tensor, got {len(tensors)}; use a call for each")
    return tensors[0]


def _op(options):
    op = getattr(options, "reduceOp", options)
    return ReduceOp.SUM if op is None else op
