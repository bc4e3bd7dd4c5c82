"""SparseAdam."""

from __future__ import annotations

from rushlight.autograd.mode import no_grad
from rushlight.ops.creation.tensors import zeros_like
from rushlight.optim.optimizer import Optimizer, evaluate
from rushlight.optim.options import check_betas, check_single
from rushlight.tensor.tensor import Tensor


def _is_sparse(parameter):
    return parameter.layout != "strided"


class SparseAdam(Optimizer):
    """Adam for sparse gradients: moments and parameters change in the rows of the gradient only.

    Like PyTorch's it refuses dense gradients; ``Embedding(sparse=True)`` gives sparse ones.
    """

    def __init__(self, params, lr=0.001, betas=(0.9, 0.999), eps=1e-08, maximize=False):
        check_single("lr", lr)
        for name, value in (("learning rate", lr), ("epsilon value", eps)):
            if not value > 0.0:
                raise ValueError(f"Invalid {name}: {value}")
        check_betas(betas)
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "maximize": maximize})
        for kind, is_one, wanted in (
            ("Sparse", _is_sparse, "requires dense parameter tensors"),
            ("Complex", Tensor.is_complex, "does not support complex parameters"),
        ):
            places = [
                [i, j]
                for i, group in enumerate(self.param_groups)
                for j, parameter in enumerate(group["params"])
                if is_one(parameter)
            ]
            if places:
                raise ValueError(f"{kind} params at indices {places}: SparseAdam {wanted}")

    def step(self, closure=None):
        """Evaluate the closure and update; raises RuntimeError for dense gradients."""
        loss = evaluate(self, closure)
        with no_grad():
            for group in self.param_groups:
                params = [p for p in group["params"] if p._grad is not None]
                if any(not p._grad.is_sparse for p in params):
                    raise RuntimeError(
                        "SparseAdam does not support dense gradients, please consider Adam instead"
                    )
                for parameter in params:
                    self._update(group, parameter, parameter._grad)
        return loss

    def _update(self, group, parameter, grad):
        state = self.state[parameter]
        if not state:
            state["step"] = 0
            state["exp_avg"] = zeros_like(parameter.detach())
            state["exp_avg_sq"] = zeros_like(parameter.detach())
        state["step"] += 1
        grad = (-grad if group["maximize"] else grad).coalesce()
        if not grad._nnz():
            return
        values, (beta1, beta2), step = grad.values(), group["betas"], state["step"]
        moments = []
        for average, fresh, beta in (
            (state["exp_avg"], values, beta1),
            (state["exp_avg_sq"], values * values, beta2),
        ):
            old = average.sparse_mask(grad).values()
            change = (fresh - old) * (1 - beta)
            average.add_(grad.with_elements(change))
            moments.append(old + change)
        rate = float(group["lr"]) * (1 - beta2**step) ** 0.5 / (1 - beta1**step)
        update = moments[0] / moments[1].sqrt().add_(group["eps"])
        parameter.add_(grad.with_elements(update), alpha=-rate)
