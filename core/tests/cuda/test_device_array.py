"""Device arrays: views, copies and array code agree with NumPy's, and nothing waits by itself."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from kernel_cases import two_devices

from rushlight.compiler.cuda import array_code
from rushlight.compiler.cuda.device_array import DeviceArray, empty, from_host, zeros
from rushlight.machine.cuda import runtime

HOST = np.arange(2 * 3 * 4, dtype=np.float32).reshape(2, 3, 4)


@pytest.fixture
def counters():
    """What the runtime was asked for since the test began."""
    found = runtime.current().counters
    before = found.snapshot()
    return lambda: found.since(before)


VIEWS = {
    "transpose": lambda a: a.transpose(2, 0, 1),
    "transpose of all": lambda a: a.T,
    "swapaxes": lambda a: a.swapaxes(0, 2),
    "reshape": lambda a: a.reshape(6, 4),
    "reshape with unknown": lambda a: a.reshape(2, -1),
    "reshape of a part": lambda a: a[:, :2].reshape(2, 8),
    "reshape to ones": lambda a: a.reshape(1, 2, 1, 3, 4, 1),
    "slices": lambda a: a[:, 1:, ::2],
    "reversed": lambda a: a[::-1, :, ::-2],
    "integers": lambda a: a[1, -1],
    "new dimensions": lambda a: a[None, ..., None],
    "squeeze": lambda a: a[:, :1].squeeze(1),
    "ravel": lambda a: a.ravel(),
    "broadcast": lambda a: np.broadcast_to(a[:, :1], (5, 2, 3, 4)),
    "moveaxis": lambda a: np.moveaxis(a, 0, -1),
    "expand_dims": lambda a: np.expand_dims(a, (0, 2)),
    "flip": lambda a: np.flip(a, 1),
    "diagonal": lambda a: a.diagonal(1, 1, 2),
    "split": lambda a: np.split(a, [1, 3], 2)[1],
    "windows": lambda a: np.lib.stride_tricks.sliding_window_view(a, 2, 1),
    "as integers": lambda a: a.view(np.int32),
    "as bytes": lambda a: a.view(np.uint8),
}


@pytest.mark.parametrize("name", VIEWS)
def test_views_are_those_of_numpy(name, counters):
    device = from_host(HOST)
    expected, found = VIEWS[name](HOST), VIEWS[name](device)
    assert type(found) is DeviceArray
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
    steps = zip(found.shape, found.strides, expected.strides, strict=True)
    assert all(a == b for n, a, b in steps if n != 1)
    assert found.block is device.block
    distance = expected.__array_interface__["data"][0] - HOST.__array_interface__["data"][0]
    assert found.address - device.address == distance
    assert counters()["launches"] == counters()["synchronizations"] == 0
    np.testing.assert_array_equal(found.get(), expected)


def test_a_reshape_that_no_strides_express_copies():
    device = from_host(HOST)
    found = device.transpose(2, 0, 1).reshape(-1)
    assert found.block is not device.block
    np.testing.assert_array_equal(found.get(), HOST.transpose(2, 0, 1).reshape(-1))
    with pytest.raises(ValueError, match="copy"):
        device.T.reshape(-1, copy=False)
    with pytest.raises(ValueError, match=r"size 24 into shape \(5, 5\)"):
        device.reshape(5, 5)


def test_indices_out_of_range_are_refused():
    device = from_host(HOST)
    with pytest.raises(IndexError, match="out of bounds for axis 1 with size 3"):
        device[0, 3]
    with pytest.raises(IndexError, match="too many indices"):
        device[0, 0, 0, 0]


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int16", "int64", "float16", "float64"])
def test_casts_are_those_of_numpy(dtype, counters):
    values = np.array([0, 1, 2.5, 3.75, 100.0], np.float32)
    found = from_host(values).astype(dtype)
    assert counters()["synchronizations"] == 0
    np.testing.assert_array_equal(found.get(), values.astype(dtype))


def test_casts_to_and_from_bfloat16_round_once():
    values = np.random.default_rng(0).normal(size=1003).astype(np.float32)
    low = from_host(values).astype(ml_dtypes.bfloat16)
    expected = values.astype(ml_dtypes.bfloat16)
    np.testing.assert_array_equal(low.get().view("u2"), expected.view("u2"))
    np.testing.assert_array_equal(low.astype(np.float32).get(), expected.astype(np.float32))


@pytest.mark.parametrize("order", ["C", "K"])
def test_copies_keep_values_and_are_their_own(order):
    device = from_host(HOST).transpose(2, 0, 1)
    copy = device.copy(order)
    copy[...] = 0
    np.testing.assert_array_equal(device.get(), HOST.transpose(2, 0, 1))
    assert copy.flags.c_contiguous == (order == "C")


WRITES = {
    "number": lambda a: a.__setitem__((slice(None), 1), 7),
    "float into integers": lambda a: a.__setitem__((0, 0), 2),
    "array": lambda a: a.__setitem__((slice(None), slice(None, 2)), a[:, 1:] * 2),
    "row for all": lambda a: a.__setitem__(slice(None), a[0, 0]),
    "host array": lambda a: a.__setitem__((1, 2), np.arange(4)),
    "mask": lambda a: a.__setitem__(a > 5, -1),
    "places": lambda a: a.__setitem__((slice(None), np.array([2, 0])), 9),
    "several places": lambda a: a.__setitem__((np.array([0, 1]), np.array([1, 1])), 3),
    "in place": lambda a: a.__imul__(3),
    "fill": lambda a: a.fill(4),
}


@pytest.mark.parametrize("name", WRITES)
@pytest.mark.parametrize("dtype", ["float32", "int64"])
def test_writes_are_those_of_numpy(name, dtype):
    expected, device = HOST.astype(dtype), from_host(HOST.astype(dtype))
    WRITES[name](expected)
    WRITES[name](device)
    np.testing.assert_array_equal(device.get(), expected)


COMPUTED = {
    "sum": lambda a: a + a[:, :1] * 2 - 1,
    "comparison": lambda a: (a > 3) & (a != 7),
    "division": lambda a: a / np.float32(3),
    "mixed": lambda a: a * np.float64(0.5) + a.astype(np.int64),
    "where": lambda a: np.where(a > 4, a, np.float32(-1)),
    "clip": lambda a: np.clip(a, 2, 9),
    "reductions": lambda a: np.add.reduce(a, (0, 2)) + a.max(1).sum() - a.mean(),
    "places": lambda a: a.argmax(2),
    "truth": lambda a: (a > 3).any(1),
    "concatenate": lambda a: np.concatenate([a, a[:, ::-1]], 1),
    "stack": lambda a: np.stack([a, a], -1),
    "take": lambda a: np.take(a, np.array([2, 0, 2]), 1),
    "index": lambda a: a[np.array([1, 0]), :, np.array([0, 3])],
    "sort": lambda a: np.sort(-a, 0),
    "argsort": lambda a: np.argsort(-a, 2, kind="stable"),
    "running": lambda a: np.cumsum(a, 1),
    "product": lambda a: np.matmul(a, a.swapaxes(1, 2)),
    "repeat": lambda a: np.repeat(a, 2, 1),
    "triangle": lambda a: np.tril(a),
    "roll": lambda a: np.roll(a, 1, 2),
    "empty": lambda a: a[:, :0].sum(1),
    "along": lambda a: np.take_along_axis(a, np.argsort(-a, 1), 1),
}


@pytest.mark.parametrize("name", COMPUTED)
def test_functions_are_kernels_and_agree_with_numpy(name, counters):
    device = from_host(HOST)
    array_code.counts.clear()
    found = COMPUTED[name](device)
    assert type(found) is DeviceArray
    assert not array_code.counts, "it ran as array code"
    assert counters()["synchronizations"] == 0
    expected = COMPUTED[name](HOST)
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
    np.testing.assert_allclose(found.get(), expected, rtol=1e-6)


def test_array_code_is_counted_by_op():
    device = from_host(HOST)
    before = array_code.functions.copy()
    with array_code.running_op("an op", 0):
        found = np.fft.rfft(device)
    np.testing.assert_allclose(found.get(), np.fft.rfft(HOST), rtol=1e-5)
    assert (array_code.functions - before) == {("an op", "rfft"): 1}


def test_views_from_array_code_share_memory():
    device = from_host(HOST)
    found = np.rot90(device, axes=(1, 2))
    assert found.block is device.block
    np.testing.assert_array_equal(found.get(), np.rot90(HOST, axes=(1, 2)))


def test_reading_elements_waits_and_is_counted(counters):
    device = from_host(HOST)
    assert device[1, 2, 3].item() == 23.0
    assert counters()["synchronizations"] == 1
    assert device[0, 0].tolist() == [0, 1, 2, 3]
    assert bool(device[0, 0, 1]) and int(device[0, 0, 2]) == 2
    assert counters()["synchronizations"] == 4


def test_it_does_not_become_a_host_array_by_itself():
    device = from_host(HOST)
    with pytest.raises(TypeError, match=r"get\(\)"):
        np.asarray(device)
    with pytest.raises(TypeError, match=r"get\(\)"):
        HOST.copy()[...] = device


def test_memory_goes_back_to_the_pool():
    statistics = runtime.current().memory_statistics
    before = statistics(0)["allocated_bytes"]
    array = zeros((1000,), np.dtype(np.float32))
    view = array[10:20]
    assert statistics(0)["allocated_bytes"] > before
    del array
    assert statistics(0)["allocated_bytes"] > before, "the view holds the memory"
    del view
    assert statistics(0)["allocated_bytes"] == before


def test_complex_numbers_have_parts_that_are_views():
    device = from_host(np.array([1 + 2j, 3 - 4j], np.complex64))
    device.real[...] = 9
    np.testing.assert_array_equal(device.get(), np.array([9 + 2j, 9 - 4j], np.complex64))
    np.testing.assert_array_equal(device.imag.get(), np.array([2, -4], np.float32))


@two_devices
def test_arrays_are_on_the_device_they_were_made_for():
    made = empty((3,), np.dtype(np.float32), 1)
    assert made.device == 1
    assert str(made.home) == "cuda:1"
    made[...] = 5
    assert (made + 1).device == 1
