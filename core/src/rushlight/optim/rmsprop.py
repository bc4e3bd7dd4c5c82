"""RMSprop."""

from __future__ import annotations

from rushlight.ops.foreach import steps as lists
from rushlight.optim.elementwise import FormulaOptimizer, decayed, moment, second_moment, zeros
from rushlight.optim.options import check, check_rate


class RMSprop(FormulaOptimizer):
    """Gradients divided by a running root mean square. (Tieleman and Hinton, 2012.)

    ``v = alpha v + (1 - alpha) g^2``, ``p -= lr * g / (sqrt(v) + eps)``; `centered` subtracts the
    squared running mean from ``v`` (Graves, 2013), `momentum` accumulates the updates.
    """

    def __init__(
        self,
        params,
        lr=0.01,
        alpha=0.99,
        eps=1e-08,
        weight_decay=0,
        momentum=0,
        centered=False,
        capturable=False,
        foreach=None,
        maximize=False,
        differentiable=False,
    ):
        check_rate(lr)
        check("epsilon value", eps)
        check("momentum value", momentum)
        check("weight_decay value", weight_decay)
        check("alpha value", alpha)
        super().__init__(params, {
            "lr": lr, "momentum": momentum, "alpha": alpha, "eps": eps, "centered": centered,
            "weight_decay": weight_decay, "capturable": capturable, "foreach": foreach,
            "maximize": maximize, "differentiable": differentiable,
        })  # fmt: skip

    def _begin(self, state, parameter, group):
        state["square_avg"] = zeros(parameter)
        if group["momentum"] > 0:
            state["momentum_buffer"] = zeros(parameter)
        if group["centered"]:
            state["grad_avg"] = zeros(parameter)

    def _formula(self, group, p, g, state, step):
        lr, alpha, momentum = self._option(group, "lr"), group["alpha"], group["momentum"]
        g = decayed(g, p, self._option(group, "weight_decay"))
        new = {"square_avg": second_moment(state["square_avg"], g, alpha)}
        spread = new["square_avg"]
        if group["centered"]:
            mean = new["grad_avg"] = moment(state["grad_avg"], g, alpha)
            spread = spread - mean * mean
        update = g / (spread.sqrt() + group["eps"])
        if momentum > 0:
            update = new["momentum_buffer"] = state["momentum_buffer"] * momentum + update
        return p - lr * update, new

    def _fused(self, group, params, grads, states, steps):
        lists.rmsprop_(
            params,
            grads,
            [s["square_avg"] for s in states],
            [s["grad_avg"] for s in states] if group["centered"] else None,
            [s["momentum_buffer"] for s in states] if group["momentum"] > 0 else None,
            lr=float(group["lr"]),
            alpha=group["alpha"],
            eps=group["eps"],
            weight_decay=float(group["weight_decay"]),
            momentum=group["momentum"],
            maximize=group["maximize"],
        )
