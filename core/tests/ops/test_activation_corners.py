"""Gradients of activations exactly where their pieces meet, against PyTorch."""

import pytest

import rushlight

torch = pytest.importorskip("torch")

CORNERS = {
    "hardswish": (-3.0, 3.0), "hardsigmoid": (-3.0, 3.0), "relu": (0.0,), "relu6": (0.0, 6.0),
    "hardtanh": (-1.0, 1.0), "softshrink": (-0.5, 0.5), "hardshrink": (-0.5, 0.5), "elu": (0.0,),
    "celu": (0.0,), "selu": (0.0,), "leaky_relu": (0.0,),
}  # fmt: skip


@pytest.mark.parametrize("name", CORNERS)
@pytest.mark.parametrize("count", [1, 100])
def test_gradients_at_corners(name, count):
    found = []
    for library in (rushlight, torch):
        x = library.tensor(list(CORNERS[name]) * count, requires_grad=True)
        getattr(library.nn.functional, name)(x).sum().backward()
        found.append(x.grad.tolist())
    assert found[0] == pytest.approx(found[1])
