"""Resilient backpropagation."""

from __future__ import annotations

from rushlight.ops.creation.tensors import full_like
from rushlight.ops.elementwise.comparison import where
from rushlight.ops.foreach import steps as lists
from rushlight.optim.elementwise import FormulaOptimizer, zeros
from rushlight.optim.options import check_rate


class Rprop(FormulaOptimizer):
    """Steps by the sign of the gradient, with a size of its own for every element.

    (Riedmiller and Braun, 1993.) A size grows by ``etas[1]`` while the sign stays and shrinks by
    ``etas[0]`` when it changes; then the element rests for one step.
    """

    def __init__(
        self,
        params,
        lr=0.01,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-06, 50),
        *,
        capturable=False,
        foreach=None,
        maximize=False,
        differentiable=False,
    ):
        check_rate(lr)
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise ValueError(f"Invalid eta values: {etas[0]}, {etas[1]}")
        super().__init__(params, {
            "lr": lr, "etas": etas, "step_sizes": step_sizes, "foreach": foreach,
            "maximize": maximize, "differentiable": differentiable, "capturable": capturable,
        })  # fmt: skip

    def _begin(self, state, parameter, group):
        state["prev"] = zeros(parameter)
        lr = float(group["lr"])
        value = complex(lr, lr) if parameter.is_complex() else lr
        state["step_size"] = full_like(parameter.detach(), value)

    def _formula(self, group, p, g, state, step):
        agreement, (smaller, larger) = g.detach() * state["prev"].detach(), group["etas"]
        turned = agreement < 0
        ones = full_like(agreement, 1)
        factor = where(turned, ones * smaller, where(agreement > 0, ones * larger, ones))
        size = (state["step_size"] * factor).clamp(*group["step_sizes"])
        g = where(turned, ones * 0, g)
        return p - g.sign() * size, {"prev": g, "step_size": size}

    def _fused(self, group, params, grads, states, steps):
        lists.rprop_(
            params,
            grads,
            [s["prev"] for s in states],
            [s["step_size"] for s in states],
            etas=group["etas"],
            step_sizes=group["step_sizes"],
            maximize=group["maximize"],
        )
