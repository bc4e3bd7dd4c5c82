"""nll_loss where targets are ignored, against PyTorch."""

import numpy as np
import pytest

import rushlight

torch = pytest.importorskip("torch")


def loss_and_gradient(library, shape, target, weighted, reduction):
    values = np.linspace(-3.0, -0.1, int(np.prod(shape)), dtype=np.float32).reshape(shape)
    values[:, 0] = -np.inf
    x = library.tensor(values, requires_grad=True)
    weight = library.linspace(0.5, 1.5, shape[1]) if weighted else None
    call = library.nn.functional.nll_loss
    loss = call(x, library.tensor(target), weight, reduction=reduction)
    loss.sum().backward()
    return loss.tolist(), x.grad.tolist()


@pytest.mark.parametrize("shape", [(4, 3), (2, 3, 5), (2, 3, 2, 4)])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("every", [False, True])
def test_ignored_targets(shape, weighted, reduction, every):
    target = np.full((shape[0], *shape[2:]), -100)
    if not every:
        target[1] = 2
    found = [
        loss_and_gradient(lib, shape, target, weighted, reduction) for lib in (rushlight, torch)
    ]
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-6)
