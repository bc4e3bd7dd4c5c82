"""Layers with weights packed before: products against float64, convolutions against the plans that
pack at every call."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import rushlight

torch = pytest.importorskip("torch")

from drawn import Layout, allowed, close, exact, examples, on_threads, sizes, tensors  # noqa: E402
from test_convolution_shapes import general, is_possible, patches, transformed  # noqa: E402

from rushlight.kernels.convolution.choice import convolution_forward  # noqa: E402
from rushlight.kernels.convolution.packed import packed_convolution  # noqa: E402
from rushlight.kernels.gemm import packed  # noqa: E402


def dense(data, shape):
    """A tensor whose dims lie in their order."""
    return data.draw(tensors(shape, layout=Layout(tuple(range(len(shape))), 1, 0)))


@given(st.data(), sizes(100, 2), sizes(300, 16), sizes(600, 8))
@examples(40)
def test_product(data, m, n, k):
    assume(packed.fits(m, n, k))
    a, weight, bias = (dense(data, shape) for shape in ((m, k), (n, k), (n,)))
    made = packed.PackedWeight(weight.numpy(), m)
    found = on_threads(lambda: rushlight.from_numpy(made.run(a.numpy(), bias.numpy())))
    left, right, row = exact(a), exact(weight).T, exact(bias)
    close(found, left @ right + row, left.abs() @ right.abs() + row.abs(), allowed(k))


@given(st.data(), st.one_of(general(), transformed(), patches()))
@examples(60)
def test_convolution(data, geometry):
    assume(geometry.n and geometry.groups == 1 and is_possible(geometry))
    assume(isinstance(geometry.settings[1], tuple))
    x = dense(data, (geometry.n, geometry.c, *geometry.image)).numpy()
    weight = dense(data, (geometry.o, geometry.c, *geometry.kernel)).numpy()
    bias = dense(data, (geometry.o,)).numpy()
    made = packed_convolution(x.shape, weight, *geometry.settings, 1)
    assume(made is not None)
    found = on_threads(lambda: rushlight.from_numpy(made.run(x, bias))).numpy()
    expected = convolution_forward(x, weight, bias, *geometry.settings, 1)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)
