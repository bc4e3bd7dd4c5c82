"""Two tensors that become each other."""

from __future__ import annotations

from rushlight.tensor.tensor import Tensor


def swap_tensors(t1: Tensor, t2: Tensor) -> None:
    """Let two tensors exchange what they are: class, memory, dtype, gradient and attributes.

    Everything that refers to one of them has the other afterwards, such as the parameters of a
    module and the lists of an optimizer. Raises TypeError for what are no tensors.

    >>> a, b = rushlight.ones(2), rushlight.zeros(3)
    >>> rushlight.utils.swap_tensors(a, b)
    >>> a, b
    (tensor([0., 0., 0.]), tensor([1., 1.]))
    """
    for t in (t1, t2):
        if not isinstance(t, Tensor):
            raise TypeError(f"swap_tensors(): expected tensors, got {type(t).__name__}")
    slots = {name for kind in type(t1).__mro__ for name in getattr(kind, "__slots__", ())}
    slots |= {name for kind in type(t2).__mro__ for name in getattr(kind, "__slots__", ())}
    slots -= {"__weakref__", "__dict__"}  # references stay with the object, and follow it
    first, second = (_state(t, slots) for t in (t1, t2))
    t1.__class__, t2.__class__ = type(t2), type(t1)
    _restore(t1, second, slots)
    _restore(t2, first, slots)


def _state(tensor, slots):
    values = {name: getattr(tensor, name) for name in slots if hasattr(tensor, name)}
    return values, dict(tensor.__dict__)


def _restore(tensor, state, slots):
    values, own = state
    for name in slots:
        if name in values:
            setattr(tensor, name, values[name])
        elif hasattr(tensor, name):
            delattr(tensor, name)
    tensor.__dict__.clear()
    tensor.__dict__.update(own)
