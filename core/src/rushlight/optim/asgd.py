"""Averaged stochastic gradient descent."""

from __future__ import annotations

from rushlight.ops import foreach as lists
from rushlight.ops.creation import tensor
from rushlight.optim.elementwise import FormulaOptimizer, decayed, zeros
from rushlight.optim.optimizer import scalar_dtype
from rushlight.optim.options import check, check_rate


class ASGD(FormulaOptimizer):
    """Stochastic gradient descent that keeps the average of its iterates in the state's ``ax``.

    (Polyak and Juditsky, 1992.) The rate falls as ``eta = lr / (1 + lambd lr t)^alpha``, averaging
    starts after `t0` steps.
    """

    _scalars = ("step", "eta", "mu")

    def __init__(
        self,
        params,
        lr=0.01,
        lambd=0.0001,
        alpha=0.75,
        t0=1000000.0,
        weight_decay=0,
        foreach=None,
        maximize=False,
        differentiable=False,
        capturable=False,
    ):
        check_rate(lr)
        check("weight_decay value", weight_decay)
        super().__init__(params, {
            "lr": lr, "lambd": lambd, "alpha": alpha, "t0": t0, "weight_decay": weight_decay,
            "foreach": foreach, "maximize": maximize, "differentiable": differentiable,
            "capturable": capturable,
        })  # fmt: skip

    @staticmethod
    def _modernize(state):
        FormulaOptimizer._modernize(state)
        for name in ("eta", "mu"):
            if state and isinstance(state.get(name), (int, float)):
                state[name] = tensor(float(state[name]), dtype=scalar_dtype())

    def _begin(self, state, parameter, group):
        state["eta"] = tensor(float(group["lr"]), dtype=scalar_dtype())
        state["mu"] = tensor(1.0, dtype=scalar_dtype())
        state["ax"] = zeros(parameter)

    @staticmethod
    def _schedule(group, step):
        """The rate and the share of the average for the step after this one."""
        lr = float(group["lr"])
        rate = lr / ((1 + group["lambd"] * lr * step) ** group["alpha"])
        return rate, 1 / max(1, step - group["t0"])

    def _formula(self, group, p, g, state, step):
        eta, mu = state["eta"].item(), state["mu"].item()
        g = decayed(g, p, self._option(group, "weight_decay"))
        p = p * (1 - group["lambd"] * eta) - g * eta
        average = p if mu == 1 else state["ax"] + (p - state["ax"]) * mu
        for name, value in zip(("eta", "mu"), self._schedule(group, step), strict=True):
            # rounded to the default dtype, whatever dtype a loaded state has
            state[name].detach().copy_(tensor(value))
        return p, {"ax": average}

    def _fused(self, group, params, grads, states, steps):
        etas, mus = lists.scalars_of(states, "eta"), lists.scalars_of(states, "mu")
        kind, lambd = tensor(0.0).numpy().dtype.type, group["lambd"]
        numbers = [
            (float(eta), 1 - lambd * float(eta), float(mu))
            for eta, mu in zip(etas, mus, strict=True)
        ]
        lists.asgd_(
            params,
            grads,
            [s["ax"] for s in states],
            numbers=numbers,
            weight_decay=float(group["weight_decay"]),
            maximize=group["maximize"],
        )
        for step, eta, mu in zip(steps, etas, mus, strict=True):
            eta[()], mu[()] = (kind(value) for value in self._schedule(group, step))
