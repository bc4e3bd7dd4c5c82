"""Rows in order against NumPy's stable sort: ties, zeros of both signs, NaN, infinities."""

from __future__ import annotations

import numpy as np
import pytest

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
