"""Einstein summation against PyTorch, with gradients."""

import numpy as np
import pytest

import rushlight
from rushlight.autograd import gradcheck

CASES = [
    ("ij,jk->ik", (2, 3), (3, 4)),
    ("bij,bjk->bik", (2, 3, 4), (2, 4, 5)),
    ("ij,ij->", (2, 3), (2, 3)),
    ("i,j->ij", (2,), (3,)),
    ("ii->i", (3, 3)),
    ("ii", (3, 3)),
    ("ij->ji", (2, 3)),
    ("ij", (2, 3)),
    ("ij,jk", (2, 3), (3, 2)),
    ("...ij,...jk->...ik", (2, 1, 3, 4), (5, 4, 2)),
    ("bhqd,bhkd->bhqk", (2, 2, 3, 4), (2, 2, 5, 4)),
    ("ab,bc,cd->ad", (2, 3), (3, 4), (4, 2)),
    ("ijk,k->j", (2, 3, 4), (4,)),
    ("ij,kl->jl", (2, 3), (4, 5)),
]


@pytest.mark.parametrize(("equation", "shapes"), [(c[0], c[1:]) for c in CASES])
def test_sums_of_products(equation, shapes):
    torch = pytest.importorskip("torch")
    values = [np.random.default_rng(i).standard_normal(s) for i, s in enumerate(shapes)]
    ours = [rushlight.tensor(v, requires_grad=True) for v in values]
    theirs = torch.einsum(equation, *[torch.tensor(v) for v in values])
    found = rushlight.einsum(equation, *ours)
    assert tuple(found.shape) == tuple(theirs.shape)
    np.testing.assert_allclose(found.detach().numpy(), theirs.numpy(), rtol=1e-12, atol=1e-12)
    gradcheck(lambda *tensors: rushlight.einsum(equation, *tensors), ours)


def test_errors_name_the_subscripts():
    with pytest.raises(RuntimeError, match="names 2 operands, but 1 were given"):
        rushlight.einsum("ij,jk->ik", rushlight.ones(2, 3))
    with pytest.raises(RuntimeError, match=r"the subscripts 'ij' name 2 dimensions.*\[3\]"):
        rushlight.einsum("ij->i", rushlight.ones(3))
    with pytest.raises(RuntimeError, match="subscript 'j' has size 4 and size 3"):
        rushlight.einsum("ij,jk->ik", rushlight.ones(2, 3), rushlight.ones(4, 2))
