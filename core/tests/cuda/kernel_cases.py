"""What the tests of CUDA kernels share: arrays on the device, both orders of threads.

With ``RUSHLIGHT_CUDA_TESTS=real`` the same tests run on a device; there "both orders" are two runs.
"""

from __future__ import annotations

import contextlib
import os

import ml_dtypes
import numpy as np
import pytest

from rushlight.compiler.cuda.device_array import DeviceArray, empty
from rushlight.machine.cuda import runtime

ON_DEVICE = os.environ.get("RUSHLIGHT_CUDA_TESTS") == "real"
emulator_only = pytest.mark.skipif(ON_DEVICE, reason="of the emulator; a fault ends a context")
two_devices = pytest.mark.skipif(
    ON_DEVICE and runtime.current().device_count() < 2, reason="needs two devices"
)
BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
FLOAT32 = np.dtype(np.float32)
INT64 = np.dtype(np.int64)
FLOATS = (FLOAT32, BFLOAT16)


def emulator():
    """The runtime that is tested; an error that says what to install where there is none."""
    return runtime.current()


def on_device(array, dtype=None):
    """A host array on device 0; None stays None."""
    if array is None:
        return None
    array = np.array(array, dtype or np.asarray(array).dtype, order="C")
    out = empty(array.shape, array.dtype, 0)
    if array.size:
        emulator().copy_in(out.address, array)
    return out


def on_host(array):
    """A device array's elements (strided too); other values as they are."""
    if isinstance(array, (tuple, list)):
        return type(array)(map(on_host, array))
    if not isinstance(array, DeviceArray):
        return array
    if ON_DEVICE:
        return array.get()
    return emulator().view(array.address, array.shape, array.strides, array.dtype).copy()


def wide(array):
    """As float64, for references; integers stay."""
    array = np.asarray(array)
    return array if array.dtype.kind in "iub" else array.astype(np.float64)


def both_orders(call):
    """The call's results on the host; equal in bits when threads and blocks run in other orders."""
    found = emulator()
    first = on_host(call())
    found.synchronize(0)
    for order in ("reverse", "scattered"):
        with found.ordered(order) if not ON_DEVICE else contextlib.nullcontext():
            again = on_host(call())
        found.synchronize(0)
        for a, b in zip(_flat(first), _flat(again), strict=True):
            assert a.tobytes() == b.tobytes(), f"results depend on the order of threads ({order})"
    return first


def _flat(value):
    if isinstance(value, (tuple, list)):
        return [leaf for part in value for leaf in _flat(part)]
    return [] if value is None or not isinstance(value, np.ndarray) else [value]


def close(found, expected, dtype=None, scale=1.0):
    """Compare with a float64 reference at a tolerance of the dtype."""
    dtype = np.dtype(dtype or np.asarray(found).dtype)
    step = {"bfloat16": 2**-8, "float16": 2**-11, "float32": 2e-6, "float64": 1e-12}[dtype.name]
    expected = np.asarray(expected, np.float64)
    size = max(1e-3, float(np.abs(expected[np.isfinite(expected)]).max(initial=0)))
    np.testing.assert_allclose(
        np.asarray(found).astype(np.float64), expected, rtol=2 * step, atol=scale * step * size
    )
