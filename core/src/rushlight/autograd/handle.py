"""Handles that remove hooks."""

from __future__ import annotations

import weakref
from collections import OrderedDict

LATER = 1 << 60  # added to the numbers of hooks that run after all others


class RemovableHandle:
    """Removes one entry of a dictionary of hooks; also a context manager that does so at its end.

    ``hooks[handle.id] = hook`` is up to the caller. `extra_dict` names further dictionaries, or a
    list of them, that hold something under the same number.
    """

    next_id: int = 0

    def __init__(self, hooks_dict, *, extra_dict=None):
        self.id = RemovableHandle.next_id
        RemovableHandle.next_id += 1
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
        RemovableHandle.next_id = max(RemovableHandle.next_id, self.id % LATER + 1)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.remove()


def add_hook(hooks, hook, last=False, prepend=False, marks=()) -> RemovableHandle:
    """Put a hook into its dictionary: before all others with `prepend`, after all that are ever
    added with `last`; `marks` are further dictionaries that note its number."""
    handle = RemovableHandle(hooks, extra_dict=list(marks))
    if last:
        handle.id += LATER
    hooks[handle.id] = hook
    for mark in marks:
        mark[handle.id] = True
    if prepend:
        hooks.move_to_end(handle.id, last=False)
    return handle


def in_order(hooks):
    """The hooks of a dictionary as they are now, the late ones last."""
    return [hook for _, hook in sorted(hooks.items())] if hooks else ()
