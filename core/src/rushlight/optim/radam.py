"""RAdam."""

from __future__ import annotations

from rushlight.kernels.optimizers.step_formulas import radam_factor, radam_numbers
from rushlight.ops.foreach import steps as lists
from rushlight.optim.elementwise import FormulaOptimizer, decayed, moment, second_moment, zeros
from rushlight.optim.options import check, check_betas, check_rate


class RAdam(FormulaOptimizer):
    """Adam that waits for its variance: rectified Adam. (Liu et al., 2020.)

    While the length of the approximated average is at most 5, the step is ``lr m / (1 - beta1^t)``;
    afterwards it is divided by Adam's root and rectified.
    """

    _numbers = "radam"

    def __init__(
        self,
        params,
        lr=0.001,
        betas=(0.9, 0.999),
        eps=1e-08,
        weight_decay=0,
        decoupled_weight_decay=False,
        *,
        foreach=None,
        maximize=False,
        capturable=False,
        differentiable=False,
    ):
        check_rate(lr)
        check("epsilon value", eps)
        check_betas(betas)
        check("weight_decay value", weight_decay)
        super().__init__(params, {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay,
            "maximize": maximize, "foreach": foreach, "capturable": capturable,
            "decoupled_weight_decay": decoupled_weight_decay, "differentiable": differentiable,
        })  # fmt: skip

    def _begin(self, state, parameter, group):
        state["exp_avg"] = zeros(parameter)
        state["exp_avg_sq"] = zeros(parameter)

    def _number_settings(self, group):
        return tuple(map(float, (group["lr"], *group["betas"])))

    def _formula(self, group, p, g, state, step):
        lr, decay = self._option(group, "lr"), self._option(group, "weight_decay")
        beta1, beta2 = self._betas(group)
        if group["decoupled_weight_decay"]:
            p = p * (1 - lr * decay)
        else:
            g = decayed(g, p, decay)
        mean, square = (
            moment(state["exp_avg"], g, beta1),
            second_moment(state["exp_avg_sq"], g, beta2),
        )
        update = mean / (1 - beta1**step)
        factor = radam_factor(step, float(beta2))
        if factor > 0:
            update = update * (factor / (square.sqrt() + group["eps"]))
        return p - lr * update, {"exp_avg": mean, "exp_avg_sq": square}

    def _fused(self, group, params, grads, states, steps):
        settings = lr, beta1, beta2 = self._number_settings(group)
        if steps[0] is None:
            numbers = self._numbers_there(group, states)
        else:
            numbers = [radam_numbers(step, *settings) for step in steps]
        lists.radam_(
            params,
            grads,
            [s["exp_avg"] for s in states],
            [s["exp_avg_sq"] for s in states],
            numbers=numbers,
            lr=lr,
            betas=(beta1, beta2),
            eps=group["eps"],
            weight_decay=float(group["weight_decay"]),
            maximize=group["maximize"],
            decoupled=group["decoupled_weight_decay"],
        )
