"""Parameters and buffers of modules."""

from __future__ import annotations

from rushlight.tensor.tensor import Parameter, Tensor


class Buffer(Tensor):
    """A tensor that a Module registers as a buffer when it is assigned as an attribute."""

    def __new__(cls, data=None, *, persistent=True):
        """A buffer that shares memory with `data`."""
        out = (Tensor(0) if data is None else data).detach().as_subclass(cls)
        out.persistent = persistent
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


__all__ = ["Buffer", "Parameter"]
