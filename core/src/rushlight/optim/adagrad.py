"""Adagrad."""

from __future__ import annotations

from rushlight.autograd.mode import no_grad
from rushlight.kernels.optimizers.step_formulas import adagrad_numbers
from rushlight.ops.creation.tensors import full_like
from rushlight.ops.foreach import steps as lists
from rushlight.optim.elementwise import FormulaOptimizer, decayed
from rushlight.optim.options import check, check_fused, check_rate


class Adagrad(FormulaOptimizer):
    """Gradients divided by the root of the sum of all their squares. (Duchi et al., 2011.)

    ``s += g^2``, ``p -= lr / (1 + (t - 1) lr_decay) * g / (sqrt(s) + eps)``.
    """

    _numbers = "adagrad"

    def __init__(
        self,
        params,
        lr=0.01,
        lr_decay=0,
        weight_decay=0,
        initial_accumulator_value=0,
        eps=1e-10,
        foreach=None,
        *,
        maximize=False,
        differentiable=False,
        fused=None,
    ):
        check_rate(lr)
        check("lr_decay value", lr_decay)
        check("weight_decay value", weight_decay)
        check("initial_accumulator_value value", initial_accumulator_value)
        check("epsilon value", eps)
        super().__init__(params, {
            "lr": lr, "lr_decay": lr_decay, "eps": eps, "weight_decay": weight_decay,
            "initial_accumulator_value": initial_accumulator_value, "foreach": foreach,
            "maximize": maximize, "differentiable": differentiable, "fused": fused,
        })  # fmt: skip
        check_fused(fused, foreach, differentiable)
        if fused:
            self._step_supports_amp_scaling = True
        for group in self.param_groups:  # PyTorch's states are there before the first step
            for parameter in group["params"]:
                self._state_of(parameter, group)

    def _begin(self, state, parameter, group):
        start = self.defaults["initial_accumulator_value"]
        value = complex(start, start) if parameter.is_complex() else start
        state["sum"] = full_like(parameter.detach(), value)

    def share_memory(self) -> None:
        """Move the sums into shared memory, for several processes that train one model."""
        with no_grad():
            for group in self.param_groups:
                for parameter in group["params"]:
                    self.state[parameter]["sum"].share_memory_()

    def _number_settings(self, group):
        return float(group["lr"]), float(group["lr_decay"])

    def _formula(self, group, p, g, state, step):
        lr = adagrad_numbers(step, self._option(group, "lr"), group["lr_decay"])
        g = decayed(g, p, self._option(group, "weight_decay"))
        total = state["sum"] + g * g
        return p - lr * (g / (total.sqrt() + group["eps"])), {"sum": total}

    def _sparse_step(self, group, parameter, grad, state, step):
        if group["weight_decay"]:
            raise RuntimeError("weight_decay option is not compatible with sparse gradients")
        grad = grad.coalesce()
        values = grad.values()
        state["sum"].add_(grad.with_elements(values * values))
        root = state["sum"].sparse_mask(grad).values().sqrt().add_(group["eps"])
        rate = adagrad_numbers(step, *self._number_settings(group))
        parameter.add_(grad.with_elements(values / root), alpha=-rate)

    def _fused(self, group, params, grads, states, steps):
        if steps[0] is None:
            rates = self._numbers_there(group, states)
        else:
            rates = [adagrad_numbers(step, *self._number_settings(group)) for step in steps]
        lists.adagrad_(
            params,
            grads,
            [s["sum"] for s in states],
            rates=rates,
            eps=group["eps"],
            weight_decay=float(group["weight_decay"]),
            maximize=group["maximize"],
        )
