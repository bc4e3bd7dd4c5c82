"""Optimizer: parameter groups, their state, hooks, and state dicts that PyTorch can read."""

from __future__ import annotations

import copy
import functools
import types
import warnings
from collections import OrderedDict, defaultdict
from collections.abc import Iterable
from itertools import chain
from typing import Any, TypeAlias

from rushlight.autograd.handle import RemovableHandle, add_hook
from rushlight.autograd.mode import enable_grad
from rushlight.dtypes import float32
from rushlight.optim.step_values import (  # noqa: F401 - PyTorch's inner path of them
    _capturable_doc,
    _default_to_fused_or_foreach,
    _device_dtype_check_for_fused,
    _differentiable_doc,
    _disable_dynamo_if_unsupported,
    _foreach_doc,
    _fused_doc,
    _get_capturable_supported_devices,
    _get_scalar_dtype,
    _get_value,
    _maximize_doc,
    _params_doc,
    _stack_if_compiling,
    _to_scalar,
    _use_grad_for_differentiable,
    _view_as_real,
    scalar_dtype,
)
from rushlight.tensor.tensor import Tensor

__all__ = [
    "Optimizer",
    "ParamsT",
    "register_optimizer_step_post_hook",
    "register_optimizer_step_pre_hook",
    "required",
]

_global_optimizer_pre_hooks: OrderedDict = OrderedDict()
_global_optimizer_post_hooks: OrderedDict = OrderedDict()

# The orders in which an optimizer calls its hooks; each is a dict on the instance.
_HOOKS = (
    "_optimizer_step_pre_hooks",
    "_optimizer_step_post_hooks",
    "_optimizer_state_dict_pre_hooks",
    "_optimizer_state_dict_post_hooks",
    "_optimizer_load_state_dict_pre_hooks",
    "_optimizer_load_state_dict_post_hooks",
)
_NO_HOOKS: types.MappingProxyType = types.MappingProxyType({})


# What optimizers take as `params`.
ParamsT: TypeAlias = Iterable[Tensor] | Iterable[dict[str, Any]] | Iterable[tuple[str, Tensor]]


class _RequiredParameter:
    def __repr__(self):
        return "<required parameter>"


required = _RequiredParameter()


def register_optimizer_step_pre_hook(hook) -> RemovableHandle:
    """Call ``hook(optimizer, args, kwargs)`` before every step of every optimizer."""
    return add_hook(_global_optimizer_pre_hooks, hook)


def register_optimizer_step_post_hook(hook) -> RemovableHandle:
    """Call ``hook(optimizer, args, kwargs)`` after every step of every optimizer."""
    return add_hook(_global_optimizer_post_hooks, hook)


def _check_parameter(optimizer, parameter):
    if not isinstance(parameter, Tensor):
        raise TypeError(
            "optimizer can only optimize Tensors, but one of the params is "
            f"{type(parameter).__module__}.{type(parameter).__name__}"
        )
    leaf = parameter.is_leaf or parameter.retains_grad
    if not leaf and not optimizer.defaults.get("differentiable"):
        raise ValueError("can't optimize a non-leaf Tensor")


def _check_with_others(optimizer, added):
    named = "param_names" in added
    for group in optimizer.param_groups:
        if ("param_names" in group) != named:
            raise ValueError(
                "all optimizer param groups should be with/without names. cannot add param "
                f"group {'with' if named else 'without'} names to the optimizer"
            )
    known = {p for group in optimizer.param_groups for p in group["params"]}
    if not known.isdisjoint(added["params"]):
        raise ValueError("some parameters appear in more than one parameter group")


def _check_sizes(optimizer, saved):
    groups = optimizer.param_groups
    if len(groups) != len(saved):
        raise ValueError(
            "loaded state dict has a different number of parameter groups: expected "
            f"{len(groups)}, got {len(saved)}"
        )
    for i, (group, old) in enumerate(zip(groups, saved, strict=True)):
        if len(group["params"]) != len(old["params"]):
            raise ValueError(
                "loaded state dict contains a parameter group that doesn't match the size of "
                f"optimizer's group: group {i} has {len(group['params'])} parameters, the "
                f"loaded one {len(old['params'])}"
            )


