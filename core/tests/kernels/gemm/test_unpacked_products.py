"""Products of few rows with a matrix that is read where it is, against float64, whatever the
processor; which products those are."""

from __future__ import annotations

import numpy as np
import pytest

import rushlight as rl
from rushlight.kernels.launch.execution import REFERENCE

pytestmark = pytest.mark.skipif(REFERENCE, reason="the reference does without them")

ROWS = (1, 3, 6, 14)


def surrounded(rng, rows, columns, is_transposed=False):
    """A matrix in rows or columns, with NaN around it."""
    if is_transposed:
        return surrounded(rng, columns, rows).T
    big = np.full((rows + 2, columns + 7), np.nan, np.float32)
    view = big[1 : rows + 1, 3 : columns + 3]
    view[...] = rng.standard_normal((rows, columns))
    return view


def run(a, b, bias=None, by_rows=False, start=None):
    """The product, with NaN where there is none yet, or added to `start`."""
    from rushlight.kernels.gemm import plans
    from rushlight.kernels.gemm.unpacked import unpacked_kernel

    product = plans.Product(
        a.shape, a.strides, b.shape, b.strides, a.dtype, start is not None, by_rows
    )
    assert product.words[0] == unpacked_kernel.address()
    canvas = np.full((a.shape[0] + 2, b.shape[1]), np.nan, a.dtype)
    out = canvas[1:-1]
    if start is not None:
        out[...] = start
    product.run(a, b, out, bias)
    assert np.isnan(canvas[[0, -1]]).all()
    return out


@pytest.fixture
def every_product(monkeypatch):
    """Has every product of few rows go this way."""
    from rushlight.kernels.gemm import plans

    monkeypatch.setattr(plans, "fit_matrix_units", lambda m, n, k: False)
    monkeypatch.setattr(plans, "is_read_once", lambda m, n, k, a_row: True)


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("m", ROWS)
def test_against_float64(rng, every_product, m, transposed):
    from rushlight.kernels.gemm.microkernel import MAX_ROWS

    m = min(m, MAX_ROWS)
    for n, k in ((1, 7), (33, 1), (128, 195), (300, 64), (515, 401)):
        a, b = surrounded(rng, m, k, transposed), surrounded(rng, k, n)
        exact = a.astype(np.float64) @ b.astype(np.float64)
        bound = (np.abs(a).astype(np.float64) @ np.abs(b) + 2) * 1e-6
        columns, rows = (rng.standard_normal(size).astype(np.float32) for size in (n, m))
        start = rng.standard_normal((m, n)).astype(np.float32)
        for found, added in (
            (run(a, b), 0),
            (run(a, b, columns), columns),
            (run(a, b, rows, by_rows=True), rows[:, None]),
            (run(a, b, start=start), start),
        ):
            assert (np.abs(found - exact - added) <= bound * (1 + np.abs(added))).all()


def test_same_bits_as_of_packed_panels(rng, monkeypatch):
    """Sums are taken in the same order whether a matrix is packed or not."""
    from rushlight.kernels.gemm import plans

    monkeypatch.setattr(plans, "fit_matrix_units", lambda m, n, k: False)
    monkeypatch.setattr(plans, "BLOCKED", False)
    monkeypatch.setattr(plans.Product, "_is_paneled", lambda self, *sizes: True)
    a, b, found = surrounded(rng, 5, 500), surrounded(rng, 500, 200), []
    for once in (True, False):
        monkeypatch.setattr(plans, "is_read_once", lambda m, n, k, a_row, once=once: once)
        product = plans.Product(a.shape, a.strides, b.shape, b.strides, a.dtype, False)
        found.append(np.empty((5, 200), np.float32))
        product.run(a, b, found[-1], None)
    assert np.array_equal(*found)


def test_which_are_read_once(monkeypatch):
    from rushlight.kernels.gemm import plans

    monkeypatch.setattr(plans, "BLOCKED", False)
    assert plans.is_read_once(4, 4096, 512, 2048) and plans.is_read_once(1, 2048, 512, 2048)
    assert not plans.is_read_once(1, 4096, 512, 2048)  # its rows are added to all results at once
    assert not plans.is_read_once(15, 512, 512, 2048) and not plans.is_read_once(2, 64, 64, 256)
    monkeypatch.setattr(plans, "BLOCKED", True)
    assert plans.is_read_once(4, 1024, 512, 2048)
    assert not plans.is_read_once(1, 512, 512, 2048) and not plans.is_read_once(4, 2048, 512, 2048)


def test_prepared_calls_of_some_hundred_thousand_products(rng):
    """Single calls of machine code give what whole plans do, up to where matrix units begin."""
    for m, k, n in ((5, 512, 128), (8, 300, 400), (20, 256, 256)):
        a, b = (rng.standard_normal(shape).astype(np.float32) for shape in ((m, k), (k, n)))
        exact = a.astype(np.float64) @ b.astype(np.float64)
        for _ in range(3):  # later calls are prepared
            found = (rl.from_numpy(a) @ rl.from_numpy(b)).numpy()
            assert np.abs(found - exact).max() < 1e-4
