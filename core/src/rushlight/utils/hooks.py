"""Handles that remove hooks."""

from __future__ import annotations

import abc
import itertools
import warnings
import weakref
from collections import OrderedDict

from rushlight import refusals
from rushlight.autograd.node import HookHandle


class RemovableHandle(metaclass=abc.ABCMeta):  # noqa: B024 - for `register` below
    """Removes one entry of a dictionary of hooks; also a context manager that does so at its end.

    ``hooks[handle.id] = hook`` is up to the caller. `extra_dict` names further dictionaries that
    hold something under the same number.
    """

    next_id = itertools.count()

    def __init__(self, hooks_dict, *, extra_dict=None):
        self.id = next(RemovableHandle.next_id)
        self.hooks_dict_ref = weakref.ref(hooks_dict)
        extra = extra_dict if isinstance(extra_dict, list) else [extra_dict]
        self.extra_dict_ref = tuple(weakref.ref(d) for d in extra if d is not None)

    def remove(self) -> None:
        """Remove the hook; removing twice is harmless."""
        for reference in (self.hooks_dict_ref, *self.extra_dict_ref):
            hooks = reference()
            if hooks is not None:
                hooks.pop(self.id, None)

    def __getstate__(self):
        return self.hooks_dict_ref(), self.id, [r() for r in self.extra_dict_ref]

    def __setstate__(self, state):
        hooks, self.id, extra = state
        self.hooks_dict_ref = weakref.ref(OrderedDict() if hooks is None else hooks)
        self.extra_dict_ref = tuple(weakref.ref(d) for d in extra if d is not None)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.remove()


RemovableHandle.register(HookHandle)  # what tensors and modules return is one of these too


def unserializable_hook(f):
    """Mark a hook that need not be kept when its tensor is saved: saving does not warn about it."""
    f.__torch_unserializable__ = True
    return f


def warn_if_has_hooks(tensor) -> None:
    """Warn about each hook of a leaf that saving would drop."""
    for hook in (tensor._hooks or {}).values():
        if not hasattr(hook, "__torch_unserializable__"):
            warnings.warn(
                f"backward hook {hook!r} on tensor will not be serialized. If this is expected, "
                "you can decorate the function with @torch.utils.hooks.unserializable_hook to "
                "suppress this warning",
                stacklevel=2,
            )


__getattr__ = refusals.some_of(__name__, "BackwardHook")
