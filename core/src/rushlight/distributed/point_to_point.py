"""Messages from one rank to another."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from rushlight.distributed import buffers
from rushlight.distributed.buffers import as_bytes, check_tensor, flat, fresh
from rushlight.distributed.collectives import _shape, root_in
from rushlight.distributed.groups import default_group, resolved
from rushlight.distributed.works import Receive, Work

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rushlight.distributed.process_group import ProcessGroup
    from rushlight.tensor.tensor import Tensor

_LARGEST_TAG = (1 << 27) - 1


def _check_tag(operation, tag):
    if not 0 <= tag <= _LARGEST_TAG:
        raise ValueError(f"{operation}: tag {tag}, expected 0 to {_LARGEST_TAG}")


def isend(
    tensor: Tensor,
    dst: int | None = None,
    group: ProcessGroup | int | None = None,
    tag: int = 0,
    group_dst: int | None = None,
) -> Work | None:
    """Start to send a tensor to rank `dst`, which receives it with the same tag."""
    check_tensor("send", "tensor", tensor)
    found = resolved(group)
    if found is None:
        return None
    _check_tag("send", tag)
    peer = root_in("send", found, "dst", dst, group_dst)
    if peer == found.rank():
        raise ValueError(
            "Invalid destination rank: destination rank should not be the same as the rank of the "
            "current process."
        )
    wire = as_bytes(flat(tensor))
    carrier = found.carrier("send", wire)
    requests = carrier.send(wire, peer, tag)
    peers = found.message(found.rank(), peer)
    work = Work(found, f"send to rank {found.ranks[peer]}", requests, lambda: wire, [tensor],
                _shape(tensor), peers).by(carrier)  # fmt: skip
    work._number = peers[0][1]
    return found.follow(work)


def irecv(
    tensor: Tensor,
    src: int | None = None,
    group: ProcessGroup | int | None = None,
    tag: int = 0,
    group_src: int | None = None,
) -> Work | None:
    """Start to fill a tensor with what rank `src` sends, or whichever rank, where it is None."""
    check_tensor("recv", "tensor", tensor)
    found = resolved(group)
    if found is None:
        return None
    _check_tag("recv", tag)
    peer = None
    if src is not None or group_src is not None:
        peer = root_in("recv", found, "src", src, group_src)
        if peer == found.rank():
            raise ValueError(
                "Invalid source rank: source rank should not be the same as the rank of the "
                "current process."
            )
    return found.follow(_receiving(found, tensor, peer, tag))


def _receiving(group, tensor, peer, tag):
    wire = fresh(tensor)
    carrier = group.carrier("recv", wire)
    requests = carrier.receive(as_bytes(wire), peer, tag)
    origin = "whichever rank" if peer is None else f"rank {group.ranks[peer]}"
    work: Any = Receive(
        group, f"recv from {origin}", requests, lambda: buffers.store(tensor, wire), [tensor],
        _shape(tensor), [] if peer is None else group.message(peer, group.rank()),
    ).by(carrier)  # fmt: skip
    work.expected = wire.nbytes
    work._number = work._peers[0][1] if work._peers else 0
    return work


def send(
    tensor: Tensor,
    dst: int | None = None,
    group: ProcessGroup | int | None = None,
    tag: int = 0,
    group_dst: int | None = None,
) -> None:
    """Send a tensor to rank `dst`; returns when it may be changed."""
    work = isend(tensor, dst, group, tag, group_dst)
    if work is not None:
        work.wait()


def recv(
    tensor: Tensor,
    src: int | None = None,
    group: ProcessGroup | int | None = None,
    tag: int = 0,
    group_src: int | None = None,
) -> int:
    """Fill a tensor with what rank `src` sends (any, where it is None); returns the sender's rank,
    -1 in processes that are not in the group."""
    work = irecv(tensor, src, group, tag, group_src)
    if work is None:
        return -1
    work.wait()
    return work.source_rank()


class P2POp:
    """One of the messages of :func:`batch_isend_irecv`: ``P2POp(isend, tensor, peer)``."""

    def __init__(
        self,
        op: Callable[..., Work | None],
        tensor: Tensor,
        peer: int | None = None,
        group: ProcessGroup | None = None,
        tag: int = 0,
        group_peer: int | None = None,
    ):
        if op not in (isend, irecv):
            raise ValueError(
                "Invalid ``op``. Expected ``op`` to be of type ``rushlight.distributed.isend`` or "
                "``rushlight.distributed.irecv``."
            )
        check_tensor("P2POp", "tensor", tensor)
        self.op, self.tensor, self.group, self.tag = op, tensor, group, tag
        found = default_group() if group is None else group
        self.group_peer = root_in("P2POp", found, "peer", peer, group_peer)
        self.peer = found.ranks[self.group_peer]

    def __repr__(self):
        return (
            f"P2POp({self.op.__name__}, shape={tuple(self.tensor.shape)}, peer={self.peer}, "
            f"tag={self.tag})"
        )


def batch_isend_irecv(p2p_op_list: Sequence[P2POp]) -> list[Work]:
    """Start several messages; returns a list of their works."""
    if not isinstance(p2p_op_list, list) or not all(isinstance(p, P2POp) for p in p2p_op_list):
        raise ValueError(
            "Invalid ``p2p_op_list``. Each op is expected to to be of type "
            "``rushlight.distributed.P2POp``."
        )
    if len({id(each.group) for each in p2p_op_list}) > 1:
        raise ValueError("All groups in ``p2p_op_list`` must be the same")
    with _together(p2p_op_list):
        works = [each.op(each.tensor, each.peer, each.group, each.tag) for each in p2p_op_list]
    return [work for work in works if work is not None]


def _together(messages):
    """Within it messages of GPUs start together: NCCL's would wait for each other."""
    carried = [m for m in messages if buffers.on_device(m.tensor)]
    group = resolved(carried[0].group) if carried else None
    if group is None or group.size() == 1:
        return contextlib.nullcontext()
    carrier = group.carrier("batch_isend_irecv", carried[0].tensor._array)
    carrier.meet([each.group_peer for each in carried])
    return carrier.together()
