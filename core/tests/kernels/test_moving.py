"""Matrices turned in registers: copies of views whose columns are what is dense."""

from __future__ import annotations

import numpy as np
import pytest

import rushlight
from rushlight.backends import threads
from rushlight.kernels import moving


@pytest.mark.parametrize(
    "shape", [(16, 16), (17, 33), (64, 64), (223, 448), (130, 1000), (700, 900)]
)
@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_transposed(shape, dtype):
    array = np.random.default_rng(0).integers(0, 999, shape).astype(dtype)
    wanted, before = np.ascontiguousarray(array.T), threads.get_num_threads()
    try:
        for count in (1, 2, 5):
            threads.set_num_threads(count)
            found = rushlight.from_numpy(array).t().contiguous()
            assert found.is_contiguous()
            assert np.array_equal(found.numpy(), wanted)
    finally:
        threads.set_num_threads(before)


@pytest.mark.parametrize("shape", [(2, 20, 37), (3, 64, 50), (1, 16, 5000)])
def test_batches_parts_and_special_numbers(shape):
    array = np.random.default_rng(1).standard_normal(shape).astype(np.float32)
    array[0, 3, 5], array[-1, -1, -1] = np.nan, -np.inf
    for view in (array.transpose(0, 2, 1), array[:, :-1, 1:].transpose(0, 2, 1),
                 array[:, 1:, :].transpose(2, 0, 1), array.transpose(2, 1, 0)):  # fmt: skip
        found = rushlight.from_numpy(view).contiguous().numpy()
        assert found.flags.c_contiguous
        assert np.array_equal(found, view, equal_nan=True)


def test_what_is_turned():
    array = np.zeros((40, 50), np.float32)
    turned = moving.copied(array.T, (50, 40), array.T.strides, 0, (50, 40))
    assert turned(array.T).shape == (50, 40)
    wide = np.zeros((40, 50))
    assert np.array_equal(rushlight.from_numpy(wide.T).contiguous().numpy(), wide.T)


@pytest.mark.parametrize("dtype", ["float32", "float64", "uint8", "int16"])
@pytest.mark.parametrize("count", [2, 3, 4, 5])
def test_elements_in_turn(count, dtype):
    arrays = [
        np.random.default_rng(i).integers(0, 99, (97, 131)).astype(dtype) for i in range(count)
    ]
    found = rushlight.stack([rushlight.from_numpy(a) for a in arrays], -1)
    assert np.array_equal(found.numpy(), np.stack(arrays, -1))


@pytest.mark.parametrize("width", [1, 2, 3, 8, 9])
@pytest.mark.parametrize("dtype", ["float32", "float64", "uint8"])
def test_short_rows_of_any_strides(width, dtype):
    array = np.random.default_rng(0).integers(0, 99, (61, 400)).astype(dtype)
    before = threads.get_num_threads()
    try:
        for count in (1, 2, 5):
            threads.set_num_threads(count)
            windows = rushlight.from_numpy(array).unfold(1, width, 1)
            wanted = np.lib.stride_tricks.sliding_window_view(array, width, 1)
            assert np.array_equal(windows.contiguous().numpy(), wanted)
            turned = rushlight.from_numpy(array[: 6 * width]).reshape(6, width, 20, 20)
            for order in ((0, 2, 3, 1), (2, 0, 3, 1), (3, 2, 0, 1), (0, 3, 1, 2)):
                found = turned.permute(order).contiguous().numpy()
                assert np.array_equal(found, turned.numpy().transpose(order))
    finally:
        threads.set_num_threads(before)
