"""Products of few rows or one column with a matrix against float64: layouts, sizes, and threads."""

from __future__ import annotations

import numpy as np
import pytest

from rushlight.kernels.gemm import plans
from rushlight.kernels.gemm import products as matrix
from rushlight.machine import threads

OUTPUTS = [1, 2, 3, 5, 15, 16, 17, 33, 500, 1000, 1025, 2500]
INNER = [1, 2, 3, 7, 9, 33, 64, 129, 512, 4097, 9000]
SOME = 1_300_000  # elements of a matrix up to which all layouts are tried: whole blocks and rests


def laid_out(values, layout):
    """The matrix dense, transposed, or with NaN around it."""
    rows, columns = values.shape
    if layout == "dense":
        return values
    if layout == "transposed":
        return np.ascontiguousarray(values.T).T
    if layout == "inside":
        big = np.full((rows + 2, columns + 5), np.nan, values.dtype)
        view = big[1 : rows + 1, 2 : columns + 2]
    else:
        big = np.full((columns + 2, rows + 5), np.nan, values.dtype)
        view = big[1 : columns + 1, 2 : rows + 2].T
    view[...] = values
    return view


def results(weight, vector, bias):
    """The product with a vector as a row and as a column, plus what is added, by all ways."""
    outputs, dtype = len(weight), weight.dtype
    row, column = np.full((1, outputs), np.nan, dtype), np.full((outputs, 1), np.nan, dtype)
    yield matrix.product_into(vector[None], weight.T, row.copy(), bias)[0], bias
    yield (
        matrix.product_into(vector[None], weight.T, row.copy(), bias[:1], by_rows=True)[0],
        bias[0],
    )
    yield matrix.product_into(weight, vector[:, None], column.copy(), bias[:1])[:, 0], bias[0]
    yield matrix.product_into(weight, vector[:, None], column, bias, by_rows=True)[:, 0], bias
    yield matrix.matmul(vector[None], weight.T, out=row)[0], np.zeros(1, dtype)
    yield matrix.addmm(bias[None], vector[None], weight.T)[0], bias
    yield matrix.addmm(bias[:, None], weight, vector[:, None])[:, 0], bias


@pytest.mark.parametrize("step", [1, 3])
@pytest.mark.parametrize("layout", ["dense", "transposed", "inside", "inside transposed"])
@pytest.mark.parametrize("inner", INNER)
def test_rows_and_columns(rng, dtype, inner, layout, step):
    bound = 1e-6 if dtype == np.float32 else 2e-15
    largest = SOME if layout != "dense" or step != 1 else max(OUTPUTS) * max(INNER)
    for outputs in OUTPUTS:
        if outputs * inner > largest:
            continue
        values = rng.standard_normal((outputs, inner)).astype(dtype)
        weight = laid_out(values, layout)
        vector = np.full(inner * step, np.nan, dtype)[::step]
        vector[...] = rng.standard_normal(inner)
        bias = rng.standard_normal(outputs).astype(dtype)
        exact = values.astype(np.float64) @ vector.astype(np.float64)
        scale = np.abs(values).astype(np.float64) @ np.abs(vector) + np.abs(bias) + 1
        for result, added in results(weight, vector, bias):
            assert (np.abs(result - exact - added) <= bound * (scale + np.abs(added))).all()


@pytest.mark.parametrize("rows", range(2, 9))
@pytest.mark.parametrize("layout", ["dense", "transposed", "inside", "inside transposed"])
@pytest.mark.parametrize("inner", [33, 64, 255, 256, 777, 4101])
def test_few_rows(rng, dtype, inner, layout, rows, monkeypatch):
    """Of all numbers of rows, whatever the processor takes that way; rows that lie apart, too."""
    monkeypatch.setattr(plans, "SMALL_WORK", 0)
    bound = 1e-6 if dtype == np.float32 else 2e-15
    matrix.forget_plans()
    for outputs in (2, 3, 15, 17, 130, 1025 if inner < 1000 else 257):
        values = rng.standard_normal((outputs, inner)).astype(dtype)
        weight = laid_out(values, layout)
        given = laid_out(rng.standard_normal((rows, inner)).astype(dtype), "inside")
        bias = rng.standard_normal(outputs).astype(dtype)
        start = rng.standard_normal((rows, outputs)).astype(dtype)
        exact = given.astype(np.float64) @ values.astype(np.float64).T
        scale = np.abs(given).astype(np.float64) @ np.abs(values).T + np.abs(bias) + 2
        out = np.full((rows, outputs), np.nan, dtype)
        for result, added in (
            (matrix.product_into(given, weight.T, out.copy(), bias), bias),
            (matrix.product_into(given, weight.T, out), 0),
            (matrix.product_into(given, weight.T, start.copy(), accumulate=True), start),
        ):
            assert (np.abs(result - exact - added) <= bound * (scale + np.abs(added))).all()
    matrix.forget_plans()


