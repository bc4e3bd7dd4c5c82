"""Rows in order against NumPy's stable sort: ties, zeros of both signs, NaN, infinities."""

from __future__ import annotations

import numpy as np
import pytest

import rushlight
from rushlight.kernels import ordering

SPECIAL = [np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-45, -1e-45, 3.4e38, -3.4e38, 1.0, 1.0]


def stable(x, descending):
    """Places by NumPy: NaN counts as the largest."""
    if not descending:
        return np.argsort(x, -1, kind="stable")
    back = np.argsort(x[..., ::-1], -1, kind="stable")[..., ::-1]
    return x.shape[-1] - 1 - back


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("shape", [(2,), (3, 7), (22, 45), (2, 3, 129), (1, 5000)])
def test_ordered(shape, descending):
    draw = np.random.default_rng(5)
    numbers = draw.standard_normal(shape).astype("f4")
    for x in (numbers, numbers.round(1), draw.choice(np.array(SPECIAL, "f4"), shape)):
        values, places = ordering.ordered(x, descending)
        wanted = stable(x, descending)
        np.testing.assert_array_equal(places, wanted, strict=True)
        expected = np.take_along_axis(x, wanted, -1)
        assert values.tobytes() == expected.tobytes()


def test_what_is_left_to_others():
    x = np.ones((4, 6), "f4")
    for other in (x.astype("f8"), x.T, x[:, ::2], x[:0], x[:, :1], np.ones((), "f4")):
        assert ordering.ordered(other, False) is None


@pytest.mark.parametrize("shape", [(2,), (5, 33), (3, 4, 500), (20_001,)], ids=str)
def test_chosen_elements(shape):
    array = np.random.default_rng(0).integers(-9, 9, shape).astype(np.float32)
    order = np.argsort(array, -1, kind="stable")
    for k in sorted({0, 1, shape[-1] // 2, shape[-1] - 1}):
        values, places = ordering.chosen(array, k)
        assert np.array_equal(places, order[..., k])
        assert np.array_equal(values, np.sort(array, -1)[..., k])
        tensor = rushlight.from_numpy(array)
        assert np.array_equal(tensor.kthvalue(k + 1).indices.numpy(), places)
    middle = (shape[-1] - 1) // 2
    assert np.array_equal(tensor.median(-1).values.numpy(), np.sort(array, -1)[..., middle])
    flat = np.sort(array.reshape(-1))
    assert tensor.median().item() == flat[(flat.size - 1) // 2]
    array.reshape(-1)[-1] = np.nan
    assert np.isnan(rushlight.from_numpy(array).median().item())
    assert rushlight.from_numpy(array).median(-1).indices.reshape(-1)[-1] == shape[-1] - 1
