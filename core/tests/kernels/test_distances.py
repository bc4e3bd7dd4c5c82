"""Euclidean distances of all pairs of rows from their differences."""

from __future__ import annotations

import numpy as np
import pytest

import rushlight
from rushlight.kernels.execution import REFERENCE

MODES = ["use_mm_for_euclid_dist_if_necessary", "donot_use_mm_for_euclid_dist"]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("rows", "others", "length"),
    [(200, 200, 16), (30, 40, 3), (1, 600, 5), (50, 1100, 31), (10, 7, 100), (3, 3, 1)],
)
def test_distances(rows, others, length, mode, dtype):
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal((n, length)).astype(dtype) for n in (rows, others))
    wide = a[:, None].astype(np.float64) - b[None]
    exact = np.sqrt(np.square(wide).sum(-1))
    for order in (np.ascontiguousarray, np.asfortranarray):
        x, y = rushlight.from_numpy(order(a)), rushlight.from_numpy(order(b))
        found = rushlight.cdist(x, y, compute_mode=mode)
        np.testing.assert_allclose(found.numpy(), exact, rtol=1e-6)


@pytest.mark.skipif(REFERENCE, reason="the reference goes by a product of matrices")
def test_a_row_has_no_distance_from_itself():
    x = rushlight.randn(100, 16)
    assert float(rushlight.cdist(x, x).diagonal().abs().max()) == 0
