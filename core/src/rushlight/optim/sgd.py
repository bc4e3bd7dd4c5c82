"""Stochastic gradient descent."""

from __future__ import annotations

from rushlight.ops.creation.tensors import empty_like
from rushlight.ops.foreach import steps as lists
from rushlight.optim.elementwise import FormulaOptimizer, decayed
from rushlight.optim.options import check, check_fused, check_rate


class SGD(FormulaOptimizer):
    """``p -= lr * g``, with momentum, Nesterov's variant and weight decay.

    (Sutskever et al., 2013, for momentum and Nesterov's form.)
    """

    _counts = False

    skips_on_device = True  # its kernels look at `found_inf` themselves

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
        check_rate(lr)
        check("momentum value", momentum)
        check("weight_decay value", weight_decay)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        super().__init__(params, {
            "lr": lr, "momentum": momentum, "dampening": dampening, "weight_decay": weight_decay,
            "nesterov": nesterov, "maximize": maximize, "foreach": foreach,
            "differentiable": differentiable, "fused": fused,
        })  # fmt: skip
        check_fused(fused, foreach, differentiable)
        if fused:
            self._step_supports_amp_scaling = True

    def _state_of(self, parameter, group):
        # without momentum there is no state at all, as in PyTorch's state dicts
        return self.state[parameter] if group["momentum"] else {}

    def _formula(self, group, p, g, state, step):
        lr, momentum = self._option(group, "lr"), group["momentum"]
        g = decayed(g, p, self._option(group, "weight_decay"))
        if not momentum:
            return p - lr * g, {}
        buffer = state.get("momentum_buffer")
        if buffer is None:
            buffer = g.detach().clone()
        else:
            buffer = buffer * momentum + g * (1 - group["dampening"])
        update = g + buffer * momentum if group["nesterov"] else buffer
        return p - lr * update, {"momentum_buffer": buffer}

    def _apply(self, group, parameter, grad, state, step):
        if "momentum_buffer" in state and state["momentum_buffer"] is None:
            del state["momentum_buffer"]
        super()._apply(group, parameter, grad, state, step)

    def _fused(self, group, params, grads, states, steps):
        if not group["momentum"]:
            self._launch(group, params, grads, None, False)
            return
        fresh = [i for i, state in enumerate(states) if state.get("momentum_buffer") is None]
        for i in fresh:
            states[i]["momentum_buffer"] = empty_like(params[i].detach())
        if not fresh:
            self._launch(group, params, grads, [s["momentum_buffer"] for s in states], False)
            return
        chosen = set(fresh)
        known = [i for i in range(len(params)) if i not in chosen]
        for part, first in ((fresh, True), (known, False)):
            if part:
                self._launch(
                    group,
                    [params[i] for i in part],
                    [grads[i] for i in part],
                    [states[i]["momentum_buffer"] for i in part],
                    first,
                )

    def _sparse_step(self, group, parameter, grad, state, step):
        momentum = group["momentum"]
        if group["weight_decay"]:
            raise RuntimeError(
                "SGD: weight_decay with a sparse gradient is not supported: it would change every "
                "row; use weight_decay=0"
            )
        if momentum:
            buffer = state.get("momentum_buffer")
            if buffer is None:
                buffer = state["momentum_buffer"] = grad.clone()
            else:
                buffer = buffer * momentum + grad * (1 - group["dampening"])
                state["momentum_buffer"] = buffer = buffer.coalesce()
            grad = grad + buffer * momentum if group["nesterov"] else buffer
        parameter.add_(grad, alpha=-float(group["lr"]))

    def _launch(self, group, params, grads, buffers, first):
        lists.sgd_(
            params,
            grads,
            buffers,
            lr=self._rate(group),
            momentum=group["momentum"],
            dampening=group["dampening"],
            weight_decay=float(group["weight_decay"]),
            nesterov=group["nesterov"],
            maximize=group["maximize"],
            first_step=first,
            **self._scaling(),
        )
