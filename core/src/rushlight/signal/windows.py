"""Windows of `M` points, symmetric unless ``sym=False``: PyTorch's ``torch.signal.windows``.

All take ``dtype`` (floating point; default: the default dtype), ``layout``, ``device`` and
``requires_grad``, are computed in double precision and rounded once.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from rushlight.dtypes import FLOAT, default
from rushlight.machine import np
from rushlight.ops.creation.windows import bessel, cosine_sum, made, triangle
from rushlight.tensor.tensor import Tensor


def _checked(name, M, dtype, layout):
    found = default.float if dtype is None else dtype
    if M < 0:
        raise ValueError(f"{name} requires non-negative window length, got M={M}")
    if str(layout) not in ("None", "strided", "rushlight.strided", "torch.strided"):
        raise ValueError(f"{name} is implemented for strided tensors only, got: {layout}")
    if found.category != FLOAT or found.itemsize < 4:
        raise ValueError(f"{name} expects float32 or float64 dtypes, got: {found}")


def _window(name, M, sym, formula, dtype, layout, device, requires_grad):
    _checked(name, M, dtype, layout)
    array = np.ones(M) if M <= 1 else formula(M, M + (not sym))
    return made(array, dtype, device, requires_grad)


def general_cosine(
    M: int,
    *,
    a: Iterable[float],
    sym=True,
    dtype=None,
    layout=None,
    device=None,
    requires_grad=False,
) -> Tensor:
    """``a[0] - a[1] cos(x) + a[2] cos(2 x) - ...`` over one period."""
    if not hasattr(a, "__iter__"):
        raise TypeError(f"general_cosine: Coefficients must be a list/tuple, got {a!r}")
    a = [float(value) for value in a]
    if not a:
        raise ValueError("general_cosine: Coefficients cannot be empty")
    return _window(
        "general_cosine",
        M,
        sym,
        lambda count, size: cosine_sum(count, size, a),
        dtype,
        layout,
        device,
        requires_grad,
    )


def _cosine_window(name, text, coefficients):
    def window(
        M: int, *, sym=True, dtype=None, layout=None, device=None, requires_grad=False
    ) -> Tensor:
        _checked(name, M, dtype, layout)
        options = {"sym": sym, "dtype": dtype, "layout": layout, "device": device}
        return general_cosine(M, a=coefficients, requires_grad=requires_grad, **options)

    window.__name__ = window.__qualname__ = name
    window.__doc__ = text
    return window


hann = _cosine_window("hann", "Hann's window, a raised cosine.", (0.5, 0.5))
hamming = _cosine_window("hamming", "Hamming's window, 0.54 and 0.46.", (0.54, 0.46))
blackman = _cosine_window("blackman", "Blackman's window, three cosines.", (0.42, 0.5, 0.08))
nuttall = _cosine_window(
    "nuttall",
    "Nuttall's four-term window (Nuttall, 1981), least side lobes.",
    (0.3635819, 0.4891775, 0.1365995, 0.0106411),
)


def general_hamming(
    M: int, *, alpha=0.54, sym=True, dtype=None, layout=None, device=None, requires_grad=False
) -> Tensor:
    """``alpha - (1 - alpha) cos(x)`` over one period."""
    options = {"sym": sym, "dtype": dtype, "layout": layout, "device": device}
    return general_cosine(M, a=(alpha, 1.0 - alpha), requires_grad=requires_grad, **options)


def bartlett(
    M: int, *, sym=True, dtype=None, layout=None, device=None, requires_grad=False
) -> Tensor:
    """A triangle from 0 over 1 to 0."""
    return _window("bartlett", M, sym, triangle, dtype, layout, device, requires_grad)


def cosine(
    M: int, *, sym=True, dtype=None, layout=None, device=None, requires_grad=False
) -> Tensor:
    """Half a period of a sine."""

    def formula(count, size):
        return np.sin((np.arange(count) + 0.5) * (math.pi / size))

    return _window("cosine", M, sym, formula, dtype, layout, device, requires_grad)


def exponential(
    M: int,
    *,
    center: float | None = None,
    tau=1.0,
    sym=True,
    dtype=None,
    layout=None,
    device=None,
    requires_grad=False,
) -> Tensor:
    """``exp(-|n - center| / tau)``; another `center` than the middle needs ``sym=False``."""
    if tau <= 0:
        raise ValueError(f"exponential: tau must be positive, got: {tau} instead.")
    if sym and center is not None:
        raise ValueError("exponential: center must be None for symmetric windows")

    def formula(count, size):
        middle = (size - 1) / 2 if center is None else center
        return np.exp(-np.abs(np.arange(count) - middle) / tau)

    return _window("exponential", M, sym, formula, dtype, layout, device, requires_grad)


def gaussian(
    M: int, *, std=1.0, sym=True, dtype=None, layout=None, device=None, requires_grad=False
) -> Tensor:
    """``exp(-((n - middle) / std) ** 2 / 2)``."""
    if std <= 0:
        raise ValueError(f"gaussian: standard deviation must be positive, got: {std} instead.")

    def formula(count, size):
        return np.exp(-np.square((np.arange(count) - (size - 1) / 2) / std) / 2)

    return _window("gaussian", M, sym, formula, dtype, layout, device, requires_grad)


def kaiser(
    M: int, *, beta=12.0, sym=True, dtype=None, layout=None, device=None, requires_grad=False
) -> Tensor:
    """Kaiser's window of shape `beta`: 0 is a rectangle, larger is narrower."""
    if beta < 0:
        raise ValueError(f"kaiser: beta must be non-negative, got: {beta} instead.")
    return _window(
        "kaiser",
        M,
        sym,
        lambda count, size: bessel(count, size, beta),
        dtype,
        layout,
        device,
        requires_grad,
    )


__all__ = [
    "bartlett",
    "blackman",
    "cosine",
    "exponential",
    "gaussian",
    "general_cosine",
    "general_hamming",
    "hamming",
    "hann",
    "kaiser",
    "nuttall",
]
