"""Products by blocks of rows, panels and inner size, and by panels of the whole inner size, against
float64, whatever the processor."""

from __future__ import annotations

import numpy as np
import pytest

from rushlight.kernels.launch.execution import REFERENCE
from rushlight.machine import threads

pytestmark = pytest.mark.skipif(REFERENCE, reason="the reference does without them")

SIZES = [
    (12, 32, 100),
    (13, 33, 1),
    (64, 128, 784),
    (97, 70, 515),
    (100, 65, 1030),
    (205, 47, 64),
    (61, 1100, 129),
    (400, 90, 700),
    (31, 600, 513),
]


def operand(rng, rows, columns, dtype, layout):
    """A matrix in rows or columns, with NaN around it."""
    if layout == "T":
        return operand(rng, columns, rows, dtype, "N").T
    big = np.full((rows + 2, columns + 7), np.nan, dtype)
    view = big[1 : rows + 1, 3 : columns + 3]
    view[...] = rng.standard_normal((rows, columns))
    return view


@pytest.fixture(params=["blocked", "panels", "gathered panels"], autouse=True)
def scheme(request, monkeypatch):
    """Has every product go one way."""
    from rushlight.kernels.gemm import panels as panel_products
    from rushlight.kernels.gemm import plans as gemm

    is_blocked = request.param == "blocked"
    monkeypatch.setattr(gemm, "BLOCKED", is_blocked)
    monkeypatch.setattr(gemm, "SMALL_WORK", 0)
    monkeypatch.setattr(gemm, "fit_matrix_units", lambda m, n, k: False)
    monkeypatch.setattr(gemm, "is_read_once", lambda m, n, k, a_row: False)
    monkeypatch.setattr(gemm.Product, "_is_paneled", lambda self, *sizes: not is_blocked)
    gathers = request.param == "gathered panels"
    monkeypatch.setattr(panel_products, "has_two_wide_units", lambda: gathers)
    monkeypatch.setattr(panel_products, "GATHER_WORK", 0)
    monkeypatch.setattr(panel_products, "GATHER_PANELS", 0)
    monkeypatch.setattr(panel_products, "MOST_DEPTH", 2048)
    return request.param


def run(scheme, a, b, bias=None, by_rows=False, start=None):
    """The product, with NaN where there is none yet, or added to `start`."""
    from rushlight.kernels.gemm import plans as gemm
    from rushlight.kernels.gemm.blocked import blocked_kernel
    from rushlight.kernels.gemm.panels import panel_kernel
    from rushlight.kernels.launch.execution import language_type

    product = gemm.Product(
        a.shape, a.strides, b.shape, b.strides, a.dtype, start is not None, by_rows
    )
    kernel = blocked_kernel if scheme == "blocked" else panel_kernel
    assert product.words[0] == kernel.address(real=language_type(a.dtype))
    if scheme == "gathered panels":
        assert (product.panels is not None) == (a.shape[1] > 1 and a.strides[1] != a.itemsize)
    canvas = np.full((a.shape[0] + 2, b.shape[1]), np.nan, a.dtype)
    out = canvas[1:-1]
    if start is not None:
        out[...] = start
    product.run(a, b, out, bias)
    assert np.isnan(canvas[[0, -1]]).all()
    return out


@pytest.mark.parametrize("layouts", ["NN", "NT", "TN", "TT"])
@pytest.mark.parametrize("size", SIZES)
def test_against_float64(rng, dtype, scheme, size, layouts):
    m, n, k = size
    a, b = operand(rng, m, k, dtype, layouts[0]), operand(rng, k, n, dtype, layouts[1])
    exact = a.astype(np.float64) @ b.astype(np.float64)
    bound = (np.abs(a).astype(np.float64) @ np.abs(b) + 1) * (
        1e-6 if dtype == np.float32 else 2e-15
    )
    columns, rows = rng.standard_normal(n).astype(dtype), rng.standard_normal(m).astype(dtype)
    start = rng.standard_normal((m, n)).astype(dtype)
    for found, added in (
        (run(scheme, a, b), 0),
        (run(scheme, a, b, columns), columns),
        (run(scheme, a, b, rows, by_rows=True), rows[:, None]),
        (run(scheme, a, b, start=start), start),
    ):
        assert (np.abs(found - exact - added) <= bound + 1e-6 * np.abs(added) * bound).all()


@pytest.mark.parametrize("layouts", ["NN", "NT", "TN"])
@pytest.mark.parametrize("size", [(150, 300, 600), (500, 40, 530)])
def test_same_bits_for_any_number_of_threads(rng, dtype, scheme, size, layouts):
    m, n, k = size
    a, b = operand(rng, m, k, dtype, layouts[0]), operand(rng, k, n, dtype, layouts[1])
    before, found = threads.get_num_threads(), []
    try:
        for count in (1, 2, 5):
            threads.set_num_threads(count)
            found.append(run(scheme, a, b).copy())
    finally:
        threads.set_num_threads(before)
    assert all(np.array_equal(found[0], other) for other in found)


@pytest.mark.parametrize("layouts", ["NN", "NT", "TN"])
def test_not_a_number_stays_in_its_row_and_column(rng, dtype, scheme, layouts):
    a, b = operand(rng, 80, 70, dtype, layouts[0]), operand(rng, 70, 90, dtype, layouts[1])
    a[77, 69], b[69, 88] = np.nan, np.inf
    found = run(scheme, a, b)
    wrong = np.zeros(found.shape, bool)
    wrong[77], wrong[:, 88] = True, True
    assert np.array_equal(~np.isfinite(found), wrong)


def test_items_are_many_and_even():
    from rushlight.kernels.gemm.blocked import MOST_ITEMS, READ_A, parts_and_groups

    for m, n, panels in ((1024, 384, 24), (64, 128, 8), (8, 1024, 64), (5000, 16, 1), (600, 48, 3)):
        parts, groups = parts_and_groups(m, n, panels, READ_A)
        assert 1 <= groups <= panels
        assert 1 <= parts <= m
        assert parts * groups <= MOST_ITEMS
        assert parts * groups >= min(16, panels)
