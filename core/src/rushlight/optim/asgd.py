"""Averaged stochastic gradient descent."""

from __future__ import annotations

from rushlight.kernels.optimizers.step_formulas import asgd_numbers, asgd_schedule
from rushlight.ops.creation.tensors import tensor
from rushlight.ops.foreach import steps as lists
from rushlight.optim.elementwise import FormulaOptimizer, decayed, zeros
from rushlight.optim.optimizer import scalar_dtype
from rushlight.optim.options import check, check_rate


class ASGD(FormulaOptimizer):
    """Stochastic gradient descent that keeps the average of its iterates in the state's ``ax``.

    (Polyak and Juditsky, 1992.) The rate falls as ``eta = lr / (1 + lambd lr t)^alpha``, averaging
    starts after `t0` steps.
    """

    _numbers = "asgd"
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
        state["eta"] = self._scalar(float(group["lr"]), parameter, group)
        state["mu"] = self._scalar(1.0, parameter, group)
        state["ax"] = zeros(parameter)

    def _number_settings(self, group):
        return tuple(float(group[name]) for name in ("lr", "lambd", "alpha", "t0"))

    def _following(self, group, step, eta, mu):
        """The rate and the share of the average after a step. Over lists (``foreach=True``) PyTorch
        computes the rate from the step as a tensor, in the default dtype."""
        lr, lambd, alpha, t0 = self._number_settings(group)
        rate, share = asgd_schedule(step, eta, mu, lr, lambd, alpha, t0)
        if group["foreach"]:
            kind = tensor(0.0).numpy().dtype.type
            grown = kind(1) + kind(lambd * lr) * kind(step)
            rate = float(kind(lr) / grown ** kind(alpha))
        return rate, share

    def _formula(self, group, p, g, state, step):
        eta, mu = state["eta"].item(), state["mu"].item()
        g = decayed(g, p, self._option(group, "weight_decay"))
        p = p * (1 - group["lambd"] * eta) - g * eta
        average = p if mu == 1 else state["ax"] + (p - state["ax"]) * mu
        following = self._following(group, step, eta, mu)
        for name, value in zip(("eta", "mu"), following, strict=True):
            # rounded to the default dtype, whatever dtype a loaded state has
            state[name].detach().copy_(tensor(value))
        return p, {"ax": average}

    def _fused(self, group, params, grads, states, steps):
        settings = self._number_settings(group)
        if steps[0] is None:
            numbers = self._numbers_there(group, states)
        else:
            scalars = [lists.scalars_of(states, name) for name in ("eta", "mu")]
            kind, numbers = tensor(0.0).numpy().dtype.type, []
            for step, eta, mu in zip(steps, *scalars, strict=True):
                held = float(eta), float(mu)
                numbers.append(asgd_numbers(step, *held, *settings))
                eta[()], mu[()] = map(kind, self._following(group, step, *held))
        lists.asgd_(
            params,
            grads,
            [s["ax"] for s in states],
            numbers=numbers,
            weight_decay=float(group["weight_decay"]),
            maximize=group["maximize"],
        )
