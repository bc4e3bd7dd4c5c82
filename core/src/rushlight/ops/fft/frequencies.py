"""The frequencies that the elements of a transform stand for."""

from __future__ import annotations

from rushlight.dtypes import FLOAT, as_dtype, default
from rushlight.machine import np
from rushlight.machine.arrays import BY_CODE


def _frequencies(name, values, n, d, dtype, device, requires_grad, out):
    from rushlight.ops.creation.tensors import _write, finish, make_tensor

    if n < 1 and name == "fftfreq":
        raise RuntimeError(f"{name}: expected n of at least 1, got {n}")
    dtype = default.float if dtype is None else as_dtype(dtype)
    if dtype.category < FLOAT:
        raise ValueError(f"{name} requires a floating point or complex dtype, got {dtype}")
    kind = BY_CODE[dtype.code]
    array = values.astype(kind) * np.asarray(1.0 / (n * d), kind)
    if out is not None:
        return _write(out, make_tensor(array, dtype))
    return finish(array, dtype, device, requires_grad)


def fftfreq(n, d=1.0, *, out=None, dtype=None, layout=None, device=None, requires_grad=False):
    """The frequencies of the `n` elements of a transform, samples being `d` apart: from 0 up, then
    the negative ones."""
    order = np.concatenate([np.arange((n + 1) // 2), np.arange(-(n // 2), 0)]).astype(np.float64)
    return _frequencies("fftfreq", order, n, d, dtype, device, requires_grad, out)


def rfftfreq(n, d=1.0, *, out=None, dtype=None, layout=None, device=None, requires_grad=False):
    """The frequencies of the ``n // 2 + 1`` elements of the transform of `n` real numbers."""
    order = np.arange(n // 2 + 1, dtype=np.float64)
    return _frequencies("rfftfreq", order, n, d, dtype, device, requires_grad, out)
