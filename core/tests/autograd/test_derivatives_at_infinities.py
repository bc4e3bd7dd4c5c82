"""First and second derivatives at infinite arguments are PyTorch's, NaN included."""

import itertools

import numpy as np
import pytest

import rushlight

torch = pytest.importorskip("torch")
VALUES = (-np.inf, -2.0, 0.0, 1.5, np.inf, np.nan)
PAIRS = np.array(list(itertools.product(VALUES, VALUES))).T


def _derivatives(library, name, dtype):
    leaves = [library.tensor(v, dtype=getattr(library, dtype), requires_grad=True) for v in PAIRS]
    total = getattr(library, name)(*leaves).sum()
    first = library.autograd.grad(total, leaves, create_graph=True)
    second = [library.autograd.grad(g.sum(), leaves, retain_graph=True) for g in first]
    return [t.detach().numpy() for t in (*first, *second[0], *second[1])]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", ["logaddexp", "logaddexp2"])
def test_sums_of_exponentials(name, dtype):
    found = zip(_derivatives(rushlight, name, dtype), _derivatives(torch, name, dtype), strict=True)
    for ours, theirs in found:
        np.testing.assert_allclose(ours, theirs, 1e-5, 1e-6)
