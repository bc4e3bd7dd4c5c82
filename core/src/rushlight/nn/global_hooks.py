"""Hooks of all modules at once."""

from __future__ import annotations

from rushlight.autograd.node import HookHandle
from rushlight.nn import module as _module


def register_module_forward_pre_hook(hook):
    """Call ``hook(module, args)`` before every forward; a result replaces the arguments."""
    return HookHandle(_module._global_forward_pre_hooks, hook)


def register_module_forward_hook(hook, *, with_kwargs=False, always_call=False):
    """Call ``hook(module, args, output)`` after every forward; a result replaces the output."""
    if with_kwargs or always_call:
        raise NotImplementedError(
            "register_module_forward_hook: with_kwargs and always_call are not available for all "
            "modules at once; register the hook on the module"
        )
    return HookHandle(_module._global_forward_hooks, hook)


def register_module_full_backward_hook(hook):
    """Call ``hook(module, grad_input, grad_output)`` in the backward of every module."""
    return HookHandle(_module._global_backward_hooks, hook)


def register_module_backward_hook(hook):
    """The old name of :func:`register_module_full_backward_hook`."""
    return register_module_full_backward_hook(hook)


def register_module_full_backward_pre_hook(hook):
    """Call ``hook(module, grad_output)`` in the backward of every module."""
    return HookHandle(_module._global_backward_pre_hooks, hook)


def register_module_parameter_registration_hook(hook):
    """Call ``hook(module, name, parameter)`` at every registration; a result replaces it."""
    return HookHandle(_module._global_parameter_registration_hooks, hook)


def register_module_buffer_registration_hook(hook):
    """Call ``hook(module, name, buffer)`` at every registration; a result replaces it."""
    return HookHandle(_module._global_buffer_registration_hooks, hook)


def register_module_module_registration_hook(hook):
    """Call ``hook(module, name, submodule)`` at every registration; a result replaces it."""
    return HookHandle(_module._global_module_registration_hooks, hook)