def evaluate(optimizer, closure):
    """The loss of a closure, with gradients on."""
    if closure is None:
        return None
    with enable_grad():
        return closure()


class Optimizer:
    """Base of all optimizers: holds parameter groups and per-parameter state.

    `params` is an iterable of tensors, of ``(name, tensor)`` pairs, or of dicts with a ``params``
    entry and options that override `defaults` for that group. A subclass defines ``step``; like
    in PyTorch it runs with gradients recorded unless the subclass turns them off.
    """

    _stepping = False

    def __init__(self, params, defaults):
        if isinstance(params, Tensor):
            raise TypeError(
                "params argument given to the optimizer should be an iterable of Tensors or dicts, "
                f"but got {type(params).__name__}"
            )
        self.defaults = defaults
        for name in _HOOKS:
            setattr(self, name, OrderedDict())
        self.state = defaultdict(dict)
        self.param_groups = []
        groups = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(group)

    # For subclasses that never call this class's ``__init__``: there are no hooks then.
    _optimizer_step_pre_hooks = _optimizer_step_post_hooks = _NO_HOOKS
    _optimizer_state_dict_pre_hooks = _optimizer_state_dict_post_hooks = _NO_HOOKS
    _optimizer_load_state_dict_pre_hooks = _optimizer_load_state_dict_post_hooks = _NO_HOOKS

    def __init_subclass__(cls, **options):
        super().__init_subclass__(**options)
        if "step" in cls.__dict__ and not getattr(cls.__dict__["step"], "hooked", False):
            cls.step = _with_hooks(cls.__dict__["step"])

    def _patch_step_function(self):
        """Let the class's `step` call hooks: one that was set after the class was made."""
        kind = type(self)
        self._zero_grad_profile_name = f"Optimizer.zero_grad#{kind.__name__}.zero_grad"
        if not getattr(kind.step, "hooked", False):
            kind.step = _with_hooks(kind.step)

    @staticmethod
    def profile_hook_step(func):
        """A step that calls the hooks of its optimizer."""
        return _with_hooks(func)

    def _optimizer_step_code(self) -> None:
        """Nothing: what profilers of PyTorch look for."""

    def _accelerator_graph_capture_health_check(self) -> None:
        """Nothing: steps need no preparation to be recorded."""

    _cuda_graph_capture_health_check = _accelerator_graph_capture_health_check

    @staticmethod
    def _group_tensors_by_device_and_dtype(tensorlistlist, with_indices=False):
        """Lists split by device and dtype, as functions over many tensors take them."""
        from rushlight.utils._foreach_utils import _group_tensors_by_device_and_dtype

        return _group_tensors_by_device_and_dtype(tensorlistlist, with_indices)

    @staticmethod
    def _process_value_according_to_param_policy(param, value, param_id, param_groups, key=None):
        """A loaded tensor of a parameter's state in the parameter's dtype and on its device; the
        count of steps (key ``"step"``) stays as it is unless the group is fused or capturable."""
        groups = [group for group in param_groups or () if param_id in group["params"]]
        counted = any(group.get("fused") or group.get("capturable") for group in groups)
        return _moved(param, value, counted, key)

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
                    grad = parameter._grad
                    if grad.grad_fn is not None:
                        grad.detach_()
                    else:
                        grad.requires_grad_(False)
                    grad.zero_()

    # ------------------------------------------------------------------ parameter groups
    def add_param_group(self, param_group) -> None:
        """Add a dict with ``params`` (tensors or ``(name, tensor)`` pairs) and options."""
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        params = _split_names(param_group)
        for parameter in params:
            _check_parameter(self, parameter)
        for name, value in self.defaults.items():
            if value is required and name not in param_group:
                raise ValueError(
                    f"parameter group didn't specify a value of required optimization parameter "
                    f"{name}"
                )
            param_group.setdefault(name, value)
        if len(set(params)) != len(params):
            warnings.warn(
                "optimizer contains a parameter group with duplicate parameters: each of them "
                "would be updated more than once; in future, this will cause an error",
                stacklevel=3,
            )
        _check_with_others(self, param_group)
        self.param_groups.append(param_group)

    # ------------------------------------------------------------------ state dicts
    def state_dict(self):
        """``{"state": ..., "param_groups": ...}`` with parameters replaced by numbers."""
        for hook in tuple(self._optimizer_state_dict_pre_hooks.values()):
            hook(self)
        numbers, groups, start = {}, [], 0
        for group in self.param_groups:
            for i, parameter in enumerate(group["params"], start):
                numbers.setdefault(parameter, i)
            start += len(group["params"])
            packed = {k: v for k, v in group.items() if k != "params"}
            packed["params"] = [numbers[p] for p in group["params"]]
            groups.append(packed)
        state = {numbers.get(k, k): v for k, v in self.state.items()}
        result = {"state": state, "param_groups": groups}
        for hook in tuple(self._optimizer_state_dict_post_hooks.values()):
            changed = hook(self, result)
            result = result if changed is None else changed
        return result

    def load_state_dict(self, state_dict) -> None:
        """Restore what `state_dict` gave; groups must match in number and size.

        Tensors are copied and, but for step counters, take dtype and device of their parameter.
        """
        state_dict = state_dict.copy()
        for hook in tuple(self._optimizer_load_state_dict_pre_hooks.values()):
            changed = hook(self, state_dict)
            state_dict = state_dict if changed is None else changed
        saved = copy.deepcopy(state_dict["param_groups"])
        _check_sizes(self, saved)
        parameters, groups = {}, []
        for group, old in zip(self.param_groups, saved, strict=True):
            for number, parameter in zip(old["params"], group["params"], strict=True):
                counted = old.get("capturable", False) or old.get("fused", False)
                parameters[number] = (parameter, counted)
            old["params"] = group["params"]
            if "param_names" in group:
                old.setdefault("param_names", group["param_names"])
            groups.append(old)
        state: defaultdict = defaultdict(dict)
        for key, value in state_dict["state"].items():
            if key in parameters:
                parameter, counted = parameters[key]
                state[parameter] = _restored(parameter, value, counted)
            else:
                state[key] = value
        self.__setstate__({"state": state, "param_groups": groups})
        for hook in tuple(self._optimizer_load_state_dict_post_hooks.values()):
            hook(self)

    # ------------------------------------------------------------------ hooks
    def register_step_pre_hook(self, hook) -> RemovableHandle:
        """Call ``hook(optimizer, args, kwargs)`` before every step.

        What it returns, unless None, is the pair of arguments that the step gets.
        """
        return add_hook(self._optimizer_step_pre_hooks, hook)

    def register_step_post_hook(self, hook) -> RemovableHandle:
        """Call ``hook(optimizer, args, kwargs)`` after every step."""
        return add_hook(self._optimizer_step_post_hooks, hook)

    def register_state_dict_pre_hook(self, hook, prepend=False) -> RemovableHandle:
        """Call ``hook(optimizer)`` before `state_dict`."""
        return add_hook(self._optimizer_state_dict_pre_hooks, hook, prepend=prepend)

    def register_state_dict_post_hook(self, hook, prepend=False) -> RemovableHandle:
        """Call ``hook(optimizer, state_dict)`` after `state_dict`; it may return another one."""
        return add_hook(self._optimizer_state_dict_post_hooks, hook, prepend=prepend)

    def register_load_state_dict_pre_hook(self, hook, prepend=False) -> RemovableHandle:
        """Call ``hook(optimizer, state_dict)`` before loading; it may return another one."""
        return add_hook(self._optimizer_load_state_dict_pre_hooks, hook, prepend=prepend)

    def register_load_state_dict_post_hook(self, hook, prepend=False) -> RemovableHandle:
        """Call ``hook(optimizer)`` after `load_state_dict`."""
        return add_hook(self._optimizer_load_state_dict_post_hooks, hook, prepend=prepend)

    def __repr__(self):
        parts = [
            f"\nParameter Group {i}\n"
            + "".join(f"    {k}: {group[k]}\n" for k in sorted(group) if k != "params")
            for i, group in enumerate(self.param_groups)
        ]
        return f"{type(self).__name__} ({''.join(parts)})"

    def __getstate__(self):
        return {
            "defaults": self.defaults, "state": self.state, "param_groups": self.param_groups,
        }  # fmt: skip

    def __setstate__(self, state):
        self.__dict__.update(state)
        for name in _HOOKS:
            self.__dict__.setdefault(name, OrderedDict())
        self.defaults.setdefault("differentiable", False)


