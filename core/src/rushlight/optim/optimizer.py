"""Optimizer: parameter groups, their state, and state dicts that PyTorch can read."""

from __future__ import annotations

import copy
import functools
from collections import OrderedDict, defaultdict

from rushlight.autograd.mode import enable_grad, no_grad
from rushlight.autograd.node import HookHandle
from rushlight.tensor.tensor import Tensor


class _Required:
    def __repr__(self):
        return "<required parameter>"


required = _Required()


class Optimizer:
    """Base of all optimizers: holds parameter groups and per-parameter state.

    `params` is an iterable of tensors, of ``(name, tensor)`` pairs, or of dicts with a ``params``
    entry and options that override `defaults` for that group.
    """

    def __init__(self, params, defaults):
        if isinstance(params, Tensor):
            raise TypeError(
                "params argument given to the optimizer should be an iterable of Tensors or dicts, "
                f"but got {type(params).__name__}"
            )
        self.defaults = defaults
        self.state = defaultdict(dict)
        self.param_groups = []
        self._hooks_before, self._hooks_after = OrderedDict(), OrderedDict()
        groups = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(dict(group))

    def __init_subclass__(cls, **options):
        super().__init_subclass__(**options)
        if "step" in cls.__dict__:
            cls.step = _with_hooks(cls.step)

    def step(self, closure=None):
        """Update the parameters from their gradients; `closure` re-evaluates the loss."""
        raise NotImplementedError

    def zero_grad(self, set_to_none=True) -> None:
        """Forget the gradients (or, with ``set_to_none=False``, fill them with zeros)."""
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter._grad is None:
                    continue
                if set_to_none:
                    parameter._grad = None
                else:
                    parameter._grad.detach_().zero_()

    def add_param_group(self, param_group) -> None:
        """Add a dict with ``params`` and options."""
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        params = param_group["params"]
        params = [params] if isinstance(params, Tensor) else list(params)
        if params and isinstance(params[0], tuple):
            param_group["param_names"] = [name for name, _ in params]
            params = [tensor for _, tensor in params]
        param_group["params"] = params
        for parameter in params:
            if not isinstance(parameter, Tensor):
                raise TypeError(
                    f"optimizer can only optimize Tensors, but one of the params is "
                    f"{type(parameter).__name__}"
                )
            if not parameter.is_leaf:
                raise ValueError("can't optimize a non-leaf Tensor")
        for name, value in self.defaults.items():
            if value is required and name not in param_group:
                raise ValueError(
                    f"parameter group didn't specify a value of required optimization parameter "
                    f"{name}"
                )
            param_group.setdefault(name, value)
        known = {p for group in self.param_groups for p in group["params"]}
        if len(set(params)) != len(params) or known & set(params):
            raise ValueError("some parameters appear in more than one parameter group")
        self.param_groups.append(param_group)

    # ------------------------------------------------------------------ state dicts
    def state_dict(self):
        """``{"state": ..., "param_groups": ...}`` with parameters replaced by numbers."""
        numbers = {}
        groups = []
        for group in self.param_groups:
            for parameter in group["params"]:
                numbers.setdefault(parameter, len(numbers))
            packed = {k: v for k, v in group.items() if k != "params"}
            packed["params"] = [numbers[p] for p in group["params"]]
            groups.append(packed)
        state = {numbers.get(k, k): v for k, v in self.state.items()}
        return {"state": state, "param_groups": groups}

    def load_state_dict(self, state_dict) -> None:
        """Restore what `state_dict` gave; groups must match in number and size."""
        groups = self.param_groups
        saved = state_dict["param_groups"]
        if len(groups) != len(saved):
            raise ValueError(
                "loaded state dict has a different number of parameter groups: expected "
                f"{len(groups)}, got {len(saved)}"
            )
        if any(len(g["params"]) != len(s["params"]) for g, s in zip(groups, saved, strict=True)):
            raise ValueError(
                "loaded state dict contains a parameter group that doesn't match the size of "
                "optimizer's group"
            )
        parameters = {
            number: parameter
            for group, old in zip(groups, saved, strict=True)
            for number, parameter in zip(old["params"], group["params"], strict=True)
        }
        state: defaultdict = defaultdict(dict)
        for key, value in state_dict["state"].items():
            if key in parameters:
                state[parameters[key]] = _restored(parameters[key], value)
            else:
                state[key] = copy.deepcopy(value)
        self.state = state
        for group, old in zip(groups, saved, strict=True):
            params = group["params"]
            group.update({k: copy.deepcopy(v) for k, v in old.items() if k != "params"})
            group["params"] = params

    # ------------------------------------------------------------------ hooks
    def register_step_pre_hook(self, hook) -> HookHandle:
        """Call ``hook(optimizer, args, kwargs)`` before every step."""
        return HookHandle(self._hooks_before, hook)

    def register_step_post_hook(self, hook) -> HookHandle:
        """Call ``hook(optimizer, args, kwargs)`` after every step."""
        return HookHandle(self._hooks_after, hook)

    def __repr__(self):
        lines = [type(self).__name__ + " ("]
        for i, group in enumerate(self.param_groups):
            lines.append(f"Parameter Group {i}")
            lines += [f"    {k}: {group[k]}" for k in sorted(group) if k != "params"]
        return "\n".join(lines) + "\n)"

    def __getstate__(self):
        return {
            "defaults": self.defaults, "state": self.state, "param_groups": self.param_groups,
        }  # fmt: skip

    def __setstate__(self, state):
        self.__dict__.update(state)
        self._hooks_before, self._hooks_after = OrderedDict(), OrderedDict()

    # ------------------------------------------------------------------ for subclasses
    def _evaluate(self, closure):
        """The loss of a closure, with gradients on."""
        if closure is None:
            return None
        with enable_grad():
            return closure()

    @staticmethod
    def _with_gradients(group):
        """The parameters of a group that have a gradient, and the gradients."""
        params = [p for p in group["params"] if p._grad is not None]
        return params, [p._grad for p in params]


def _restored(parameter, value):
    """A loaded state entry: tensors like the parameter take its dtype, the rest is copied."""
    if isinstance(value, dict):
        return {
            k: v.clone() if k == "step" and isinstance(v, Tensor) else _restored(parameter, v)
            for k, v in value.items()
        }
    if isinstance(value, Tensor):
        found = value.detach().clone()
        same_kind = parameter.is_floating_point() and found.is_floating_point()
        return found.to(parameter.dtype) if same_kind else found
    return copy.deepcopy(value)


def _with_hooks(step):
    @functools.wraps(step)
    def wrapped(self, *args, **kwargs):
        if not self._hooks_before and not self._hooks_after:
            with no_grad():
                return step(self, *args, **kwargs)
        for hook in tuple(self._hooks_before.values()):
            result = hook(self, args, kwargs)
            if result is not None:
                args, kwargs = result
        with no_grad():
            out = step(self, *args, **kwargs)
        for hook in tuple(self._hooks_after.values()):
            hook(self, args, kwargs)
        return out

    return wrapped


def refuse(differentiable, capturable=False):
    """Options that need what is not there yet."""
    if differentiable:
        raise NotImplementedError(
            "differentiable=True is not available; write the update with tensor operations"
        )
    if capturable:
        raise NotImplementedError("capturable=True needs a GPU; use capturable=False")


def check(name, value, low=0.0, high=None):
    """Raise ValueError for a setting outside its range, in PyTorch's words."""
    if not low <= value or (high is not None and not value < high):
        raise ValueError(f"Invalid {name}: {value}")
