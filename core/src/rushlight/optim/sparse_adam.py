"""SparseAdam."""

from __future__ import annotations

from rushlight.optim.optimizer import Optimizer
from rushlight.optim.options import check_betas, check_single


class SparseAdam(Optimizer):
    """Adam for sparse gradients; like PyTorch's it refuses dense ones.

    There are no sparse gradients yet, so a step with any gradient raises: use
    :class:`rushlight.optim.Adam`.
    """

    def __init__(self, params, lr=0.001, betas=(0.9, 0.999), eps=1e-08, maximize=False):
        check_single("lr", lr)
        for name, value in (("learning rate", lr), ("epsilon value", eps)):
            if not value > 0.0:
                raise ValueError(f"Invalid {name}: {value}")
        check_betas(betas)
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "maximize": maximize})
        places = [
            [i, j]
            for i, group in enumerate(self.param_groups)
            for j, parameter in enumerate(group["params"])
            if parameter.is_complex()
        ]
        if places:
            raise ValueError(
                f"Complex params at indices {places}: SparseAdam does not support complex "
                "parameters"
            )

    def step(self, closure=None):
        """Evaluate the closure; raises RuntimeError for dense gradients."""
        loss = self._evaluate(closure)
        for group in self.param_groups:
            if any(p._grad is not None for p in group["params"]):
                raise RuntimeError(
                    "SparseAdam does not support dense gradients, please consider Adam instead"
                )
        return loss
