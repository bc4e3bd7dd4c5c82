"""Collectives that return their results instead of writing them: PyTorch's inner path.

The results are there when the call returns, so there is nothing to wait for.
"""

from __future__ import annotations

from rushlight.distributed import collectives, exchanges
from rushlight.distributed.device_mesh import DeviceMesh
from rushlight.distributed.nn import functional as with_gradients
from rushlight.distributed.queries import get_world_size
from rushlight.distributed.reduce_op import ReduceOp
from rushlight.ops.creation.tensors import empty
from rushlight.refusals import rest_of

_OPS = frozenset("avg max min product sum".split())


def _op(name):
    if name.lower() not in _OPS:
        raise ValueError(f"reduceOp must be one of {', '.join(sorted(_OPS))}, got {name!r}")
    return getattr(ReduceOp, name.upper())


def _group(given):
    """The process group that a group, a mesh of one dimension, or a mesh and the number of its
    dimension stand for."""
    if isinstance(given, DeviceMesh):
        return given.get_group()
    if isinstance(given, tuple) and given and isinstance(given[0], DeviceMesh):
        return given[0].get_group(given[1])
    return given


def wait_tensor(tensor):
    """The tensor, whose communication is over already."""
    return tensor


def all_reduce(self, reduceOp: str, group, tag: str = ""):  # noqa: N803 - PyTorch's name
    """The reduction of all ranks' tensors, on every rank; the argument stays as it is.

    reduceOp: ``"sum"``, ``"avg"``, ``"max"``, ``"min"`` or ``"product"``.
    """
    found = self.detach().clone()
    collectives.all_reduce(found, _op(reduceOp), _group(group))
    return found


def all_gather_tensor(self, gather_dim: int, group, tag: str = ""):
    """All ranks' tensors joined along `gather_dim`, on every rank."""
    turned = self.detach().movedim(gather_dim, 0).contiguous()
    found = empty(len(turned) * get_world_size(_group(group)), *turned.shape[1:], dtype=self.dtype)
    collectives.all_gather_into_tensor(found, turned, _group(group))
    return found.movedim(0, gather_dim)


def reduce_scatter_tensor(self, reduceOp: str, scatter_dim: int, group, tag: str = ""):  # noqa: N803
    """This rank's part, along `scatter_dim`, of the reduction of all ranks' tensors.

    Raises ValueError where that dimension cannot be divided among the ranks.
    """
    turned, ranks = (
        self.detach().movedim(scatter_dim, 0).contiguous(),
        get_world_size(_group(group)),
    )
    if len(turned) % ranks:
        raise ValueError(
            f"reduce_scatter_tensor: dimension {scatter_dim} of {len(turned)} elements cannot be "
            f"divided among {ranks} ranks"
        )
    found = empty(len(turned) // ranks, *turned.shape[1:], dtype=self.dtype)
    collectives.reduce_scatter_tensor(found, turned, _op(reduceOp), _group(group))
    return found.movedim(0, scatter_dim)


def all_to_all_single(self, output_split_sizes, input_split_sizes, group, tag: str = ""):
    """Parts of this rank's tensor, one for each rank, exchanged for those meant for this rank.

    output_split_sizes, input_split_sizes: rows to and from each rank; None for equal parts.
    """
    rows = len(self) if output_split_sizes is None else sum(output_split_sizes)
    found = empty(rows, *self.shape[1:], dtype=self.dtype)
    exchanges.all_to_all_single(
        found, self.detach().contiguous(), output_split_sizes, input_split_sizes, _group(group)
    )
    return found


def all_to_all_single_autograd(self, output_split_sizes, input_split_sizes, group, tag: str = ""):
    """`all_to_all_single` whose gradients go back the way that values came."""
    rows = len(self) if output_split_sizes is None else sum(output_split_sizes)
    found = empty(rows, *self.shape[1:], dtype=self.dtype)
    return with_gradients.all_to_all_single(
        found, self.contiguous(), output_split_sizes, input_split_sizes, _group(group)
    )


__getattr__ = rest_of(__name__)
