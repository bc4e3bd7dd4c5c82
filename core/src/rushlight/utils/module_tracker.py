"""In which modules a program is, forward and backward."""

from __future__ import annotations

import logging
import weakref

from rushlight.autograd.engine import queue_callback
from rushlight.autograd.graph import register_multi_grad_hook
from rushlight.autograd.mode import mode
from rushlight.nn import global_hooks
from rushlight.tensor.tensor import Tensor
from rushlight.utils._pytree import tree_leaves

__all__ = ["ModuleTracker"]

_logger = logging.getLogger(__name__)


class ModuleTracker:
    """Inside of ``with``, `parents` is the set of the modules that run, by name: ``"Global"`` and,
    for example, ``"Sequential"`` and ``"Sequential.0"``; in the backward pass those whose gradients
    are being computed, where `is_bw` is True.

    Example:
        >>> import rushlight
        >>> from rushlight.utils.module_tracker import ModuleTracker
        >>> class Shown(rushlight.nn.Module):
        ...     def forward(self, x):
        ...         print(sorted(tracker.parents))
        ...         return x
        >>> with ModuleTracker() as tracker:
        ...     _ = rushlight.nn.Sequential(Shown())(rushlight.ones(1))
        ['Global', 'Sequential', 'Sequential.0']
    """

    def __init__(self):
        self.parents = {"Global"}
        self._names: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()
        self._waits_for_end = False
        self._handles: list = []

    @property
    def is_bw(self) -> bool:
        """Whether a backward pass is in progress."""
        return bool(mode.runs)

    def __enter__(self):
        self._handles = [
            global_hooks.register_module_forward_pre_hook(self._begin),
            global_hooks.register_module_forward_hook(self._end, always_call=True),
        ]
        return self

    def __exit__(self, *exc):
        for handle in self._handles:
            handle.remove()

    def _name(self, module) -> str:
        """A module's name; one that was not seen in another begins names of its own."""
        if module not in self._names:
            name = type(module).__name__
            self._names[module] = name
            for path, child in module.named_modules(prefix=name):
                self._names.setdefault(child, path)
        return self._names[module]

    def _enter(self, name: str) -> None:
        if name in self.parents:
            _logger.info("module %s is entered again while it runs", name)
        self.parents.add(name)

    def _leave(self, name: str) -> None:
        self.parents.discard(name)

    def _begin(self, module, args):
        name = self._name(module)
        self._enter(name)
        watched = _recorded(args)
        if watched:  # the last that a backward pass computes of the module
            register_multi_grad_hook(watched, lambda grads: self._leave(name))

    def _end(self, module, args, output):
        name = self._name(module)
        self._leave(name)
        watched = _recorded(output)
        if watched:
            register_multi_grad_hook(watched, lambda grads: self._begin_backward(name), mode="any")

    def _begin_backward(self, name: str) -> None:
        if not self._waits_for_end:
            self._waits_for_end = True
            queue_callback(self._backward_ended)
        self._enter(name)

    def _backward_ended(self) -> None:
        """Leave the modules whose inputs get no gradients: no hook says when they end."""
        self.parents = {"Global"}
        self._waits_for_end = False


def _recorded(values) -> list:
    """The tensors among values that a backward pass reaches."""
    return [x for x in tree_leaves(values) if isinstance(x, Tensor) and x.requires_grad]
