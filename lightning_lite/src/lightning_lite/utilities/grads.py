"""Norms of gradients."""

from __future__ import annotations

from typing import Any

import rushlight as rl


def grad_norm(
    module: Any, norm_type: float | int | str, group_separator: str = "/"
) -> dict[str, float]:
    """The p-norm of each parameter's gradient, and of all of them, as plain numbers.

    `norm_type`: a positive number, or "inf". Names are `grad_2.0_norm/layer.weight`, and
    `grad_2.0_norm_total`. Raises ValueError for a norm that is not positive.
    """
    kind = float(norm_type)
    if kind <= 0:
        raise ValueError(f"grad_norm: norm_type={norm_type!r}: expected a positive number or 'inf'")
    norms = {
        f"grad_{kind}_norm{group_separator}{name}": parameter.grad.detach().norm(kind)
        for name, parameter in module.named_parameters()
        if parameter.grad is not None
    }
    if not norms:
        return {}
    total = rl.stack(list(norms.values())).norm(kind)
    found = {name: float(value.item()) for name, value in norms.items()}
    return {**found, f"grad_{kind}_norm_total": float(total.item())}
