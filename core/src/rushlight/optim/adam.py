"""Adam and AdamW."""

from __future__ import annotations

from rushlight.ops.elementwise.arithmetic import maximum
from rushlight.ops.foreach import steps as lists
from rushlight.optim.elementwise import FormulaOptimizer, decayed, moment, second_moment, zeros
from rushlight.optim.options import (
    check,
    check_betas,
    check_fused,
    check_rate,
    check_single,
    scalar,
)
from rushlight.tensor.tensor import Tensor


class Adam(FormulaOptimizer):
    """Adaptive moment estimation. (Kingma and Ba, 2015; AMSGrad: Reddi et al., 2018.)

    ``m = beta1 m + (1 - beta1) g``, ``v = beta2 v + (1 - beta2) g^2``,
    ``p -= lr * (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + eps)``.
    """

    skips_on_device = True  # its kernels look at `found_inf` themselves

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
        if foreach and not capturable:
            _refuse_tensors(lr, betas)
        check_rate(lr)
        check("epsilon value", eps)
        check_betas(betas)
        check("weight_decay value", weight_decay)
        _check_kinds(betas)
        betas = tuple(scalar(b) for b in betas)
        super().__init__(params, {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "amsgrad": amsgrad,
            "maximize": maximize, "foreach": foreach, "capturable": capturable,
            "differentiable": differentiable, "fused": fused,
            "decoupled_weight_decay": decoupled_weight_decay,
        })  # fmt: skip
        check_fused(fused, foreach, differentiable)
        if fused:
            self._step_supports_amp_scaling = True

    def _check_group(self, group, params):
        super()._check_group(group, params)
        if group["foreach"] and isinstance(group["lr"], Tensor) and not group["capturable"]:
            raise RuntimeError(
                "lr as a Tensor is not supported for capturable=False and foreach=True"
            )

    def _sparse_step(self, group, parameter, grad, state, step):
        raise RuntimeError(
            "Adam does not support sparse gradients, please consider SparseAdam instead"
        )

    def _begin(self, state, parameter, group):
        state["exp_avg"] = zeros(parameter)
        state["exp_avg_sq"] = zeros(parameter)
        if group["amsgrad"]:
            state["max_exp_avg_sq"] = zeros(parameter)

    def _formula(self, group, p, g, state, step):
        lr, decay = self._option(group, "lr"), self._option(group, "weight_decay")
        beta1, beta2 = self._betas(group)
        if group["decoupled_weight_decay"]:
            p = p * (1 - lr * decay)
        else:
            g = decayed(g, p, decay)
        new = {
            "exp_avg": moment(state["exp_avg"], g, beta1),
            "exp_avg_sq": second_moment(state["exp_avg_sq"], g, beta2),
        }
        square = new["exp_avg_sq"]
        if group["amsgrad"]:
            square = new["max_exp_avg_sq"] = maximum(state["max_exp_avg_sq"], square)
        root = square.sqrt() / (1 - beta2**step) ** 0.5
        return p - (lr / (1 - beta1**step)) * (new["exp_avg"] / (root + group["eps"])), new

    def _fused(self, group, params, grads, states, steps):
        lists.adam_(
            params,
            grads,
            [s["exp_avg"] for s in states],
            [s["exp_avg_sq"] for s in states],
            [s["max_exp_avg_sq"] for s in states] if group["amsgrad"] else None,
            steps,
            lr=self._rate(group),
            betas=tuple(float(b) for b in group["betas"]),
            eps=group["eps"],
            weight_decay=float(group["weight_decay"]),
            maximize=group["maximize"],
            decoupled=group["decoupled_weight_decay"],
            **self._scaling(),
        )


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

    def __setstate__(self, state):
        super().__setstate__(state)
        for group in self.param_groups:
            group["decoupled_weight_decay"] = True


def _refuse_tensors(lr, betas):
    for name, value in (("lr", lr), ("betas[0]", betas[0]), ("betas[1]", betas[1])):
        if isinstance(value, Tensor):
            raise ValueError(
                f"{name} as a Tensor is not supported for capturable=False and foreach=True"
            )


def _check_kinds(betas):
    if not any(all(isinstance(b, kind) for b in betas[:2]) for kind in (float, Tensor)):
        raise ValueError("betas must be either both floats or both Tensors")
    check_single("betas[0]", betas[0])
    check_single("betas[1]", betas[1])
