"""Parameters of units as whole ordinary ones, for a while."""

from __future__ import annotations

import contextlib

from rushlight.autograd.mode import no_grad
from rushlight.tensor.tensor import Parameter


@contextlib.contextmanager
def whole_parameters(units, writeback, rank0_only, offload_to_cpu, with_grads):
    """Inside, modules have whole parameters, in memory of the CPU if `offload_to_cpu`; `writeback`
    keeps what is written to them."""
    shown = []
    with no_grad():
        for unit in units:
            unit._sharded.reshard()
            unit._is_summoned = True
            for each in unit._sharded.parameters:
                whole = _whole(each, offload_to_cpu, with_grads)
                if not rank0_only or unit.process_group.rank() == 0:
                    each.show(whole)
                    shown.append((each, whole))
    try:
        yield
    finally:
        for unit in units:
            unit._is_summoned = False
        with no_grad():
            for each, whole in shown:
                if writeback:
                    each.shard.copy_(whole.detach())
                    if with_grads and whole.grad is not None:
                        each.shard.grad = each.shard.divided_alike(whole.grad)
                each.show(each.shard)


def _whole(each, offload_to_cpu, with_grads):
    """The whole parameter; all ranks call it."""
    shard = each.shard
    values = shard.full_tensor()
    made = Parameter(values.cpu() if offload_to_cpu else values, requires_grad=shard.requires_grad)
    if with_grads and shard.grad is not None:
        made.grad = shard.grad.full_tensor()
    return made
