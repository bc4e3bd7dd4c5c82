"""Gradients of norms whose inverse float16 cannot hold: every form divides by them alike."""

import numpy as np
import pytest

import rushlight
from rushlight.fx.experimental.proxy_tensor import make_fx
from rushlight.nn import functional as F

NORMS = {
    "norm": lambda x: x.norm(2, -1),
    "norm of all": lambda x: x.norm(),
    "frobenius": lambda x: rushlight.norm(x, dim=1, keepdim=True),
    "vector": lambda x: rushlight.linalg.vector_norm(x, 2, -1),
    "matrix": lambda x: rushlight.linalg.norm(x),
    "distance": lambda x: F.pairwise_distance(x, x.detach()),
    "distance from 0": lambda x: F.pairwise_distance(x, x.detach() * 0, eps=0.0),
    "triplet": lambda x: F.triplet_margin_loss(x * 1, x.detach(), x.detach() + 2, reduction="sum"),
}


def gradient(function, x):
    x = x.detach().requires_grad_()
    (found,) = rushlight.autograd.grad(function(x).sum(), (x,))
    return found


@pytest.mark.parametrize("name", NORMS)
def test_gradients_are_finite_and_those_of_captured_programs(name):
    function, small = NORMS[name], rushlight.full((2, 3), 1e-6, dtype=rushlight.float16)
    found = gradient(function, small)
    wide = gradient(function, small.double())
    # 1e-6 has four bits in float16, whose least number is 6e-8
    np.testing.assert_allclose(found.double().numpy(), wide.numpy(), rtol=0.05)
    captured = make_fx(lambda x: gradient(function, x))(small)
    assert captured(small).tolist() == found.tolist()
    compiled = rushlight.compile(function)
    assert gradient(compiled, small).tolist() == found.tolist()


def test_the_gradient_at_zero_is_zero():
    for name in ("norm", "norm of all", "frobenius", "vector", "matrix"):
        zero = rushlight.zeros(2, 3, dtype=rushlight.float16)
        assert gradient(NORMS[name], zero).tolist() == [[0.0] * 3] * 2


def test_distances_are_pytorchs():
    torch = pytest.importorskip("torch")
    rows = np.array([[1, 2, 3], [1, 0, 2]], np.float16)
    others = np.array([[1, 2, 3], [0, 1, 1]], np.float16)
    found = []
    for library in (rushlight, torch):
        functional = library.nn.functional
        x, y, z = (library.from_numpy(v.copy()).requires_grad_() for v in (rows, rows, others))
        functional.pairwise_distance(x, y).sum().backward()
        functional.triplet_margin_loss(x, y, z).backward()
        found.append([each.grad.tolist() for each in (x, y, z)])
    assert found[0] == found[1]
