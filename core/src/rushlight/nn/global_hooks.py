"""Hooks of all modules at once."""

from __future__ import annotations

from rushlight.autograd.handle import add_hook
from rushlight.nn import module as _module


def register_module_forward_pre_hook(hook):
    """Call ``hook(module, args)`` before every forward; a result replaces the arguments."""
    return add_hook(_module._global_forward_pre_hooks, hook)


def register_module_forward_hook(hook, *, with_kwargs=False, always_call=False):
    """Call ``hook(module, args, output)`` after every forward, or ``hook(module, args, kwargs,
    output)`` with `with_kwargs`; a result replaces the output. With `always_call` also where
    forward or another hook raises."""
    marks = [_module._global_forward_hooks_with_kwargs] if with_kwargs else []
    marks += [_module._global_forward_hooks_always_called] if always_call else []
    return add_hook(_module._global_forward_hooks, hook, marks=marks)


def register_module_full_backward_hook(hook):
    """Call ``hook(module, grad_input, grad_output)`` in the backward of every module."""
    _set_kind(False)
    return add_hook(_module._global_backward_hooks, hook)


def register_module_backward_hook(hook):
    """Call ``hook(module, grad_input, grad_output)`` in the backward of the last operation of every
    forward; use :func:`register_module_full_backward_hook`."""
    _set_kind(True)
    return add_hook(_module._global_backward_hooks, hook)


def _set_kind(former):
    kind = _module._former_kind
    if kind.globally is (not former):
        raise RuntimeError(
            "Cannot use both regular backward hooks and full backward hooks as a global Module "
            "hook. Please use only one of them."
        )
    kind.globally = former


def register_module_full_backward_pre_hook(hook):
    """Call ``hook(module, grad_output)`` in the backward of every module."""
    return add_hook(_module._global_backward_pre_hooks, hook)


def register_module_parameter_registration_hook(hook):
    """Call ``hook(module, name, parameter)`` at every registration; a result replaces it."""
    return add_hook(_module._global_parameter_registration_hooks, hook)


def register_module_buffer_registration_hook(hook):
    """Call ``hook(module, name, buffer)`` at every registration; a result replaces it."""
    return add_hook(_module._global_buffer_registration_hooks, hook)


def register_module_module_registration_hook(hook):
    """Call ``hook(module, name, submodule)`` at every registration; a result replaces it."""
    return add_hook(_module._global_module_registration_hooks, hook)
