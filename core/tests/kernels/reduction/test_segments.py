"""Segments against NumPy: empty ones, starts, both dtypes, rows of one and of many elements."""

import numpy as np
import pytest

import rushlight
from rushlight.kernels.reduction import segments as kernels

SHAPES = [
    ((7,), [3, 0, 4]),
    ((7, 3), [3, 0, 4]),
    ((2, 6, 5), [[2, 4], [0, 6]]),
    ((900,), [700, 150]),
]
STARTS = {"sum": 0.0, "mean": 0.0, "max": -np.inf, "min": np.inf, "prod": 1.0}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("way", kernels.WAYS)
@pytest.mark.parametrize(("shape", "lengths"), SHAPES)
@pytest.mark.parametrize("start", [None, 0.5])
def test_against_numpy(dtype, way, shape, lengths, start):
    data = (1 + 0.1 * np.random.default_rng(0).standard_normal(shape)).astype(dtype)
    data.reshape(-1)[1] = np.nan
    counts = np.array(lengths)
    empty = np.nan if start is None else start
    given = data, counts, way, STARTS[way] if start is None else start, empty
    found = kernels.reduced(*given)
    assert found.dtype == np.dtype(dtype)
    tolerance = 1e-4 if dtype == "float32" else 1e-12
    np.testing.assert_allclose(found, kernels.reduced.reference(*given), tolerance)
    if counts.ndim == 1 and way == "sum" and start is None:
        parts = np.split(data.astype("f8"), np.cumsum(counts))[: len(counts)]
        np.testing.assert_allclose(found, [p.sum(0) for p in parts], tolerance)


def test_gradients():
    data = rushlight.rand(2, 6, 3, dtype=rushlight.float64, requires_grad=True)
    counts = rushlight.tensor([[2, 0, 4], [1, 2, 3]])
    for way in kernels.WAYS:

        def call(x, way=way):
            return rushlight.segment_reduce(x, way, lengths=counts, axis=1, initial=0.25)

        assert rushlight.autograd.gradcheck(call, data)
        assert rushlight.autograd.gradgradcheck(call, data)
