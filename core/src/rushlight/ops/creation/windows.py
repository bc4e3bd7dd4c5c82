"""Window functions: the older ones of the top level, periodic unless told otherwise, and the
formulas behind :mod:`rushlight.signal.windows`."""

from __future__ import annotations

import math

from rushlight.dtypes import FLOAT, as_dtype, default
from rushlight.machine import np
from rushlight.machine.arrays import cast
from rushlight.ops._table.op import composite
from rushlight.ops.creation.tensors import finish


# --------------------------------------------------------------- formulas of `count` points in all
def cosine_sum(count, size, coefficients):
    """``sum_i (-1)**i a_i cos(2 pi i n / (size - 1))`` for the first `count` n."""
    angle = np.arange(count, dtype=np.float64) * (2 * math.pi / max(size - 1, 1))
    signed = [a * (-1) ** i for i, a in enumerate(coefficients)]
    return sum((a * np.cos(i * angle) for i, a in enumerate(signed)), np.zeros(count))


def triangle(count, size):
    """A triangle that starts at 0, rises to 1 and falls again."""
    return 1 - np.abs(np.arange(count, dtype=np.float64) * (2 / max(size - 1, 1)) - 1)


def bessel(count, size, beta):
    """Kaiser's window: a Bessel function over half a circle."""
    half = (size - 1) / 2
    across = (np.arange(count, dtype=np.float64) - half) / max(half, 0.5)
    with np.errstate(all="ignore"):
        return np.i0(beta * np.sqrt(np.maximum(1 - across * across, 0))) / np.i0(beta)


def made(array, dtype, device, requires_grad):
    """The tensor of a window that was computed in double precision."""
    dtype = default.float if dtype is None else as_dtype(dtype)
    return finish(cast(array, dtype.code), dtype, device, requires_grad)


# ------------------------------------------------------------------------------------- top level
def _window(name, length, periodic, formula, dtype, layout, device, requires_grad):
    found = default.float if dtype is None else as_dtype(dtype)
    if str(layout) not in ("None", "strided", "rushlight.strided", "torch.strided"):
        raise RuntimeError(f"{name} is not implemented for sparse types, got: {layout}")
    if found.category != FLOAT:
        raise RuntimeError(f"{name} expects floating point dtypes, got: {found}")
    if isinstance(length, bool) or not hasattr(length, "__index__"):
        raise TypeError(
            f"{name}(): argument 'window_length' must be int, not {type(length).__name__}"
        )
    if length < 0:
        raise RuntimeError(f"{name} requires non-negative window_length, got {length}")
    array = np.ones(length) if length <= 1 else formula(length, length + bool(periodic))
    return made(array, found, device, requires_grad)


@composite(
    method=False, samples=lambda make: [(5,), (4, False)], aten="default periodic out periodic_out"
)
def hann_window(
    window_length,
    periodic=True,
    *,
    dtype=None,
    layout=None,
    device=None,
    pin_memory=False,
    requires_grad=False,
):
    """Hann's window, one period of a raised cosine; symmetric if not `periodic`.

    >>> rushlight.hann_window(4)
    tensor([0.0000, 0.5000, 1.0000, 0.5000])
    """
    return _window(
        "hann_window",
        window_length,
        periodic,
        lambda count, size: cosine_sum(count, size, (0.5, 0.5)),
        dtype,
        layout,
        device,
        requires_grad,
    )


@composite(method=False, samples=lambda make: [(5,), (4, False)])
def hamming_window(
    window_length,
    periodic=True,
    alpha=0.54,
    beta=0.46,
    *,
    dtype=None,
    layout=None,
    device=None,
    pin_memory=False,
    requires_grad=False,
):
    """Hamming's window ``alpha - beta * cos(...)``; symmetric if not `periodic`."""
    return _window(
        "hamming_window",
        window_length,
        periodic,
        lambda count, size: cosine_sum(count, size, (alpha, beta)),
        dtype,
        layout,
        device,
        requires_grad,
    )


@composite(
    method=False, samples=lambda make: [(5,), (4, False)], aten="default periodic out periodic_out"
)
def blackman_window(
    window_length,
    periodic=True,
    *,
    dtype=None,
    layout=None,
    device=None,
    pin_memory=False,
    requires_grad=False,
):
    """Blackman's window, a sum of three cosines; symmetric if not `periodic`."""
    return _window(
        "blackman_window",
        window_length,
        periodic,
        lambda count, size: cosine_sum(count, size, (0.42, 0.5, 0.08)),
        dtype,
        layout,
        device,
        requires_grad,
    )


@composite(
    method=False, samples=lambda make: [(5,), (4, False)], aten="default periodic out periodic_out"
)
def bartlett_window(
    window_length,
    periodic=True,
    *,
    dtype=None,
    layout=None,
    device=None,
    pin_memory=False,
    requires_grad=False,
):
    """Bartlett's window, a triangle; symmetric if not `periodic`."""
    return _window(
        "bartlett_window",
        window_length,
        periodic,
        triangle,
        dtype,
        layout,
        device,
        requires_grad,
    )


@composite(
    method=False,
    samples=lambda make: [(5,), (4, False, 8.0)],
    aten="default periodic beta out periodic_out beta_out",
)
def kaiser_window(
    window_length,
    periodic=True,
    beta=12.0,
    *,
    dtype=None,
    layout=None,
    device=None,
    pin_memory=False,
    requires_grad=False,
):
    """Kaiser's window of shape `beta`; symmetric if not `periodic`."""
    return _window(
        "kaiser_window",
        window_length,
        periodic,
        lambda count, size: bessel(count, size, beta),
        dtype,
        layout,
        device,
        requires_grad,
    )
