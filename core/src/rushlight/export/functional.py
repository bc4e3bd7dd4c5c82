"""A level on top of a capture that has no writes: a tensor that is written to gets a new value."""

from __future__ import annotations

import inspect

from rushlight.library.aten_calls import aten_call
from rushlight.ops._table.arrays import link
from rushlight.ops._transforms import wrapped_writes as writes
from rushlight.ops._transforms.tracking import Tracked, TrackingLevel
from rushlight.ops._transforms.wrappers import call_op, in_form, replace, shed, wrap
from rushlight.tensor.tensor import Tensor


class Functional(Tracked):
    """A tensor of a program without writes."""

    __slots__ = ()

    @staticmethod
    def takes(function):
        """Functions that ATen has whole are whole here too, save those that write and do not say
        what they do by values."""
        by_values = not function.__name__.endswith("_") or hasattr(function, "functional")
        return hasattr(function, "aten_call") and by_values

    def detach(self):
        """A tensor with the same memory: writes to one change the other."""
        found = wrap(Functional, self._inner.detach(), self._level)
        link(found, self, writes.DETACHING, [self])
        return found

    def __getitem__(self, index):
        """A new tensor where the index has tensors, else a view."""
        items = index if isinstance(index, tuple) else (index,)
        if any(isinstance(item, Tensor) for item in items):
            return _whole(self._level, Tensor.__getitem__, (self, index), {})
        return super().__getitem__(index)


class FunctionalLevel(TrackingLevel):
    """A program without writes in progress."""

    __slots__ = ()
    wrapper = Functional

    def __init__(self):
        super().__init__()
        self.process = process

    def lifted(self, tensor):
        """A tensor of the capture as one of this level."""
        return wrap(Functional, tensor, self)


def process(level, function, args, kwargs):
    """Run a call at the capture below: writes as new values, views with their history."""
    op = getattr(function, "op", None)
    if op is None:
        return _function(level, function, args, kwargs)
    if op.kind == "composite" and getattr(function, "variant", None) is None:
        if "out" not in kwargs and not _gives_views(function, args, kwargs):
            return _whole(level, function, args, kwargs)
    found = writes.process(level, function, args, kwargs, _call)
    if op.options.get("itself") and found is not args[0]:
        # whether it shares memory depends on strides, which the capture does not have
        found._writable = (
            f"{op.name}() may give the tensor itself or a copy: clone() it before writing to it"
        )
    return found


def _function(level, function, args, kwargs):
    # functions that write to their arguments (batch_norm) say what they do by values
    functional = getattr(function, "functional", None)
    if functional is not None:
        found = functional(*args, **kwargs)
        if found is not NotImplemented:
            return found
    if Functional.takes(function):
        return _whole(level, function, args, kwargs)
    return writes.special(level, function, args, kwargs)


def _by_value(function, args, kwargs):
    """A call with ``inplace=True``: the input gets the value that the same call gives without."""
    bound = inspect.signature(function).bind(*args, **kwargs)
    bound.arguments["inplace"] = False
    target = next(iter(bound.arguments.values()))
    return target.copy_(function(*bound.args, **bound.kwargs))


def _gives_views(function, args, kwargs):
    """Whether a composite is to be opened: its results are views, or ATen has no such op."""
    call = aten_call(function, args, kwargs)
    return call is None or any(
        "(" in kind and "!" not in kind for kind in call.target._schema.returns
    )


def _whole(level, function, args, kwargs):
    """A call below, whose results are new tensors."""
    call = aten_call(function, args, kwargs)
    if call is not None and call.target._schema.is_mutable:
        return _by_value(function, args, kwargs)
    below = [replace(a, lambda t: shed(t, level)) for a in args]
    named = {k: replace(v, lambda t: shed(t, level)) for k, v in kwargs.items()}
    return replace(function(*below, **named), level.lifted)


def _call(level, op, values):
    result = call_op(op, [replace(v, lambda t: shed(t, level)) for v in values])
    many = isinstance(result, tuple)
    outs = [
        level.lifted(r) if isinstance(r, Tensor) else r for r in (result if many else (result,))
    ]
    if writes.gives_views(op) and isinstance(values[0], Functional):
        writes.link_views(op, outs, values, many)
        for out in outs:
            out._writable = None  # one of several views, too: no gradient has to follow it
    return in_form(result, outs) if many else outs[0]
