"""ShardedGradScaler: scaled losses where each rank has a part of the gradients."""

from __future__ import annotations

from rushlight.amp.grad_scaler import GradScaler
from rushlight.distributed import collectives
from rushlight.distributed.reduce_op import ReduceOp

__all__ = ["ShardedGradScaler"]


class ShardedGradScaler(GradScaler):
    """A :class:`rushlight.amp.GradScaler` whose ranks skip a step together: where a gradient of any
    of them is infinite or NaN. All ranks of `process_group` call it alike.
    """

    def __init__(
        self,
        device: str = "cuda",
        init_scale: float = 65536.0,
        backoff_factor: float = 0.5,
        growth_factor: float = 2.0,
        growth_interval: int = 2000,
        enabled: bool = True,
        process_group=None,
    ):
        super().__init__(
            device, init_scale, growth_factor, backoff_factor, growth_interval, enabled
        )
        self.process_group = process_group

    def _unscale_grads_(self, optimizer, inv_scale, found_inf, allow_fp16) -> dict:
        marks = super()._unscale_grads_(optimizer, inv_scale, found_inf, allow_fp16)
        marks = marks or {found_inf.device: found_inf}  # all ranks ask, without gradients too
        for mark in marks.values():
            collectives.all_reduce(mark, ReduceOp.MAX, self.process_group)
        return marks
