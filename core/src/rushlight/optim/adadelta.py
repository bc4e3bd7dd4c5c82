"""Adadelta."""

from __future__ import annotations

from rushlight.ops.foreach import steps as lists
from rushlight.optim.elementwise import FormulaOptimizer, decayed, second_moment, zeros
from rushlight.optim.options import check, check_rate


class Adadelta(FormulaOptimizer):
    """Steps scaled by the running size of past steps over that of gradients. (Zeiler, 2012.)

    ``v = rho v + (1 - rho) g^2``, ``d = sqrt(u + eps) / sqrt(v + eps) * g``,
    ``u = rho u + (1 - rho) d^2``, ``p -= lr * d``.
    """

    def __init__(
        self,
        params,
        lr=1.0,
        rho=0.9,
        eps=1e-06,
        weight_decay=0,
        foreach=None,
        *,
        capturable=False,
        maximize=False,
        differentiable=False,
    ):
        check_rate(lr)
        if not 0.0 <= rho <= 1.0:
            raise ValueError(f"Invalid rho value: {rho}")
        check("epsilon value", eps)
        check("weight_decay value", weight_decay)
        super().__init__(params, {
            "lr": lr, "rho": rho, "eps": eps, "weight_decay": weight_decay, "maximize": maximize,
            "capturable": capturable, "foreach": foreach, "differentiable": differentiable,
        })  # fmt: skip

    def _begin(self, state, parameter, group):
        state["square_avg"] = zeros(parameter)
        state["acc_delta"] = zeros(parameter)

    def _formula(self, group, p, g, state, step):
        rho, eps = group["rho"], group["eps"]
        g = decayed(g, p, self._option(group, "weight_decay"))
        square = second_moment(state["square_avg"], g, rho)
        delta = (state["acc_delta"] + eps).sqrt() / (square + eps).sqrt() * g
        new = {"square_avg": square, "acc_delta": second_moment(state["acc_delta"], delta, rho)}
        return p - self._option(group, "lr") * delta, new

    def _fused(self, group, params, grads, states, steps):
        lists.adadelta_(
            params,
            grads,
            [s["square_avg"] for s in states],
            [s["acc_delta"] for s in states],
            lr=float(group["lr"]),
            rho=group["rho"],
            eps=group["eps"],
            weight_decay=float(group["weight_decay"]),
            maximize=group["maximize"],
        )
