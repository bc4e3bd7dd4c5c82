"""The former name of a tensor that records: today every tensor does."""

from __future__ import annotations

from rushlight.tensor.tensor import Tensor


class VariableMeta(type):
    """The kind of :class:`Variable`: tensors are its instances."""

    def __call__(cls, data=None, requires_grad=False, volatile=False):
        """The tensor itself under the former name: the same memory, outside the graph."""
        if data is None:
            data = Tensor()
        if not isinstance(data, Tensor):
            raise TypeError(
                f"Variable(): argument 'data' must be a tensor, not {type(data).__name__}"
            )
        return data.detach().requires_grad_(bool(requires_grad))

    def __instancecheck__(cls, instance):
        return isinstance(instance, Tensor)


class Variable(metaclass=VariableMeta):
    """``Variable(data, requires_grad=False)`` is a tensor over the memory of `data`.

    ``isinstance(x, Variable)`` is True for every tensor. `volatile` has no effect since PyTorch
    0.4; :func:`rushlight.no_grad` took its place.
    """
