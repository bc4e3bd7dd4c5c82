"""ShardedGradScaler: scaled losses where each rank has a part of the gradients."""

from __future__ import annotations

from rushlight.amp.grad_scaler import GradScaler
from rushlight.distributed import collectives
from rushlight.distributed.reduce_op import ReduceOp
from rushlight.ops.creation.tensors import full

__all__ = ["ShardedGradScaler"]


class ShardedGradScaler(GradScaler):
    """A :class:`rushlight.amp.GradScaler` whose ranks skip a step together: where a gradient of any
    of them is infinite or NaN. All ranks of `process_group` call it alike.

    Gradients on a GPU are refused: bfloat16 needs no scaling.
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

    def unscale_(self, optimizer) -> None:
        """Divide the gradients of an optimizer by the factor, before clipping them."""
        if not self._enabled:
            return
        if self._on_device is not None:
            raise NotImplementedError(
                "ShardedGradScaler: gradients on a GPU; use MixedPrecision(param_dtype="
                "rushlight.bfloat16), which needs no scaling"
            )
        super().unscale_(optimizer)
        progress = self._progress(optimizer)
        flag = full((1,), float(progress[1]))
        collectives.all_reduce(flag, ReduceOp.MAX, self.process_group)
        progress[1] = bool(flag.item())

    def _is_bad(self, grad) -> bool:
        return super()._is_bad(grad.to_local() if hasattr(grad, "to_local") else grad)
