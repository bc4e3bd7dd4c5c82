"""The namespace itself: versions, inspection, dtypes, devices, exchange, and its errors."""

from __future__ import annotations

import numpy as np
import pytest

import rushlight
from rushlight import array_api as xp

# The names of the standard, version 2024.12.
NAMES = """
    e inf nan newaxis pi arange asarray empty empty_like eye from_dlpack full full_like linspace
    meshgrid ones ones_like tril triu zeros zeros_like astype broadcast_arrays broadcast_to can_cast
    finfo iinfo isdtype result_type abs acos acosh add asin asinh atan atan2 atanh bitwise_and
    bitwise_invert bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor ceil clip conj
    copysign cos cosh divide equal exp expm1 floor floor_divide greater greater_equal hypot imag
    isfinite isinf isnan less less_equal log log10 log1p log2 logaddexp logical_and logical_not
    logical_or logical_xor maximum minimum multiply negative nextafter not_equal positive pow real
    reciprocal remainder round sign signbit sin sinh sqrt square subtract tan tanh trunc take
    take_along_axis __array_namespace_info__ matmul matrix_transpose tensordot vecdot concat
    expand_dims flip moveaxis permute_dims repeat reshape roll squeeze stack tile unstack argmax
    argmin count_nonzero nonzero searchsorted where unique_all unique_counts unique_inverse
    unique_values argsort sort cumulative_prod cumulative_sum max mean min prod std sum var all any
    diff bool int8 int16 int32 int64 uint8 float32 float64 complex64 complex128 linalg fft
""".split()


def test_every_name_of_the_standard_is_there():
    assert [name for name in NAMES if name not in xp.__all__ or not hasattr(xp, name)] == []


def test_versions():
    x = rushlight.ones(2)
    assert x.__array_namespace__() is xp
    assert x.__array_namespace__(api_version="2024.12") is xp
    assert rushlight.nn.Parameter(x).__array_namespace__(api_version="2021.12") is xp
    assert xp.__array_api_version__ == "2024.12"
    with pytest.raises(ValueError, match="api_version must be one of"):
        x.__array_namespace__(api_version="2019.01")


def test_inspection():
    info = xp.__array_namespace_info__()
    assert info.default_device() in info.devices()
    assert info.capabilities() == {
        "boolean indexing": True,
        "data-dependent shapes": True,
        "max dimensions": 64,
    }
    assert rushlight.zeros((1,) * 64).ndim == 64
    with pytest.raises((ValueError, RuntimeError)):
        rushlight.zeros((1,) * 65)
    assert info.default_dtypes() == {
        "real floating": xp.float32,
        "complex floating": xp.complex64,
        "integral": xp.int64,
        "indexing": xp.int64,
    }
    unsigned = {f"uint{n}": getattr(xp, f"uint{n}") for n in (8, 16, 32, 64)}
    assert info.dtypes(kind="unsigned integer") == unsigned
    assert set(info.dtypes(kind=("bool", "real floating"))) == {"bool", "float32", "float64"}
    assert len(info.dtypes()) == 13
    with pytest.raises(ValueError, match="unknown kind"):
        info.dtypes(kind="decimal")
    with pytest.raises(ValueError, match="unknown device"):
        info.dtypes(device="meta")


def test_kinds_and_casts():
    assert xp.isdtype(xp.uint8, "integral") and not xp.isdtype(xp.uint8, "signed integer")
    assert xp.isdtype(xp.float32, ("bool", xp.float32))
    assert not xp.isdtype(xp.bool, "numeric")
    with pytest.raises(TypeError, match="flat tuple"):
        xp.isdtype(xp.bool, (("bool",),))
    assert xp.can_cast(xp.int8, xp.int16) and not xp.can_cast(xp.int16, xp.int8)
    assert not xp.can_cast(xp.int8, xp.float64) and not xp.can_cast(xp.bool, xp.int8)
    assert xp.can_cast(rushlight.ones(1), xp.complex64)
    assert xp.result_type(xp.int8, xp.uint8) is xp.int16
    assert xp.result_type(rushlight.ones((), dtype=xp.float64), xp.float32) is xp.float64
    assert xp.result_type(xp.float64, 1j) is xp.complex128
    assert xp.result_type(xp.int8, 1) is xp.int8
    with pytest.raises(ValueError, match="at least one"):
        xp.result_type(1, 2.0)


