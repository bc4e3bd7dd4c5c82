"""Tensors of all processes: reduced, gathered."""

from __future__ import annotations

from typing import Any

import rushlight as rl

# Names of reductions, as the trainer's functions take them, that `ReduceOp` calls otherwise.
_NAMES = {"mean": "avg", None: "sum"}


def reduced(tensor: Any, group: Any = None, reduce_op: str | None = "mean") -> Any:
    """The mean, sum, min, max or product over all processes of a tensor, on each of them."""
    dist = rl.distributed
    if not dist.is_initialized():
        return tensor
    name = _NAMES.get(reduce_op, reduce_op)
    op = getattr(dist.ReduceOp, str(name).upper(), None)
    if op is None:
        raise ValueError(f"reduce_op={reduce_op!r}: expected mean, sum, min, max or product")
    found = tensor.detach().clone()
    if name == "avg" and not (found.is_floating_point() or found.is_complex()):
        found = found.to(rl.get_default_dtype())
    dist.all_reduce(found, op=op, group=group)
    return found


def gathered(tensor: Any, group: Any = None, sync_grads: bool = False) -> Any:
    """The tensors of all processes, stacked; with `sync_grads` gradients flow back."""
    dist = rl.distributed
    if not dist.is_initialized():
        return tensor
    tensor = tensor.contiguous()
    if sync_grads and rl.is_grad_enabled():
        group = group or dist.group.WORLD
        return rl.stack(list(dist.nn.all_gather(tensor, group=group)))
    found = [rl.empty_like(tensor) for _ in range(dist.get_world_size(group))]
    dist.all_gather(found, tensor.detach(), group=group)
    return rl.stack(found)
