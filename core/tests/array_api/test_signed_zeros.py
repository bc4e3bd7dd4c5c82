"""Remainders have the sign of the divisor, as the standard asks for, zeros included."""

from __future__ import annotations

import numpy as np
import pytest

import rushlight

VALUES = [0.0, -0.0, 3.0, -3.0, 2.5, -2.5, 1.0, -1.0, np.inf, -np.inf, np.nan]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_remainders(dtype):
    strict = pytest.importorskip("array_api_strict")
    xp = rushlight.ones(1).__array_namespace__()
    x1, x2 = (np.array(v, dtype) for v in (np.repeat(VALUES, 11), np.tile(VALUES, 11)))
    with np.errstate(all="ignore"):
        expected = np.asarray(strict.remainder(strict.asarray(x1), strict.asarray(x2))._array)
    found = xp.remainder(xp.asarray(x1), xp.asarray(x2)).numpy()
    np.testing.assert_array_equal(found, expected)
    sure = ~np.isnan(expected)
    assert (np.signbit(found) == np.signbit(expected))[sure].all()
    by_number = xp.remainder(xp.asarray(x1), -1.0).numpy()
    assert np.signbit(by_number[np.isfinite(x1)]).all()
