"""NAdam."""

from __future__ import annotations

from rushlight.kernels.optimizers.step_formulas import nadam_numbers, nadam_product
from rushlight.ops.creation.tensors import tensor
from rushlight.ops.foreach import steps as lists
from rushlight.optim.elementwise import FormulaOptimizer, decayed, moment, second_moment, zeros
from rushlight.optim.optimizer import scalar_dtype
from rushlight.optim.options import check, check_betas, check_rate


class NAdam(FormulaOptimizer):
    """Adam with Nesterov's momentum. (Dozat, 2016.)

    With ``mu_t = beta1 (1 - 0.96^(t momentum_decay) / 2)`` and ``M_t`` the product of all of them,
    the step is ``lr ((1 - mu_t) / (1 - M_t) g + mu_{t+1} / (1 - M_{t+1}) m)`` over Adam's
    denominator.
    """

    _numbers = "nadam"
    _scalars = ("step", "mu_product")

    def __init__(
        self,
        params,
        lr=0.002,
        betas=(0.9, 0.999),
        eps=1e-08,
        weight_decay=0,
        momentum_decay=0.004,
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
        check("momentum_decay value", momentum_decay)
        super().__init__(params, {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay,
            "momentum_decay": momentum_decay, "decoupled_weight_decay": decoupled_weight_decay,
            "maximize": maximize, "foreach": foreach, "capturable": capturable,
            "differentiable": differentiable,
        })  # fmt: skip

    @staticmethod
    def _modernize(state):
        FormulaOptimizer._modernize(state)
        if state and isinstance(state.get("mu_product"), (int, float)):
            state["mu_product"] = tensor(float(state["mu_product"]), dtype=scalar_dtype())

    def _begin(self, state, parameter, group):
        state["mu_product"] = self._scalar(1.0, parameter, group)
        state["exp_avg"] = zeros(parameter)
        state["exp_avg_sq"] = zeros(parameter)

    def _number_settings(self, group):
        return tuple(map(float, (group["lr"], *group["betas"], group["momentum_decay"])))

    @staticmethod
    def _numbers_of(product, step, settings):
        """What depends on a step; counts the array `product` on."""
        product[()] = nadam_product(step, product[()], *settings)
        # rounded to the counter's dtype, as a state dict keeps it
        return nadam_numbers(step, float(product), *settings)

    def _formula(self, group, p, g, state, step):
        lr, decay = self._option(group, "lr"), self._option(group, "weight_decay")
        beta1, beta2 = self._betas(group)
        (product,) = lists.scalars_of([state], "mu_product")
        settings = (1.0, *self._number_settings(group)[1:])
        of_gradient, of_mean, _ = self._numbers_of(product, step, settings)
        if group["decoupled_weight_decay"]:
            p = p * (1 - lr * decay)
        else:
            g = decayed(g, p, decay)
        mean, square = (
            moment(state["exp_avg"], g, beta1),
            second_moment(state["exp_avg_sq"], g, beta2),
        )
        root = (square / (1 - beta2**step)).sqrt() + group["eps"]
        update = (g * of_gradient + mean * of_mean) / root
        return p - lr * update, {"exp_avg": mean, "exp_avg_sq": square}

    def _fused(self, group, params, grads, states, steps):
        lr, settings = float(group["lr"]), self._number_settings(group)
        if steps[0] is None:
            numbers = self._numbers_there(group, states)
        else:
            products = lists.scalars_of(states, "mu_product")
            numbers = [
                self._numbers_of(product, step, settings)
                for product, step in zip(products, steps, strict=True)
            ]
        lists.nadam_(
            params,
            grads,
            [s["exp_avg"] for s in states],
            [s["exp_avg_sq"] for s in states],
            numbers=numbers,
            lr=lr,
            betas=group["betas"],
            eps=group["eps"],
            weight_decay=float(group["weight_decay"]),
            maximize=group["maximize"],
            decoupled=group["decoupled_weight_decay"],
        )
