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


__all__ = ["Buffer", "Parameter"]
