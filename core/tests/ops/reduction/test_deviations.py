"""Standard deviations where they are 0: PyTorch's derivatives, and in every dtype."""

from __future__ import annotations

import numpy as np
import pytest

import rushlight

torch = pytest.importorskip("torch")
LIBRARIES = (rushlight, torch)
_ROWS = [[1.0, 2.0, 4.0], [3.0, 3.0, 3.0], [0.0, 0.0, 0.5]]


def _derivatives(lib, call, dtype):
    """The result, its gradient, and that of the gradient's squares, as float64."""
    x = lib.tensor(_ROWS, dtype=getattr(lib, dtype), requires_grad=True)
    y = call(lib, x)
    (first,) = lib.autograd.grad(y.sum(), x, create_graph=True)
    (second,) = lib.autograd.grad(first[::2].abs().square().sum(), x)
    wide = lib.complex128 if "complex" in dtype else lib.float64
    return [y.detach().double().numpy()] + [
        t.detach().to(wide).numpy() for t in (first, second[::2])
    ]


@pytest.mark.parametrize("dtype", ("float32", "float64", "bfloat16", "float16", "complex64"))
@pytest.mark.parametrize("name", ("std", "std_mean"))
def test_derivatives_of_rows_that_are_constant_are_zero(name, dtype):
    def call(lib, x):
        found = getattr(lib, name)(x, 1)
        return found if name == "std" else found[0]

    rough = {"bfloat16": 2e-2, "float16": 2e-3}.get(dtype, 1e-5)
    ours, theirs = (_derivatives(lib, call, dtype) for lib in LIBRARIES)
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(a, b, rough, rough)
    assert not ours[1][1].any()


@pytest.mark.parametrize("layout", ("dense", "columns", "steps"))
@pytest.mark.parametrize("dtype", ("float32", "bfloat16"))
def test_layouts_and_options(layout, dtype):
    values = np.random.default_rng(0).normal(size=(6, 8)).astype("f")
    for options in ({}, {"dim": 0}, {"dim": (0, 1), "keepdim": True}, {"dim": 1, "correction": 0}):
        found = []
        for lib in LIBRARIES:
            x = lib.from_numpy(values.copy()).to(getattr(lib, dtype))
            x = {"dense": x, "columns": x.t(), "steps": x[::2, 1::3]}[layout]
            found.append(x.std(**options).double().numpy())
        np.testing.assert_allclose(*found, rtol=1e-5 if dtype == "float32" else 8e-3)


def test_one_element_has_no_deviation():
    for lib in LIBRARIES:
        x = lib.ones(1, 3, requires_grad=True)
        y = x.std(0, correction=0)
        y.sum().backward()
        assert y.tolist() == [0, 0, 0] and x.grad.tolist() == [[0, 0, 0]]
