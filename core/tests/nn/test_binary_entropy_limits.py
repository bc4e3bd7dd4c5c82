"""binary_cross_entropy where probabilities are exactly 0 or 1: values and gradients are finite."""

import numpy as np
import pytest

import rushlight as rl

P = [0.0, 1.0, 0.0, 1.0, 0.5, 1e-30, 0.0, 1.0]
Y = [0.0, 1.0, 1.0, 0.0, 1.0, 1.0, 0.5, 0.25]
# PyTorch 2.13 on a CPU, float64
LOSSES = [0.0, 0.0, 100.0, 100.0, 0.6931471805599453, 69.07755278982137, 50.0, 75.0]
SLOPES = [0.0, 0.0, -1e12, 1e12, -2.0, -1e12, -5e11, 7.5e11]


@pytest.mark.parametrize("dtype", [rl.float32, rl.float64])
def test_certain_probabilities(dtype):
    p = rl.tensor(P, dtype=dtype, requires_grad=True)
    losses = rl.nn.functional.binary_cross_entropy(p, rl.tensor(Y, dtype=dtype), reduction="none")
    np.testing.assert_allclose(losses.detach().numpy(), LOSSES, rtol=1e-6)
    losses.sum().backward()
    np.testing.assert_allclose(p.grad.numpy(), SLOPES, rtol=1e-6)


def test_a_saturated_sigmoid_passes_no_gradient_on():
    x = rl.tensor([200.0, -200.0, 200.0, -200.0], requires_grad=True)
    loss = rl.nn.BCELoss()(x.sigmoid(), rl.tensor([1.0, 0.0, 0.0, 1.0]))
    loss.backward()
    assert loss.item() == 50.0 and x.grad.tolist() == [0.0] * 4


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("weighted", [False, True])
def test_as_pytorch(reduction, weighted):
    torch = pytest.importorskip("torch")

    def gradients(library):
        p = library.tensor(P[:4] + [0.3, 0.6], dtype=library.float64, requires_grad=True)
        y = library.tensor(Y[:4] + [0.1, 0.9], dtype=library.float64, requires_grad=True)
        weight = library.linspace(0.5, 2, 6, dtype=library.float64) if weighted else None
        loss = library.nn.functional.binary_cross_entropy(p, y, weight, reduction=reduction)
        first = library.autograd.grad(loss.sum(), (p, y), create_graph=True)
        inner = first[0][4:].square().sum()
        return [loss, *first, *library.autograd.grad(inner, (p, y))]

    for ours, theirs in zip(gradients(rl), gradients(torch), strict=True):
        np.testing.assert_allclose(ours.detach().numpy(), theirs.detach().numpy(), rtol=1e-9)