def test_limits():
    limits = xp.finfo(rushlight.ones(1, dtype=xp.complex128))
    assert limits.dtype is xp.float64 and limits.bits == 64 and limits.eps == 2.0**-52
    assert limits.min == -limits.max and limits.smallest_normal == 2.0**-1022
    limits = xp.iinfo(xp.int16)
    assert (limits.bits, limits.min, limits.max, limits.dtype) == (
        16,
        -(2**15),
        2**15 - 1,
        xp.int16,
    )


def test_copies_and_devices():
    x = rushlight.arange(6)
    assert xp.asarray(x) is x and xp.asarray(x, copy=False) is x
    copied = xp.asarray(x, copy=True)
    copied[0] = 7
    assert x[0] == 0
    with pytest.raises(ValueError, match="cannot avoid a copy"):
        xp.asarray([1, 2], copy=False)
    with pytest.raises(ValueError, match="cannot avoid a copy"):
        xp.asarray(x, dtype=xp.float32, copy=False)
    assert xp.astype(x, xp.int64, copy=False) is x
    assert xp.astype(x, xp.int64).data_ptr() != x.data_ptr()
    with pytest.raises(TypeError, match="imaginary"):
        xp.astype(rushlight.ones(1, dtype=xp.complex64), xp.float32)
    assert xp.reshape(x, (2, 3), copy=False).data_ptr() == x.data_ptr()
    assert xp.reshape(x, (2, 3), copy=True).data_ptr() != x.data_ptr()
    with pytest.raises(ValueError, match="without a copy"):
        xp.reshape(xp.reshape(x, (2, 3)).T, (6,), copy=False)
    assert x.to_device("cpu").device == x.device == xp.zeros(1, device="cpu").device
    with pytest.raises(ValueError, match="stream"):
        x.to_device("cpu", stream=1)


def test_exchange():
    x = rushlight.arange(4.0)
    assert np.from_dlpack(x)[3] == 3 and x.__dlpack_device__() == (1, 0)
    shared = xp.from_dlpack(np.ones(3))
    assert shared.dtype is xp.float64
    source = np.ones(3)
    xp.from_dlpack(source)[0] = 5
    assert source[0] == 5
    xp.from_dlpack(source, copy=True)[0] = 6
    assert source[0] == 5


def test_gradients_pass_through():
    x = rushlight.arange(4.0, requires_grad=True)
    xp.sum(xp.multiply(xp.take(x, rushlight.tensor([1, 3])), 2.0)).backward()
    assert x.grad.tolist() == [0.0, 2.0, 0.0, 2.0]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: xp.squeeze(rushlight.ones(2, 3), 0), ValueError, "axis 0 has 2 elements"),
        (lambda: xp.sum(rushlight.ones(2), axis=1), IndexError, "axis 1 is out of range"),
        (lambda: xp.nonzero(rushlight.tensor(1)), ValueError, "without dimensions"),
        (lambda: xp.cumulative_sum(rushlight.ones(2, 2)), ValueError, "axis must be given"),
        (lambda: xp.take(rushlight.ones(2, 2), rushlight.tensor([0])), ValueError, "axis must be"),
        (lambda: xp.linalg.cross(rushlight.ones(2), rushlight.ones(2)), ValueError, "3 elements"),
        (lambda: xp.vecdot(rushlight.ones(2), rushlight.ones(2), axis=0), ValueError, "axis must"),
        (lambda: xp.unstack(rushlight.ones(2), axis=3), ValueError, "out of range"),
        (lambda: xp.add(1, 2), TypeError, "at least one array"),
        (lambda: xp.linalg.qr(rushlight.ones(2, 2), mode="full"), ValueError, "mode must be"),
    ],
)
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_asarray_of_a_reversed_array():
    array = np.arange(6.0).reshape(2, 3)[::-1, ::-1]
    made = xp.asarray(array)
    assert made.tolist() == array.tolist()
    with pytest.raises(ValueError, match="negative"):
        xp.asarray(array, copy=False)
