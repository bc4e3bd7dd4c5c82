"""Einstein sums of two operands against PyTorch: random equations, values and gradients."""

import random

import numpy as np
import pytest

import rushlight

torch = pytest.importorskip("torch")
SIZES = {"b": 2, "i": 3, "j": 4, "k": 5, "l": 6, "m": 1}


def equation(draw):
    first, second = ("".join(draw.sample("bijklm", draw.randint(0, 4))) for _ in range(2))
    known = sorted(set(first + second))
    out = "".join(draw.sample(known, draw.randint(0, len(known))))
    return first, second, f"{first},{second}" + (f"->{out}" if draw.random() < 0.8 else "")


@pytest.mark.parametrize("seed", range(12))
def test_random_equations(seed):
    draw, numbers = random.Random(seed), np.random.default_rng(seed)
    for _ in range(25):
        first, second, text = equation(draw)
        x, y = (
            np.asarray(numbers.standard_normal([SIZES[c] for c in term]), np.float32)
            for term in (first, second)
        )
        ours = [rushlight.tensor(a).requires_grad_() for a in (x, y)]
        theirs = [torch.tensor(a, requires_grad=True) for a in (x, y)]
        found, wanted = rushlight.einsum(text, *ours), torch.einsum(text, *theirs)
        assert tuple(found.shape) == tuple(wanted.shape), text
        assert np.allclose(found.detach().numpy(), wanted.detach().numpy(), atol=1e-4), text
        found.sum().backward()
        wanted.sum().backward()
        for a, b in zip(ours, theirs, strict=True):
            assert np.allclose(a.grad.numpy(), b.grad.numpy(), atol=1e-4), text


def test_sizes_of_one_broadcast():
    x, y = np.ones((2, 1), np.float32), np.arange(6, dtype=np.float32).reshape(2, 3)
    found = rushlight.einsum("ij,ij->i", rushlight.tensor(x), rushlight.tensor(y))
    assert found.tolist() == [3.0, 12.0]
