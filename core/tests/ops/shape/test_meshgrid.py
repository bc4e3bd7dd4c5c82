"""Coordinate grids against NumPy."""

import numpy as np
import pytest

import rushlight


@pytest.mark.parametrize("indexing", ["ij", "xy"])
@pytest.mark.parametrize("sizes", [(2, 3), (2, 3, 4), (5,), (2, 1)])
def test_meshgrid_is_numpys(indexing, sizes):
    vectors = [np.arange(n) * 10.0 + i for i, n in enumerate(sizes)]
    found = rushlight.meshgrid(*[rushlight.tensor(v) for v in vectors], indexing=indexing)
    for ours, expected in zip(found, np.meshgrid(*vectors, indexing=indexing), strict=True):
        np.testing.assert_array_equal(ours.numpy(), expected)


def test_meshgrid_refuses_other_indexing():
    with pytest.raises(RuntimeError, match='indexing must be one of "xy" or "ij"'):
        rushlight.meshgrid(rushlight.ones(2), rushlight.ones(3), indexing="yx")
