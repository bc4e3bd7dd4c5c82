"""Products of matrices of any size and layout against float64."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rushlight

torch = pytest.importorskip("torch")

from drawn import allowed, close, exact, examples, on_threads, sizes, tensors  # noqa: E402

DTYPES = st.sampled_from(("float32", "float32", "float64", "bfloat16"))


@st.composite
def factors(draw, largest=300, grad=False):
    """Matrices that can be multiplied."""
    m, n, k = (draw(sizes(largest, 0)) for _ in range(3))
    dtype = draw(DTYPES)
    return draw(tensors((m, k), dtype, grad=grad)), draw(tensors((k, n), dtype, grad=grad))


@given(factors())
@examples(60)
def test_product(pair):
    a, b = pair
    found = on_threads(lambda: a @ b)
    left, right = exact(a), exact(b)
    close(found, left @ right, left.abs() @ right.abs(), allowed(a.shape[1]))


@given(factors(120, grad=True), st.data())
@examples(30)
def test_gradients_of_a_product(pair, data):
    a, b = pair
    up = data.draw(tensors((a.shape[0], b.shape[1]), str(a.dtype).rpartition(".")[2]))
    found = on_threads(lambda: rushlight.autograd.grad(a @ b, (a, b), up))
    left, right, top = exact(a).detach(), exact(b).detach(), exact(up)
    close(found[0], top @ right.T, top.abs() @ right.abs().T, allowed(b.shape[1]))
    close(found[1], left.T @ top, left.abs().T @ top.abs(), allowed(a.shape[0]))