def _split_names(group):
    """The tensors of a group, which gets ``params`` as a list, and ``param_names`` if given."""
    params = group["params"]
    if isinstance(params, set):
        raise TypeError(
            "optimizer parameters need to be in an ordered collection: the order of tensors in a "
            "set changes between runs. Please use a list instead."
        )
    entries = [params] if isinstance(params, Tensor) else list(params)
    names = [entry[0] for entry in entries if isinstance(entry, tuple)]
    if names and len(names) != len(entries):
        raise ValueError(
            "all optimizer params should be with/without names. Some param names are missing"
        )
    if names:
        group["param_names"] = names
    group["params"] = [entry[1] if isinstance(entry, tuple) else entry for entry in entries]
    return group["params"]


def _restored(parameter, value, counted, key=None):
    """A loaded state entry: tensors take dtype and device of the parameter, the rest is copied."""
    if isinstance(value, dict):
        return {k: _restored(parameter, v, counted, k) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_restored(parameter, v, counted) for v in value)
    if not isinstance(value, Tensor):
        return copy.deepcopy(value)
    found = value.detach().clone()
    return _moved(parameter, found, counted, key)


def _moved(parameter, value, counted, key):
    """A tensor of a parameter's state in the parameter's dtype and on its device, but the count of
    steps, which only kernels that hold it themselves (`counted`) need there, in float32."""
    if key == "step":
        return value.to(parameter.device, float32) if counted else value
    kind = parameter.dtype if parameter.is_floating_point() else value.dtype
    return value.to(parameter.device, kind)


