"""Parameters and buffers of modules."""

from __future__ import annotations

from rushlight.tensor.tensor import Parameter, Tensor
from rushlight.tensor.tensor import _ParameterMeta as _ParameterMeta


class _BufferType(type):
    """The type of `Buffer`: buffers are ordinary tensors with a mark."""

    def __instancecheck__(cls, instance):
        return isinstance(instance, Tensor) and instance.__dict__.get("_is_buffer", False)


class Buffer(Tensor, metaclass=_BufferType):
    """A tensor that a Module registers as a buffer when it is assigned as an attribute.

    ``Buffer(data)`` is an ordinary tensor that shares memory with `data`; what is computed from it
    is no buffer. With ``persistent=False`` it stays out of the module's state dict.
    """

    def __new__(cls, data=None, *, persistent=True):
        """A buffer that shares memory with `data`."""
        out = (Tensor(0) if data is None else data).detach()
        out.persistent, out._is_buffer = persistent, True
        return out


_LAZY = frozenset(
    ("is_lazy", "UninitializedBuffer", "UninitializedParameter", "UninitializedTensorMixin")
)


def __getattr__(name):
    """What lazy layers use, imported at first use."""
    if name in _LAZY:
        from rushlight.nn import lazy

        return lazy._Uninitialized if name == "UninitializedTensorMixin" else getattr(lazy, name)
    raise AttributeError(f"module 'rushlight.nn.parameter' has no attribute '{name}'")


def __dir__():
    return sorted({*globals(), *_LAZY})


__all__ = ["Buffer", "Parameter"]
