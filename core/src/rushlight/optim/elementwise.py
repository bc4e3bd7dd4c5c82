"""The base of optimizers that treat parameters one by one: one formula, and a fused kernel.

A subclass writes its update once as a formula in tensor text. The formula runs when the step itself
is differentiated; otherwise ``_fused`` updates all parameters of a group in one kernel launch
(where there is no kernel, it falls back on the formula).
"""

from __future__ import annotations

from rushlight.autograd.mode import mode, no_grad
from rushlight.ops.creation.tensors import tensor, zeros_like
from rushlight.ops.foreach.steps import are_counted_there, count_and_number, count_steps
from rushlight.optim.optimizer import Optimizer, evaluate, scalar_dtype
from rushlight.optim.options import scalar
from rushlight.tensor.dispatch import dispatching, is_dispatching
from rushlight.tensor.tensor import EXACT, Tensor

# What an option means in a state dict that was saved before the option existed.
_ABSENT = {
    "amsgrad": False, "capturable": False, "centered": False, "decoupled_weight_decay": False,
    "differentiable": False, "foreach": None, "fused": None, "maximize": False, "momentum": 0,
    "nesterov": False,
}  # fmt: skip
ACCELERATORS = ("cuda", "xpu", "hpu", "privateuseone", "xla")


class FormulaOptimizer(Optimizer):
    """Base of optimizers with an update of the form ``(p, g, state) -> (p, state)``."""

    _counts = True  # whether the state has a step counter
    _numbers: str | None = None  # the entry of `NUMBERS` with what depends on its steps
    _takes_complex = True  # whether complex parameters are taken as pairs of reals
    _scalars: tuple = ("step",)  # state entries that hold one number for a whole parameter

    # ------------------------------------------------------------------ for subclasses
    def _begin(self, state, parameter, group):
        """Fill a new state; the step counter is there already."""
        raise NotImplementedError

    def _formula(self, group, p, g, state, step):
        """The new parameter and a dict of new state entries; nothing is changed in place."""
        raise NotImplementedError

    def _fused(self, group, params, grads, states, steps):
        """Update many parameters in place; the formula one by one where there is no kernel."""
        for parameter, grad, state, step in zip(params, grads, states, steps, strict=True):
            self._apply(group, parameter, grad, state, step)

    def __setstate__(self, state):
        super().__setstate__(state)
        for group in self.param_groups:
            for name, value in _ABSENT.items():
                if name in self.defaults:
                    group.setdefault(name, value)
            for parameter in group["params"]:
                self._modernize(self.state.get(parameter))

    @staticmethod
    def _modernize(state):
        """Old state dicts count steps in plain numbers: make them tensors, as they are now."""
        if state and isinstance(state.get("step"), (int, float)):
            state["step"] = tensor(float(state["step"]), dtype=scalar_dtype())

    # ------------------------------------------------------------------ the step
    def step(self, closure=None):
        """One update from the gradients; returns the closure's loss."""
        recording, mode.recording = mode.recording, bool(self.defaults.get("differentiable"))
        try:
            loss = None if closure is None else evaluate(self, closure)
            found = self.found_inf
            if found is not None and not found.is_cuda and float(found):
                return loss  # on a GPU the kernels look themselves
            for group in self.param_groups:
                params = [p for p in group["params"] if p._grad is not None]
                if params:
                    self._update(group, params, [p._grad for p in params])
        finally:
            mode.recording = recording
        return loss

    def _update(self, group, params, grads):
        self._check_group(group, params)
        known = self.state
        states = [known.get(p) or self._state_of(p, group) for p in params]
        if self.grad_scale is not None and not self.grad_scale.is_cuda:
            self._unscale(grads)
        steps = self._count(group, states) if self._counts else [0] * len(params)
        if not EXACT.issuperset(map(type, grads)):
            params, grads, states, steps = self._update_sparse(group, params, grads, states, steps)
            if not params:
                return
        if group.get("differentiable"):
            for parameter, grad, state, step in zip(params, grads, states, steps, strict=True):
                self._apply(group, parameter, grad, state, float(step))
        elif dispatching() or any(map(is_dispatching, (*params, *grads))):
            with no_grad():  # a mode sees the ops of the formula, not one kernel
                FormulaOptimizer._fused(self, group, params, grads, states, steps)
        elif mode.recording:
            with no_grad():
                self._fused(group, params, grads, states, steps)
        else:
            self._fused(group, params, grads, states, steps)

    def _count(self, group, states):
        """The numbers of this step, counted on; None each where `_fused` is to count them."""
        if self._numbers and not group.get("differentiable") and are_counted_there(states):
            return [None] * len(states)
        return count_steps(states)

    def _numbers_there(self, group, states):
        """Count steps that are on a GPU and give what depends on them, an array there."""
        scalars = [name for name in self._scalars if name != "step"]
        return count_and_number(self._numbers, states, scalars, self._number_settings(group))

    def _number_settings(self, group):
        """The settings that the formulas of `_numbers` take, as floats."""
        raise NotImplementedError

    def _scalar(self, value, parameter, group):
        """A number of a state; on the GPU of its parameter where steps are captured."""
        kept = group.get("capturable") and parameter.is_cuda
        return tensor(value, dtype=scalar_dtype(), device=parameter.device if kept else None)

    def _update_sparse(self, group, params, grads, states, steps):
        """Update the parameters with sparse gradients; gives back what concerns the others."""
        rest = []
        for item in zip(params, grads, states, steps, strict=True):
            parameter, grad, state, step = item
            if grad.layout == "strided":
                rest.append(item)
                continue
            with no_grad():
                (step,) = count_steps([state]) if step is None else (step,)
                grad = -grad if group.get("maximize") else grad
                self._sparse_step(group, parameter, grad, state, float(step))
        return tuple(map(list, zip(*rest, strict=True))) if rest else ([], [], [], [])

    def _sparse_step(self, group, parameter, grad, state, step):
        """One parameter with a sparse gradient, in place; most optimizers take none."""
        raise RuntimeError(f"{type(self).__name__} does not support sparse gradients")

    def _state_of(self, parameter, group):
        state = self.state[parameter]
        if not state:
            with no_grad():
                if self._counts:
                    kept = group.get("capturable") or group.get("fused")
                    state["step"] = tensor(
                        0.0,
                        dtype=scalar_dtype(group.get("fused")),
                        device=parameter.device if kept and parameter.is_cuda else None,
                    )
                self._begin(state, parameter, group)
        return state

    def _apply(self, group, parameter, grad, state, step):
        """One parameter through the formula; results are written into it and into its state."""
        paired, recorded = parameter.is_complex(), group.get("differentiable")

        def given(value):
            # in-place writes below must not touch what the formula saves for backward
            value = value.clone() if recorded else value
            return value.view_as_real() if paired else value

        held = {
            k: v if k in self._scalars or not isinstance(v, Tensor) else given(v)
            for k, v in state.items()
        }
        grad = grad.view_as_real() if paired else grad
        found, entries = self._formula(
            group, given(parameter), -grad if group.get("maximize") else grad, held, step
        )
        parameter.copy_(found.view_as_complex() if paired else found)
        for name, value in entries.items():
            value = value.view_as_complex() if paired else value
            if name in state:
                state[name].copy_(value)
            else:
                state[name] = value.clone() if recorded else value

    def _scaling(self):
        """What the kernels of a GPU are told of loss scaling: scalars there."""
        named = {"grad_scale": self.grad_scale, "found_inf": self.found_inf}
        return {k: v._array for k, v in named.items() if v is not None and v.is_cuda}

    def _rate(self, group):
        """The learning rate: a number, or the scalar of a GPU that a captured step reads."""
        lr = group["lr"]
        return lr._array if isinstance(lr, Tensor) and lr.is_cuda else float(lr)

    # ------------------------------------------------------------------ options
    def _check_group(self, group, params):
        if not self._takes_complex and any(p.is_complex() for p in params):
            raise RuntimeError(f"{type(self).__name__} does not support complex parameters")
        if group.get("capturable") and any(p.device.type not in ACCELERATORS for p in params):
            raise AssertionError(
                "If capturable=True, params and state_steps must be on supported devices: "
                f"{list(ACCELERATORS)}."
            )
        if group.get("fused"):
            for p in params:
                if not p.is_floating_point():
                    raise RuntimeError(
                        "`fused=True` requires all the params to be floating point Tensors of "
                        f"supported devices: ['cpu', 'cuda'] but {p.dtype} and {p.device.type}"
                    )

    @staticmethod
    def _option(group, name):
        """A setting for a formula: a tensor where it is to be differentiated, else a number."""
        return _number(group[name], group.get("differentiable"))

    @staticmethod
    def _betas(group):
        return tuple(_number(b, group.get("differentiable")) for b in group["betas"])

    # ------------------------------------------------------------------ loss scaling
    grad_scale = found_inf = None  # set by a GradScaler for the time of a fused step

    def _unscale(self, grads):
        with no_grad():
            for grad in grads:
                grad.div_(float(self.grad_scale))


def _number(value, recorded):
    if isinstance(value, Tensor):
        return scalar(value) if recorded and value.requires_grad else float(value)
    return value


def decayed(g, p, weight_decay):
    """The gradient with that of ``weight_decay / 2 * ||p||^2`` added."""
    if isinstance(weight_decay, Tensor):
        return g + p * weight_decay
    return g.add(p, alpha=weight_decay) if weight_decay else g


def moment(average, g, beta):
    """A running average with new values."""
    return average + (g - average) * (1 - beta)


def second_moment(average, g, beta):
    """A running average of squares with new values."""
    return average * beta + g * g * (1 - beta)


def zeros(parameter):
    """Zeros like a parameter, without its history."""
    return zeros_like(parameter.detach())
