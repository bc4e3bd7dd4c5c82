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


def signs(values):
    """Numbers as text, which tells the zeros apart and holds NaN equal."""
    return [str(value) for value in values.flatten().tolist()]


@pytest.mark.parametrize("name", ["relu", "relu6", "elu", "celu", "selu", "leaky_relu"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
@pytest.mark.parametrize("count", [1, 100])
def test_zeros_keep_their_sign_and_nan_stays(name, dtype, count):
    found = []
    for library in (rushlight, torch):
        x = library.tensor([-0.0, 0.0, float("nan")] * count, dtype=getattr(library, dtype))
        found.append(signs(getattr(library.nn.functional, name)(x)))
    assert found[0] == found[1]


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
@pytest.mark.parametrize("count", [1, 100])
def test_relu_lets_the_gradients_of_nan_through(dtype, count):
    found = []
    for library in (rushlight, torch):
        x = library.tensor([-0.0, float("nan"), -1.0] * count, dtype=getattr(library, dtype))
        library.relu(x.requires_grad_()).sum().backward()
        found.append(signs(x.grad))
    assert found[0] == found[1]


def test_relu_behind_a_layer_treats_nan_as_the_layer_and_relu_do():
    nn = rushlight.nn
    rushlight.manual_seed(0)
    cases = {
        nn.Linear(8, 64): (16, 8), nn.Conv2d(3, 16, 3, padding=1): (2, 3, 8, 8),
        nn.Conv2d(16, 16, 3, padding=1): (2, 16, 16, 16),
        nn.Conv2d(16, 16, 3, groups=16): (2, 16, 8, 8),
    }  # fmt: skip
    for layer, shape in cases.items():
        x = rushlight.randn(shape)
        x.flatten()[5] = float("nan")
        with rushlight.no_grad():
            fused = nn.Sequential(layer, nn.ReLU())(x)
            assert fused.isnan().any()
            assert signs(fused) == signs(layer(x).relu())


def test_recurrent_relu_follows_relu_at_nan():
    found = []
    for library in (rushlight, torch):
        library.manual_seed(0)
        layer = library.nn.RNN(3, 4, nonlinearity="relu")
        x = library.ones(2, 2, 3)
        x[0, 0, 0] = float("nan")
        out = layer(x.requires_grad_())[0]
        out.sum().backward()
        found.append(signs(out.isnan()) + signs(x.grad.isnan()))
    assert found[0] == found[1]


@pytest.mark.parametrize("name", ["maximum", "minimum", "fmax", "fmin"])
@pytest.mark.parametrize("count", [1, 100])
def test_gradients_of_pairs_with_nan(name, count):
    found = []
    for library in (rushlight, torch):
        nan = float("nan")
        x = library.tensor([1.0, nan, 2.0, nan, 3.0] * count, requires_grad=True)
        y = library.tensor([nan, 1.0, 2.0, nan, 4.0] * count, requires_grad=True)
        getattr(library, name)(x, y).sum().backward()
        found.append(signs(x.grad) + signs(y.grad))
    assert found[0] == found[1]
