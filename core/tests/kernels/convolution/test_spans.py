"""Strided convolution of long rows by spans of outputs, against float64."""

from __future__ import annotations

import numpy as np
import pytest

from rushlight.kernels.convolution import choice as convolution
from rushlight.kernels.convolution import reference
from rushlight.kernels.gemm import matrix_units
from rushlight.kernels.launch.execution import REFERENCE

if REFERENCE or not matrix_units.available():
    pytest.skip("this processor has no matrix units", allow_module_level=True)

from rushlight.kernels.convolution import spans

# n, c, length, o, kernel, stride, padding
CASES = [
    (1, 512, 2401, 512, 2, 2, 0),
    (2, 96, 6161, 300, 10, 3, 4),
    (1, 260, 8197, 330, 3, 4, 1),
]


@pytest.fixture(autouse=True)
def planned_anew():
    convolution.forget_plans()
    yield
    convolution.forget_plans()


def given(rng, case):
    n, c, length, o, kernel, *_ = case
    x = rng.standard_normal((n, c, length)).astype(np.float32)
    w = rng.standard_normal((o, c, kernel)).astype(np.float32)
    return x, w, rng.standard_normal(o).astype(np.float32)


def plans():
    return [plan for plan in convolution._plans.values() if isinstance(plan, spans.Forward)]


@pytest.mark.parametrize("case", CASES)
def test_long_rows(rng, case):
    x, w, bias = given(rng, case)
    windows = (case[5],), (case[6],), (1,), 1
    for b in (None, bias):
        found = convolution.convolution_forward(x, w, b, *windows)
        wide = [None if each is None else each.astype(np.float64) for each in (x, w, b)]
        exact = reference.forward_reference(*wide, *windows)
        scale = np.sqrt(np.square(exact).mean())
        assert np.sqrt(np.square(found - exact).mean()) < 4e-7 * scale
    assert plans()


def test_values_that_cannot_be_split(rng):
    x, w, _ = given(rng, CASES[0])
    x[0, 3, 1500], x[0, 7, 9] = np.inf, np.nan
    found = convolution.convolution_forward(x, w, None, (2,), (0,), (1,), 1)
    exact = reference.forward_reference(x, w, None, (2,), (0,), (1,), 1)
    assert plans()
    np.testing.assert_array_equal(np.isfinite(found), np.isfinite(exact))
    np.testing.assert_array_equal(np.isnan(found), np.isnan(exact))


def test_what_stays_whole():
    long, windows = (1, 512, (1, 2401), 512, (1, 1200)), ((1, 2), (1, 2), (0, 0), (1, 1))
    assert spans.length_of_spans(long, windows, 3) == 600
    short, plane, few = list(long), list(long), list(long)
    short[4], plane[2], few[3] = (1, 1024), (2, 2401), 96
    assert [spans.length_of_spans(each, windows, 3) for each in (short, plane, few)] == [0, 0, 0]
    dense = ((1, 2), (1, 1), (0, 0), (1, 1))
    assert spans.length_of_spans(long, dense, 3) == 0
