"""Randomized decompositions, LOBPCG, and names that PyTorch removed."""

import pytest

import rushlight
from rushlight import linalg
from rushlight.autograd import gradcheck
from rushlight.testing.agreement import definite, random


@pytest.mark.parametrize("shape", [(12, 8), (8, 12), (2, 12, 8)])
def test_svd_of_low_rank_is_exact(shape):
    *batch, m, n = shape
    matrix = random(*batch, m, 3) @ random(*batch, 3, n, seed=1)
    u, s, v = rushlight.svd_lowrank(matrix, q=4)
    assert rushlight.allclose((u * s.unsqueeze(-2)) @ v.mT, matrix)
    assert rushlight.allclose(s[..., :3], linalg.svdvals(matrix)[..., :3])


def test_principal_components_of_centred_data():
    data = random(20, 3) @ random(3, 6, seed=1) + 5.0
    _, s, v = rushlight.pca_lowrank(data, q=3)
    centred = data - data.mean(0)
    assert rushlight.allclose(s, linalg.svdvals(centred)[:3])
    assert rushlight.allclose(centred @ v @ v.mT, centred)
    moved = rushlight.svd_lowrank(data, q=3, M=data.mean(0, keepdim=True))
    assert rushlight.allclose(moved[1], s)
    with pytest.raises(ValueError, match="q"):
        rushlight.pca_lowrank(data, q=7)


@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("general", [True, False])
def test_lobpcg(largest, general):
    matrix = definite(12, 12) + rushlight.diag(rushlight.arange(12).double())
    metric = definite(12, 12, seed=2) if general else None
    values, vectors = rushlight.lobpcg(matrix, k=3, B=metric, largest=largest, tol=1e-9)
    other = vectors if metric is None else metric @ vectors
    assert rushlight.allclose(matrix @ vectors, other * values, atol=1e-5)
    whole = matrix if metric is None else linalg.solve(metric, matrix)
    every = linalg.eigvals(whole).real.sort(descending=largest).values
    assert rushlight.allclose(values, every[:3])


def test_lobpcg_differentiates_values():
    matrix = definite(9, 9).requires_grad_()

    def values(x):
        start = rushlight.ones(9, 2, dtype=x.dtype) + rushlight.eye(9, 2, dtype=x.dtype)
        return rushlight.lobpcg((x + x.mT) / 2, k=2, X=start, tol=1e-12)[0]

    assert gradcheck(values, [matrix])
    vectors = rushlight.lobpcg(matrix, k=2)[1]
    with pytest.raises(NotImplementedError, match="eigh"):
        vectors.sum().backward()
    with pytest.raises(ValueError, match="3 x the number"):
        rushlight.lobpcg(matrix, k=4)


@pytest.mark.parametrize("name", ["symeig", "eig", "solve", "lstsq", "matrix_rank"])
def test_removed_names_say_what_to_use(name):
    arguments = [rushlight.eye(2)] * (2 if name in ("solve", "lstsq") else 1)
    with pytest.raises(RuntimeError, match=r"rushlight\.linalg\."):
        getattr(rushlight, name)(*arguments)
