"""What NumPy evaluates: results have the layout of compiled ones and memory of their own."""

from __future__ import annotations

import numpy as np
import pytest

import rushlight
from rushlight.compiler import reference, xp


def numbers(*shape):
    rng = np.random.default_rng(0)
    return (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(np.complex64)


BODIES = {
    "the input": (lambda x: x, lambda x: x, "c64"),
    "a part": (lambda x: xp.real(x), np.real, "f32"),
    "new": (lambda x: -x, np.negative, "c64"),
    "cast": (lambda x: x, lambda x: x.astype(np.complex128), "c128"),
}
LAYOUTS = {
    "rows": lambda x: x,
    "columns": lambda x: x.swapaxes(0, 1),
    "one row": lambda x: x[:1].swapaxes(0, 2),
    "steps": lambda x: x[:, ::2],
    "backwards": lambda x: x[::-1],
    "repeated": lambda x: np.broadcast_to(x[:, :1], x.shape),
    "number": lambda x: x[0, 0, :1].reshape(()),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", BODIES)
def test_results_are_new(name, layout):
    body, expected, dtype = BODIES[name]
    kernel = reference(body, {"x": "c64"}, {"x": "c64"}, {}, {}, (dtype,))
    x = LAYOUTS[layout](numbers(4, 6, 5))
    kept = x.copy()
    for _ in range(2):
        found = kernel(x)
        np.testing.assert_array_equal(found, expected(kept))
        assert not np.shares_memory(found, x) and found.flags.writeable
        found[...] = 0
        np.testing.assert_array_equal(x, kept)


def test_results_do_not_share_memory():
    def body(x):
        y = -x
        return y, y

    kernel = reference(body, {"x": "c64"}, {"x": "c64"}, {}, {}, ("c64", "c64"))
    first, second = kernel(numbers(3, 4))
    assert not np.shares_memory(first, second)
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("order", [(0, 1, 2), (1, 0, 2), (2, 1, 0), (0, 2, 1)])
@pytest.mark.parametrize("shape", [(2, 3, 4), (1, 3, 4), (3, 1, 1)])
def test_layouts_of_complex_results_are_pytorchs(order, shape):
    torch = pytest.importorskip("torch")
    for call in (lambda x, y: -x, lambda x, y: x * y, lambda x, y: y[..., :1] + x):
        strides = []
        for library in (rushlight, torch):
            x = library.ones(shape, dtype=library.complex64).permute(order)
            strides.append(call(x, x.contiguous()).stride())
        assert strides[0] == strides[1]