def _with_hooks(step):
    @functools.wraps(step)
    def hooked(self, *args, **kwargs):
        before, after = self._optimizer_step_pre_hooks, self._optimizer_step_post_hooks
        hooks = before or after or _global_optimizer_pre_hooks or _global_optimizer_post_hooks
        if not hooks or self._stepping:  # a subclass's step that calls its parent's
            return step(self, *args, **kwargs)
        args, kwargs = _arguments_after_hooks(self, step, args, kwargs)
        self._stepping = True
        try:
            out = step(self, *args, **kwargs)
        finally:
            del self._stepping
        for hook in tuple(chain(after.values(), _global_optimizer_post_hooks.values())):
            hook(self, args, kwargs)
        return out

    hooked.hooked = True
    return hooked


def _arguments_after_hooks(optimizer, step, args, kwargs):
    hooks = chain(
        _global_optimizer_pre_hooks.values(), optimizer._optimizer_step_pre_hooks.values()
    )
    for hook in tuple(hooks):
        result = hook(optimizer, args, kwargs)
        if result is None:
            continue
        if not (isinstance(result, tuple) and len(result) == 2):
            raise RuntimeError(
                f"{step.__qualname__}: a step hook must return None or a tuple of (new_args, "
                f"new_kwargs), but got {result}."
            )
        args, kwargs = result
    return args, kwargs
