"""Muon."""

from __future__ import annotations

import math

from rushlight.dtypes import bfloat16, float32
from rushlight.optim.elementwise import FormulaOptimizer, moment, zeros
from rushlight.optim.options import check_single


class Muon(FormulaOptimizer):
    """Momentum whose updates are made orthogonal, for matrices. (Jordan et al., 2024.)

    The momentum is orthogonalized by `ns_steps` Newton-Schulz iterations in bfloat16 with the
    polynomial ``a x + b x^3 + c x^5`` of `ns_coefficients`; weight decay is decoupled.
    """

    _counts = False
    _takes_complex = False

    def __init__(
        self,
        params,
        lr=0.001,
        weight_decay=0.1,
        momentum=0.95,
        nesterov=True,
        ns_coefficients: tuple[float, float, float] = (3.4445, -4.775, 2.0315),
        eps=1e-07,
        ns_steps=5,
        adjust_lr_fn: str | None = None,
    ):
        check_single("lr", lr)
        for name, value in (
            ("Learning rate", lr), ("momentum", momentum), ("weight decay", weight_decay),
        ):  # fmt: skip
            if not value >= 0.0:
                raise ValueError(f"{name} should be >= 0 but is: {value}")
        if adjust_lr_fn not in (None, "original", "match_rms_adamw"):
            raise ValueError(f"Adjust learning rate function {adjust_lr_fn} is not supported")
        super().__init__(params, {
            "lr": lr, "weight_decay": weight_decay, "momentum": momentum, "nesterov": nesterov,
            "ns_coefficients": ns_coefficients, "eps": eps, "ns_steps": ns_steps,
            "adjust_lr_fn": adjust_lr_fn,
        })  # fmt: skip
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.ndim != 2:
                    raise ValueError(
                        "Muon only supports 2D parameters whereas we found a parameter with size: "
                        f"{parameter.size()}"
                    )

    def _begin(self, state, parameter, group):
        state["momentum_buffer"] = zeros(parameter)

    def _formula(self, group, p, g, state, step):
        lr, momentum = float(group["lr"]), group["momentum"]
        buffer = moment(state["momentum_buffer"], g, momentum)
        update = g + (buffer - g) * momentum if group["nesterov"] else buffer
        update = _orthogonal(update, group["ns_coefficients"], group["ns_steps"], group["eps"])
        rate = lr * _adjustment(group["adjust_lr_fn"], *p.shape)
        return p * (1 - lr * group["weight_decay"]) - update.to(p.dtype) * rate, {
            "momentum_buffer": buffer
        }


def _orthogonal(matrix, coefficients, steps, eps):
    """About the orthogonal factor of the polar decomposition, in bfloat16."""
    if steps >= 100:
        raise ValueError(f"ns_steps must be less than 100 for computational efficiency: {steps}")
    if len(coefficients) != 3:
        raise ValueError(
            f"ns_coefficients must be a tuple of exactly 3 values, got {len(coefficients)}"
        )
    a, b, c = coefficients
    tall = matrix.size(0) > matrix.size(1)
    x = matrix.to(bfloat16)
    x = x.T if tall else x
    x = x / x.norm().clamp(min=eps)
    for _ in range(steps):
        gram = x @ x.T
        polynomial = _rounded_sum(b, gram, c, gram, gram)
        x = _rounded_sum(a, x, 1.0, polynomial, x)
    return x.T if tall else x


def _rounded_sum(scale, addend, share, left, right):
    """``scale addend + share left @ right`` of bfloat16 matrices, rounded once."""
    product = left.to(float32) @ right.to(float32)
    return (addend.to(float32) * scale + product * share).to(bfloat16)


def _adjustment(kind, rows, columns):
    """The factor of the learning rate for a matrix of this shape."""
    if kind == "match_rms_adamw":
        return 0.2 * math.sqrt(max(rows, columns))
    return math.sqrt(max(1, rows / columns))