@pytest.mark.parametrize("by_dots", [True, False])
def test_float32_of_few_rows_is_not_packed(by_dots):
    assert plans.is_few_rows(2, 512, 128, by_dots) and plans.is_few_rows(3, 128, 1000, by_dots)
    assert plans.is_few_rows(8, 512, 512, by_dots) == by_dots
    assert not plans.is_few_rows(2, 64, 64, by_dots) and not plans.is_few_rows(9, 512, 512, by_dots)


@pytest.mark.parametrize("layout", ["dense", "transposed"])
@pytest.mark.parametrize("size", [(1000, 512), (33, 9000), (4100, 130), (300_000, 3)])
def test_same_bits_for_any_number_of_threads(rng, dtype, size, layout):
    weight = laid_out(rng.standard_normal(size).astype(dtype), layout)
    vector = rng.standard_normal((1, size[1])).astype(dtype)
    before, found = threads.get_num_threads(), []
    try:
        for count in (1, 2, 5):
            threads.set_num_threads(count)
            found.append((matrix.matmul(vector, weight.T), matrix.matmul(weight, vector.T)))
    finally:
        threads.set_num_threads(before)
    assert all(np.array_equal(x, y) for other in found[1:]
               for x, y in zip(found[0], other, strict=True))  # fmt: skip


@pytest.mark.parametrize("layout", ["dense", "transposed"])
def test_not_a_number_stays_in_its_output(rng, dtype, layout):
    weight = rng.standard_normal((70, 37)).astype(dtype)
    weight[[3, 69], [36, 0]] = np.nan
    weight[5, 20] = np.inf
    weight, vector = laid_out(weight, layout), np.ones((1, 37), dtype)
    for result in (matrix.matmul(vector, weight.T)[0], matrix.matmul(weight, vector.T)[:, 0]):
        assert np.flatnonzero(np.isnan(result)).tolist() == [3, 69]
        assert np.flatnonzero(np.isinf(result)).tolist() == [5]


@pytest.mark.parametrize("layout", ["dense", "transposed"])
def test_errors_of_long_sums(rng, layout):
    weight = laid_out(rng.standard_normal((40, 100_000)).astype(np.float32), layout)
    vector = rng.standard_normal((1, 100_000)).astype(np.float32)
    exact = weight.astype(np.float64) @ vector[0].astype(np.float64)
    error = np.square(matrix.matmul(vector, weight.T)[0] - exact).mean()
    assert np.sqrt(error / np.square(exact).mean()) < 4e-6


@pytest.mark.parametrize("layouts", ["NN", "NT", "TN", "TT"])
@pytest.mark.parametrize("size", [(1, 37, 65), (1, 128, 64), (1, 3, 5000), (29, 1, 65), (1, 1, 9)])
def test_batches(rng, dtype, size, layouts):
    """Both operands in a batch, or one of them for all, whose vectors are dense or not."""
    m, n, k = size
    shapes = ((m, k), (k, n))
    whole = []
    for (rows, columns), layout in zip(shapes, layouts, strict=True):
        order = (rows, columns) if layout == "N" else (columns, rows)
        big = np.full((5, order[0] + 1, order[1] + 3), np.nan, dtype)
        view = big[:, : order[0], 1 : order[1] + 1]
        view[...] = rng.standard_normal((5, *order))
        whole.append(view if layout == "N" else view.swapaxes(1, 2))
    a, b = whole
    bound = 1e-6 if dtype == np.float32 else 2e-15
    for left, right in ((a, b), (a[:1], b), (a, b[:1]), (np.ascontiguousarray(a), b)):
        exact = left.astype(np.float64) @ right.astype(np.float64)
        scale = np.abs(left).astype(np.float64) @ np.abs(right) + 1
        found = matrix.matmul(left, right)
        assert found.dtype == dtype
        assert (np.abs(found - exact) <= bound * scale).all()


@pytest.mark.parametrize("inner", [1, 7, 64, 131, 5000])
@pytest.mark.parametrize("layout", ["dense", "transposed", "inside", "inside transposed"])
def test_batches_of_dot_products(rng, dtype, inner, layout):
    rows = laid_out(rng.standard_normal((9, inner)).astype(dtype), layout)
    columns = laid_out(rng.standard_normal((9, inner)).astype(dtype), layout)
    scale = (np.abs(rows).astype(np.float64) * np.abs(columns)).sum(1) + 1
    exact = (rows.astype(np.float64) * columns).sum(1)
    for left, right in ((rows, columns), (np.ascontiguousarray(rows), columns)):
        found = matrix.matmul(left[:, None], right[:, :, None])
        assert found.shape == (9, 1, 1)
        bound = 1e-6 if dtype == np.float32 else 2e-15
        assert (np.abs(found[:, 0, 0] - exact) <= bound * scale).all()
