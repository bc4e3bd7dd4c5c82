"""Places in sorted sequences against NumPy's."""

from __future__ import annotations

import numpy as np
import pytest

from rushlight.kernels.launch.execution import REFERENCE
from rushlight.kernels.scan_sort import search

pytestmark = pytest.mark.skipif(REFERENCE, reason="the reference is NumPy's")


@pytest.mark.parametrize("right", [False, True])
@pytest.mark.parametrize("dtype", ["f4", "f8", "i4", "i8"])
@pytest.mark.parametrize("n", [1, 2, 3, 31, 1000])
@pytest.mark.parametrize("count", [1, 3, 4, 5, 4003])
def test_one_sequence(dtype, n, count, right):
    draw = np.random.default_rng(n * count)
    sequence = np.sort(draw.integers(-50, 50, n)).astype(dtype)
    values = draw.integers(-60, 60, (1, count)).astype(dtype)
    if dtype[0] == "f":
        sequence[-1:] = np.nan
        values[0, ::3] += 0.5
        special = np.array([np.nan, np.inf, -np.inf], dtype)[:count]
        values[0, : special.size] = special
        wanted = search.halved(sequence, values, right)
    else:
        wanted = np.searchsorted(sequence, values, "right" if right else "left")
    for _ in range(2):
        found = search.places(sequence, values, right)
        np.testing.assert_array_equal(found, wanted, strict=True)


@pytest.mark.parametrize("right", [False, True])
@pytest.mark.parametrize("n", [1, 2, 3, 31, 1000])
def test_halving_finds_the_places_of_numbers(n, right):
    draw = np.random.default_rng(n)
    sequence = np.sort(draw.integers(-50, 50, n)).astype("f4")
    values = np.concatenate([draw.integers(-60, 60, 99), [np.inf, -np.inf, 0.5]]).astype("f4")
    wanted = np.searchsorted(sequence, values, "right" if right else "left")
    for find in (search.halved, search.places):
        np.testing.assert_array_equal(find(sequence, values, right), wanted, strict=True)


@pytest.mark.parametrize("right", [False, True])
def test_a_sequence_for_each_row(right):
    draw = np.random.default_rng(3)
    sequence = np.sort(draw.standard_normal((2, 3, 17)).astype("f4"), -1)
    values = draw.standard_normal((2, 3, 6)).astype("f4")
    values[..., :2] = sequence[..., 5:7]
    found = search.places(sequence, values, right)
    side = "right" if right else "left"
    for i, j in np.ndindex(2, 3):
        assert np.array_equal(found[i, j], np.searchsorted(sequence[i, j], values[i, j], side))


def test_what_is_left_to_others():
    x = np.arange(6.0)
    for sequence, values in (
        (x[::2], x), (x, x[::2]), (x[:0], x), (x, x[:0]), (x.astype("f4"), x),
        (x.astype("i2"), x.astype("i2")), (x.astype("f2"), x.astype("f2")),
    ):  # fmt: skip
        assert search.places(sequence, values, False) is None
