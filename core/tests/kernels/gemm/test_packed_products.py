"""Products with weights packed before, against float64 and, to the bit, against those that pack;
those of few rows do not."""

from __future__ import annotations

import numpy as np
import pytest

import rushlight
from rushlight.kernels.gemm import matrix_units, packed, products
from rushlight.kernels.gemm.packed import MOST_ROWS, PackedWeight, fits, packed_weight
from rushlight.kernels.gemm.plans import BLOCKED, fit_matrix_units, is_few_rows
from rushlight.machine.processors import fuses_vectors
from rushlight.ops.elementwise import activation
from rushlight.ops.neural.epilogues import epilogue_of

pytestmark = pytest.mark.skipif(
    not fuses_vectors(), reason="this processor does not multiply and add at once"
)
# The fourth's rows and the sixth's are multiples of 4096 bytes; the eighth has two blocks of k.
SIZES = [
    *((2, 16, 1100), (3, 17, 700), (5, 100, 513), (30, 33, 1024), (301, 48, 40), (15, 64, 3072)),
    *((130, 256, 512), (16, 40, 4100), (65, 576, 192)),
]
needs_units = pytest.mark.skipif(not matrix_units.available(), reason="no matrix units")


def arrays(m, n, k):
    rng = np.random.default_rng(m + n + k)
    given = rng.standard_normal((m, k)), rng.standard_normal((n, k)), rng.standard_normal(n)
    return [a.astype(np.float32) for a in given]


def fitting(size):
    """The size, with so many columns that vectors of any length have a panel."""
    m, n, k = size
    return m, max(n, packed.PANEL + 1), k


def close(found, a, weight, bias):
    exact = a.astype(np.float64) @ weight.T.astype(np.float64)
    for result, expected in zip(found, (exact + bias, exact), strict=True):
        np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-5 * a.shape[1] ** 0.5)


@pytest.fixture(params=[1, 2])
def threads(request):
    before = rushlight.get_num_threads()
    rushlight.set_num_threads(request.param)
    yield request.param
    rushlight.set_num_threads(before)


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_product(size, threads):
    size = fitting(size)
    a, weight, bias = arrays(*size)
    made = PackedWeight(weight, len(a))
    kept = weight.copy()
    weight[...] = np.nan  # it is not read again
    found = made.run(a, bias), made.run(a, None)
    close(found, a, kept, bias)
    m, n, k = size
    if not fit_matrix_units(*size) and not is_few_rows(m, n, k, True):
        np.testing.assert_array_equal(found[0], products.linear(a, kept, bias))


@pytest.mark.parametrize("size", SIZES[:4], ids=str)
@pytest.mark.parametrize("function", [activation.relu, activation.gelu])
def test_epilogues(size, function):
    a, weight, bias = arrays(*fitting(size))
    made = PackedWeight(weight, len(a))
    found = made.run(a, bias, epilogue_of(function))
    expected = function(rushlight.from_numpy(made.run(a, bias))).numpy()
    np.testing.assert_array_equal(found, expected)


def test_what_fits():
    assert fits(16, 512, 784)
    assert not fits(1, 512, 784) and not fits(2, 8, 800) and not fits(2, 16, 16)
    assert fits(MOST_ROWS + 1, 512, 784) == BLOCKED
    weight = np.ones((512, 784), np.float32)
    assert packed_weight(weight, 1) is None
    assert isinstance(packed_weight(weight, 16), PackedWeight)


# ---- matrix units --------------------------------------------------------------------------------


@needs_units
@pytest.mark.parametrize("size", [(65, 576, 192), (130, 256, 512), (300, 70, 1000)], ids=str)
def test_split_product(size, threads):
    a, weight, bias = arrays(*size)
    made = packed_weight(weight, len(a))
    assert not isinstance(made, PackedWeight)
    found = made.run(a, bias), made.run(a, None)
    close(found, a, weight, bias)
    np.testing.assert_array_equal(found[0], products.linear(a, weight, bias))
    np.testing.assert_array_equal(found[1], products.linear(a, weight))
    given = rushlight.from_numpy(found[0])
    relu = made.run(a, bias, epilogue_of(activation.relu))
    np.testing.assert_array_equal(relu, activation.relu(given).numpy())


@needs_units
@pytest.mark.parametrize("value", [np.inf, np.nan, 3e38, 1e-38])
def test_values_that_cannot_be_split(value):
    a, weight, bias = arrays(65, 576, 192)
    a[40, 7] = value
    made = packed_weight(weight, 65)
    np.testing.assert_array_equal(made.run(a, bias), products.linear(a, weight, bias))
    weight[5, 9], a[40, 7] = value, 1
    made = packed_weight(weight, 65)
    np.testing.assert_array_equal(made.run(a, bias), products.linear(a, weight, bias))


@needs_units
def test_another_precision_splits_anew():
    a, weight, bias = arrays(65, 576, 192)
    made = packed_weight(weight, 65)
    exact = made.run(a, bias)
    try:
        rushlight.set_float32_matmul_precision("medium")
        coarse = made.run(a, bias)
        np.testing.assert_array_equal(coarse, products.linear(a, weight, bias))
    finally:
        rushlight.set_float32_matmul_precision("highest")
    assert not np.array_equal(coarse, exact)
    np.testing.assert_array_equal(made.run(a, bias), exact)


@needs_units
def test_many_rows_pack_nothing():
    assert packed_weight(np.ones((512, 784), np.float32), MOST_ROWS + 1) is None


@needs_units
def test_compiled_layers_follow_the_precision():
    """A frozen layer that was compiled asks for the precision at each call."""
    layer = rushlight.nn.Linear(192, 576).eval()
    x = rushlight.randn(65, 192)
    frozen = rushlight.compile(layer, options={"freezing": True})
    with rushlight.no_grad():
        exact = [frozen(x) for _ in range(3)]
        try:
            rushlight.set_float32_matmul_precision("medium")
            coarse = frozen(x)
            assert rushlight.equal(coarse, layer(x))
        finally:
            rushlight.set_float32_matmul_precision("highest")
        assert not rushlight.equal(coarse, exact[0])
        assert rushlight.equal(frozen(x), exact[0]) and rushlight.equal(exact[2], layer(x))
