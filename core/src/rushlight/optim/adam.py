"""Adam and AdamW."""

from __future__ import annotations

from rushlight.dtypes import float32
from rushlight.ops import foreach
from rushlight.ops.creation import tensor, zeros_like
from rushlight.optim.optimizer import Optimizer, check, refuse


class Adam(Optimizer):
    """Adaptive moment estimation. (Kingma and Ba, 2015; AMSGrad: Reddi et al., 2018.)"""

    def __init__(
        self,
        params,
        lr=0.001,
        betas=(0.9, 0.999),
        eps=1e-08,
        weight_decay=0,
        amsgrad=False,
        *,
        foreach=None,
        maximize=False,
        capturable=False,
        differentiable=False,
        fused=None,
        decoupled_weight_decay=False,
    ):
        check("learning rate", lr)
        check("epsilon value", eps)
        check("beta parameter at index 0", betas[0], high=1.0)
        check("beta parameter at index 1", betas[1], high=1.0)
        check("weight_decay value", weight_decay)
        refuse(differentiable, capturable)
        super().__init__(params, {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "amsgrad": amsgrad,
            "maximize": maximize, "foreach": foreach, "capturable": capturable,
            "differentiable": differentiable, "fused": fused,
            "decoupled_weight_decay": decoupled_weight_decay,
        })  # fmt: skip

    def step(self, closure=None):
        """One update; returns the closure's loss."""
        loss = self._evaluate(closure)
        for group in self.param_groups:
            params, grads = self._with_gradients(group)
            if params:
                self._update(group, params, grads)
        return loss

    def _update(self, group, params, grads):
        amsgrad = group["amsgrad"]
        averages, squares, largest, steps = [], [], [], []
        for parameter in params:
            state = self.state[parameter]
            if not state:
                self._begin(state, parameter, amsgrad)
            count = state["step"]._array
            count[()] += 1
            steps.append(float(count))
            averages.append(state["exp_avg"])
            squares.append(state["exp_avg_sq"])
            if amsgrad:
                largest.append(state["max_exp_avg_sq"])
        foreach.adam_(
            params,
            grads,
            averages,
            squares,
            largest if amsgrad else None,
            steps,
            lr=float(group["lr"]),
            betas=group["betas"],
            eps=group["eps"],
            weight_decay=group["weight_decay"],
            maximize=group["maximize"],
            decoupled=group["decoupled_weight_decay"],
        )

    @staticmethod
    def _begin(state, parameter, amsgrad):
        state["step"] = tensor(0.0, dtype=float32)
        state["exp_avg"] = zeros_like(parameter)
        state["exp_avg_sq"] = zeros_like(parameter)
        if amsgrad:
            state["max_exp_avg_sq"] = zeros_like(parameter)


class AdamW(Adam):
    """Adam whose weight decay does not pass through the moments. (Loshchilov, Hutter, 2019.)"""

    def __init__(
        self,
        params,
        lr=0.001,
        betas=(0.9, 0.999),
        eps=1e-08,
        weight_decay=0.01,
        amsgrad=False,
        *,
        maximize=False,
        foreach=None,
        capturable=False,
        differentiable=False,
        fused=None,
    ):
        super().__init__(
            params,
            lr,
            betas,
            eps,
            weight_decay,
            amsgrad,
            foreach=foreach,
            maximize=maximize,
            capturable=capturable,
            differentiable=differentiable,
            fused=fused,
            decoupled_weight_decay=True,
        )
