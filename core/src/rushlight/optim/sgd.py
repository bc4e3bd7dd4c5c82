"""Stochastic gradient descent."""

from __future__ import annotations

from rushlight.ops import foreach
from rushlight.ops.creation import empty_like
from rushlight.optim.optimizer import Optimizer, check, refuse


class SGD(Optimizer):
    """``p -= lr * g``, with momentum, Nesterov's variant and weight decay.

    (Sutskever et al., 2013, for momentum and Nesterov's form.)
    """

    def __init__(
        self,
        params,
        lr=0.001,
        momentum=0,
        dampening=0,
        weight_decay=0,
        nesterov=False,
        *,
        maximize=False,
        foreach=None,
        differentiable=False,
        fused=None,
    ):
        check("learning rate", lr)
        check("momentum value", momentum)
        check("weight_decay value", weight_decay)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        refuse(differentiable)
        super().__init__(params, {
            "lr": lr, "momentum": momentum, "dampening": dampening, "weight_decay": weight_decay,
            "nesterov": nesterov, "maximize": maximize, "foreach": foreach,
            "differentiable": differentiable, "fused": fused,
        })  # fmt: skip

    def step(self, closure=None):
        """One update; returns the closure's loss."""
        loss = self._evaluate(closure)
        for group in self.param_groups:
            params, grads = self._with_gradients(group)
            if not group["momentum"]:
                self._update(group, params, grads, None, False)
                continue
            fresh = [
                i for i, p in enumerate(params) if self.state[p].get("momentum_buffer") is None
            ]
            for i in fresh:
                self.state[params[i]]["momentum_buffer"] = empty_like(params[i].detach())
            chosen = set(fresh)
            known = [i for i in range(len(params)) if i not in chosen]
            for part, first in ((fresh, True), (known, False)):
                self._update(
                    group,
                    [params[i] for i in part],
                    [grads[i] for i in part],
                    [self.state[params[i]]["momentum_buffer"] for i in part],
                    first,
                )
        return loss

    def _update(self, group, params, grads, buffers, first):
        if not params:
            return
        foreach.sgd_(
            params,
            grads,
            buffers,
            lr=float(group["lr"]),
            momentum=group["momentum"],
            dampening=group["dampening"],
            weight_decay=group["weight_decay"],
            nesterov=group["nesterov"],
            maximize=group["maximize"],
            first_step=first,
        )
