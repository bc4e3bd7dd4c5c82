"""Adamax."""

from __future__ import annotations

from rushlight.kernels.optimizers.step_formulas import adamax_numbers
from rushlight.ops.elementwise.arithmetic import maximum
from rushlight.ops.foreach import steps as lists
from rushlight.optim.elementwise import FormulaOptimizer, decayed, moment, zeros
from rushlight.optim.options import check, check_betas, check_rate


class Adamax(FormulaOptimizer):
    """Adam with a running maximum in the denominator. (Kingma and Ba, 2015, section 7.)

    ``m = beta1 m + (1 - beta1) g``, ``u = max(beta2 u, |g| + eps)``,
    ``p -= lr / (1 - beta1^t) * m / u``.
    """

    _numbers = "adamax"

    def __init__(
        self,
        params,
        lr=0.002,
        betas=(0.9, 0.999),
        eps=1e-08,
        weight_decay=0,
        foreach=None,
        *,
        maximize=False,
        differentiable=False,
        capturable=False,
    ):
        check_rate(lr)
        check("epsilon value", eps)
        check_betas(betas)
        check("weight_decay value", weight_decay)
        super().__init__(params, {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "foreach": foreach,
            "maximize": maximize, "differentiable": differentiable, "capturable": capturable,
        })  # fmt: skip

    def _begin(self, state, parameter, group):
        state["exp_avg"] = zeros(parameter)
        state["exp_inf"] = zeros(parameter)

    def _formula(self, group, p, g, state, step):
        beta1, beta2 = self._betas(group)
        g = decayed(g, p, self._option(group, "weight_decay"))
        mean = moment(state["exp_avg"], g, beta1)
        largest = maximum(state["exp_inf"] * beta2, g.abs() + group["eps"])
        rate = adamax_numbers(step, self._option(group, "lr"), beta1)
        return p - rate * (mean / largest), {"exp_avg": mean, "exp_inf": largest}

    def _number_settings(self, group):
        return float(group["lr"]), float(group["betas"][0])

    def _fused(self, group, params, grads, states, steps):
        if steps[0] is None:
            rates = self._numbers_there(group, states)
        else:
            rates = [adamax_numbers(step, *self._number_settings(group)) for step in steps]
        lists.adamax_(
            params,
            grads,
            [s["exp_avg"] for s in states],
            [s["exp_inf"] for s in states],
            rates=rates,
            betas=tuple(map(float, group["betas"])),
            eps=group["eps"],
            weight_decay=float(group["weight_decay"]),
            maximize=group["maximize"],
        )
