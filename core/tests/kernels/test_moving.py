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
