"""Buffers that a traced program writes: what it does with them is part of the program.

Calls are recorded where an argument is traced. A program that writes to a buffer, and reads it
again, is traced once more with that buffer traced, too; others read buffers as they are.
"""

from __future__ import annotations

from rushlight.autograd.mode import no_grad
from rushlight.jit.tracer.traced_modules import _is_leaf
from rushlight.jit.tracer.traced_values import Traced


class Buffers:
    """The buffers of a module before it is traced; those of layers that stay calls are no part of
    what is recorded."""

    def __init__(self, module):
        opened = {id(owner) for owner in _opened(module)}
        self.before = [
            (owner, name, tensor, tensor._version, tensor.detach().clone())
            for owner in module.modules()
            for name, tensor in owner._buffers.items()
            if tensor is not None
        ]
        self.own = [(o, name, t, v) for o, name, t, v, _ in self.before if id(o) in opened]

    def all(self):
        """Those of the program, as owners and names."""
        return [(owner, name) for owner, name, *_ in self.own]

    def written(self):
        """Those of the program that have been written since."""
        return [
            (owner, name)
            for owner, name, tensor, version in self.own
            if owner._buffers.get(name) is not tensor or tensor._version != version
        ]

    def rewind(self) -> None:
        """Let all buffers be as before."""
        for owner, name, tensor, _, value in self.before:
            with no_grad():
                tensor.copy_(value)
            owner._buffers[name] = tensor


def _opened(module, seen=None):
    """A module and those inside whose calls are not recorded as such."""
    seen = set() if seen is None else seen
    if id(module) in seen:
        return
    seen.add(id(module))
    yield module
    for child in module._modules.values():
        if child is not None and not _is_leaf(child):
            yield from _opened(child, seen)


class traced:  # noqa: N801 - reads as a word
    """Inside, calls with these buffers, pairs of an owner and a name, are recorded."""

    def __init__(self, recorder, buffers):
        self.recorder, self.buffers = recorder, buffers

    def __enter__(self):
        for owner, name in self.buffers:
            tensor = owner._buffers[name]
            expr = self.recorder.known[id(tensor)]
            owner._buffers[name] = self.recorder.wrapped(tensor, expr)

    def __exit__(self, *exc):
        for owner, name in self.buffers:
            found = owner._buffers[name]
            owner._buffers[name] = found._inner if isinstance(found, Traced) else found
