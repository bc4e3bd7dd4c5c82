"""Products with weights packed before, against float64."""

from __future__ import annotations

import numpy as np
import pytest

import rushlight
from rushlight.kernels.gemm import products
from rushlight.kernels.gemm.packed import PackedWeight, fits
from rushlight.kernels.gemm.plans import BLOCKED
from rushlight.machine.processors import fuses_vectors
from rushlight.ops.elementwise import activation
from rushlight.ops.neural.epilogues import epilogue_of

pytestmark = pytest.mark.skipif(
    not (BLOCKED and fuses_vectors()), reason="tiles of this processor pack nothing before"
)
SIZES = [(2, 16, 1100), (3, 17, 700), (5, 100, 513), (64, 33, 96), (301, 48, 40), (130, 256, 512)]


def arrays(m, n, k):
    rng = np.random.default_rng(m + n + k)
    given = rng.standard_normal((m, k)), rng.standard_normal((n, k)), rng.standard_normal(n)
    return [a.astype(np.float32) for a in given]


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("threads", [1, 2])
def test_product(size, threads):
    a, weight, bias = arrays(*size)
    before = rushlight.get_num_threads()
    try:
        rushlight.set_num_threads(threads)
        packed = PackedWeight(weight, len(a))
        kept = weight.copy()
        weight[...] = np.nan  # it is not read again
        found = packed.run(a, bias), packed.run(a, None)
    finally:
        rushlight.set_num_threads(before)
    exact = a.astype(np.float64) @ kept.T.astype(np.float64)
    for result, expected in zip(found, (exact + bias, exact), strict=True):
        np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-5 * size[2] ** 0.5)
    np.testing.assert_array_equal(found[0], products.linear(a, kept, bias))


@pytest.mark.parametrize("size", SIZES[:4], ids=str)
@pytest.mark.parametrize("function", [activation.relu, activation.gelu])
def test_epilogues(size, function):
    a, weight, bias = arrays(*size)
    packed = PackedWeight(weight, len(a))
    found = packed.run(a, bias, epilogue_of(function))
    expected = function(rushlight.from_numpy(packed.run(a, bias))).numpy()
    np.testing.assert_array_equal(found, expected)


def test_what_fits():
    assert fits(16, 512, 784)
    assert not fits(1, 512, 784) and not fits(2, 8, 800) and not fits(2, 16, 16)
