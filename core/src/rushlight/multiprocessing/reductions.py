"""How tensors are pickled between processes: large ones by a block of shared memory."""

from __future__ import annotations

from multiprocessing.reduction import ForkingPickler

from rushlight.tensor.tensor import Parameter, Tensor
from rushlight.utils.data.workers import Shared, fetch, park


def _receive(shared, kind, requires_grad):
    tensor = fetch(shared)
    if kind is Parameter:
        return Parameter(tensor, requires_grad)
    return tensor.requires_grad_(requires_grad) if requires_grad else tensor


def _reduce(tensor):
    if tensor.requires_grad and not tensor.is_leaf:
        raise RuntimeError(
            "Cowardly refusing to serialize non-leaf tensor which requires_grad, since autograd "
            "does not support crossing process boundaries.  If you just want to transfer the data, "
            "call detach() on the tensor before serializing (e.g., putting it on the queue)."
        )
    parked = park(tensor.detach())
    if not isinstance(parked, Shared):  # small: by value
        return tensor.__reduce_ex__(2)
    return _receive, (parked, type(tensor), tensor.requires_grad)


def install() -> None:
    """Let queues and pipes send tensors this way."""
    ForkingPickler.register(Tensor, _reduce)
    ForkingPickler.register(Parameter, _reduce)
