"""Tensors of sparse layout do what PyTorch's do: values, indices, layouts and gradients."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

import rushlight

sys.path.insert(0, str(Path(__file__).parent))
from comparison import compare, torch

INDICES = [[0, 1, 1, 0, 2], [2, 0, 2, 2, 1]]


def coo(L, dtype="float32", grad=False):
    """A matrix (3, 4) with one place twice."""
    values = np.array([0.3, -0.4, 0.5, 0.1, 0.7])
    values = values.astype(dtype) if "int" not in dtype else (values * 10).astype(dtype)
    made = L.sparse_coo_tensor(L.tensor(INDICES), L.tensor(values), (3, 4))
    return made.requires_grad_() if grad else made


def other(L):
    return L.sparse_coo_tensor(L.tensor([[0, 2, 1], [2, 3, 0]]), L.tensor([1.0, 2.0, 3.0]), (3, 4))


def hybrid(L):
    """(3, 2): one sparse and one dense dimension."""
    return L.sparse_coo_tensor(L.tensor([[0, 2, 0]]), L.arange(6.0).reshape(3, 2), (3, 2))


def dense(L, *shape):
    return (L.arange(float(np.prod(shape))).reshape(shape) - 3) / 4


UNARY = (
    "abs asin asinh atan atanh ceil deg2rad erf expm1 floor isnan log1p neg rad2deg relu round "
    "sgn sign signbit sin sinh sqrt square tan tanh trunc isinf"
).split()


@pytest.mark.parametrize("name", UNARY)
def test_unary(name):
    compare(lambda L: getattr(L, name)(coo(L)))
    if name not in ("deg2rad", "rad2deg", "square", "isinf", "signbit", "isnan"):
        compare(lambda L: getattr(L, name)(coo(L).to_sparse_csr()))
    if name not in ("relu", "isnan", "isinf", "signbit", "square"):
        compare(lambda L: getattr(coo(L).coalesce().clone(), name + "_")())


CASES = {
    "parts": lambda L: (
        coo(L)._nnz(),
        coo(L).sparse_dim(),
        coo(L).dense_dim(),
        coo(L).is_sparse,
        coo(L).is_coalesced(),
        coo(L)._indices(),
        coo(L)._values(),
        coo(L).numel(),
        coo(L).dim(),
        len(coo(L)),
        tuple(coo(L).stride()),
    ),
    "coalesce": lambda L: coo(L).coalesce(),
    "dense": lambda L: (coo(L).to_dense(), hybrid(L).to_dense(), coo(L, "int64").to_dense()),
    "from dense": lambda L: (
        dense(L, 2, 3).relu().to_sparse(),
        dense(L, 2, 3).to_sparse(1),
        dense(L, 2, 3).relu().to_sparse_csr(),
    ),
    "csr and back": lambda L: (
        coo(L).to_sparse_csr(),
        coo(L).to_sparse_csr().to_sparse(),
        coo(L).to_sparse_csr().to_dense(),
    ),
    "inferred size": lambda L: L.sparse_coo_tensor(L.tensor(INDICES), L.ones(5)),
    "empty": lambda L: (
        L.sparse_coo_tensor(size=(2, 3)),
        L.zeros_like(coo(L)),
        L.empty_like(hybrid(L)),
        L.sparse_coo_tensor((2, 3)),
    ),
    "list indices": lambda L: L.sparse_coo_tensor([[0, 1]], [1, 2], (3,)),
    "sum of two": lambda L: (
        (coo(L) + other(L)).coalesce(),
        coo(L).coalesce() + other(L).coalesce(),
        L.add(coo(L), other(L), alpha=2).coalesce(),
        (coo(L) - other(L)).coalesce(),
    ),
    "dense plus sparse": lambda L: (
        dense(L, 3, 4) + coo(L),
        dense(L, 3, 4) - coo(L),
        L.add(dense(L, 3, 4), coo(L), alpha=3),
    ),
    "into dense": lambda L: (dense(L, 3, 4).add_(coo(L)), dense(L, 3, 2).add_(hybrid(L), alpha=2)),
    "products": lambda L: (
        coo(L).coalesce() * other(L).coalesce(),
        coo(L).coalesce() * dense(L, 3, 4),
        dense(L, 3, 4) * coo(L).coalesce(),
        coo(L) * 2,
        2 * coo(L),
        coo(L) / 4,
    ),
    "powers": lambda L: (coo(L) ** 2, coo(L).pow(3)),
    "in place": lambda L: (
        coo(L).mul_(2),
        coo(L).add_(other(L)).coalesce(),
        coo(L).zero_(),
        coo(L).div_(2),
        coo(L).coalesce().copy_(coo(L)),
    ),
    "dtypes": lambda L: (
        coo(L).double(),
        coo(L).to(L.float64),
        coo(L).int(),
        coo(L, "int64").float(),
    ),
    "sums": lambda L: (
        coo(L).sum(),
        L.sparse.sum(coo(L)),
        L.sparse.sum(coo(L), 0),
        L.sparse.sum(coo(L), 1),
        L.sparse.sum(coo(L), (0, 1)),
        coo(L, "int32").sum(),
        L.sparse.sum(hybrid(L), 0),
        L.sparse.sum(hybrid(L), 1),
    ),
    "norm": lambda L: (coo(L).norm(), coo(L).coalesce().norm()),
    "softmax": lambda L: (
        [f(coo(L), d) for f in (L.sparse.softmax, L.sparse.log_softmax) for d in (0, 1)]
        + [L.sparse.softmax(hybrid(L), d) for d in (0, 1)]
    ),
    "transposed": lambda L: (
        coo(L).t().coalesce(),
        coo(L).transpose(0, 1).coalesce(),
        coo(L).permute(1, 0).coalesce(),
    ),
    "parts of it": lambda L: (
        coo(L).coalesce()[1].coalesce(),
        coo(L).coalesce()[1, 2],
        coo(L).select(1, 2),
        coo(L).coalesce().unsqueeze(0).coalesce(),
        hybrid(L)[0],
        hybrid(L)[2],
    ),
    "index_select": lambda L: (
        coo(L).index_select(0, L.tensor([1, 1, 0])).to_dense(),
        coo(L).coalesce().index_select(1, L.tensor([2, 0])).to_dense(),
        hybrid(L).index_select(1, L.tensor([1])).to_dense(),
    ),
    "narrow": lambda L: L.narrow_copy(coo(L).coalesce(), 1, 1, 2).to_dense(),
    "joined": lambda L: (
        L.cat([coo(L), other(L)]),
        L.cat([coo(L), coo(L)], 1),
        L.stack([coo(L), other(L)]),
    ),
    "mask": lambda L: dense(L, 3, 4).sparse_mask(coo(L).coalesce()),
    "resized": lambda L: (
        coo(L).coalesce().sparse_resize_((4, 5), 2, 0),
        coo(L).sparse_resize_and_clear_((2, 2), 1, 1),
    ),
    "mm": lambda L: (
        L.sparse.mm(coo(L), dense(L, 4, 3)),
        L.mm(coo(L), dense(L, 4, 3)),
        coo(L) @ dense(L, 4, 3),
        coo(L).to_sparse_csr() @ dense(L, 4, 3),
        dense(L, 2, 3) @ coo(L),
    ),
    "mv": lambda L: (
        coo(L) @ dense(L, 4),
        L.mv(coo(L), dense(L, 4)),
        coo(L).to_sparse_csr() @ dense(L, 4),
    ),
    "wide": lambda L: coo(L) @ dense(L, 4, 67),
    "sparse times sparse": lambda L: (
        L.sparse.mm(coo(L), other(L).t()).coalesce(),
        (coo(L) @ other(L).t()).coalesce(),
    ),
    "other dtypes": lambda L: (
        coo(L, "float64") @ dense(L, 4, 3).double(),
        coo(L, "int64") @ L.ones(4, 2, dtype=L.int64),
    ),
    "complex": lambda L: coo(L).to(L.complex64) @ (dense(L, 4, 3) + 1j * dense(L, 4, 3)),
    "addmm": lambda L: (
        L.sparse.addmm(L.ones(3, 2), coo(L), dense(L, 4, 2)),
        L.addmm(L.ones(3, 2), coo(L), dense(L, 4, 2), beta=2, alpha=3),
        L.addmm(L.ones(3, 2), coo(L).to_sparse_csr(), dense(L, 4, 2)),
    ),
    "bmm": lambda L: L.bmm(L.stack([coo(L), other(L)]), dense(L, 2, 4, 3)),
    "linear": lambda L: L.nn.functional.linear(coo(L), dense(L, 2, 4)),
    "hybrid product": lambda L: L.hspmm(coo(L), dense(L, 4, 2)).coalesce(),
    "smm": lambda L: L.smm(coo(L), dense(L, 4, 2)).coalesce(),
    "sampled": lambda L: L.sparse.sampled_addmm(
        coo(L).to_sparse_csr(), dense(L, 3, 2), dense(L, 2, 4), beta=0.5, alpha=2.0
    ),
    "reduced products": lambda L: tuple(
        L.sparse.mm(coo(L).coalesce().to_sparse_csr(), dense(L, 4, 2), way)
        for way in ("sum", "mean", "amax", "amin")
    ),
    "coordinates of rows": lambda L: coo(L).coalesce().to_sparse_csr().to_sparse_coo(),
    "spdiags": lambda L: (
        L.sparse.spdiags(dense(L, 3, 3), L.tensor([0, -1, 2]), (3, 3)).coalesce(),
        L.sparse.spdiags(dense(L, 4), L.tensor([1]), (3, 5)).coalesce(),
    ),
    "csr arithmetic": lambda L: (
        coo(L).to_sparse_csr() * 2,
        coo(L).to_sparse_csr().sum(),
        coo(L).to_sparse_csr() + other(L).to_sparse_csr(),
    ),
    "csr made": lambda L: L.sparse_csr_tensor([0, 1, 3], [2, 0, 1], [1.0, 2.0, 3.0], (2, 4)),
    "hybrid arithmetic": lambda L: (
        (hybrid(L) + hybrid(L)).coalesce(),
        hybrid(L) * 2,
        hybrid(L).coalesce(),
        hybrid(L).coalesce() * hybrid(L).coalesce(),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_results(name):
    compare(CASES[name])


@pytest.mark.parametrize("value", [0.0, 2.0, True, False])
def test_a_tensor_without_dimensions(value):
    def parts(lib):
        found = lib.tensor(value).to_sparse()
        masked = lib.tensor(3.0).sparse_mask(found).to_dense()
        shapes = tuple(found.indices().shape), tuple(found.values().shape)
        return found._nnz(), shapes, found.to_dense().item(), masked.item()

    assert parts(rushlight) == parts(torch)


def test_product_into_a_tensor():
    def run(L):
        out = L.ones(3, 4).to_sparse_csr()
        pattern = coo(L).coalesce().to_sparse_csr()
        L.sparse.sampled_addmm(pattern, dense(L, 3, 2), dense(L, 2, 4), out=out)
        return out

    compare(run)


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        (("csr", "dense", "prod"), RuntimeError, "reduce must be one of"),
        (("coo", "dense", "sum"), NotImplementedError, "layout sparse_csr"),
        (("csr", "csr", "sum"), RuntimeError, "dense mat2"),
    ],
)
def test_reduced_products_that_are_refused(arguments, error, text):
    square = rushlight.eye(3)
    forms = {"dense": square, "coo": square.to_sparse(), "csr": square.to_sparse_csr()}
    left, right, reduce = arguments
    with pytest.raises(error, match=text):
        rushlight.sparse.mm(forms[left], forms[right], reduce)


def gradients(L, function, values_too=True):
    """Gradients of a weighted sum of a result by the sparse operand and a dense one."""
    sparse = coo(L, grad=False).coalesce().requires_grad_()
    matrix = dense(L, 4, 3).requires_grad_()
    out = function(L, sparse, matrix)
    out = out.to_dense() if out.layout != L.strided else out
    (out * dense(L, *out.shape)).sum().backward()
    return sparse.grad, matrix.grad


DIFFERENTIABLE = {
    "mm": lambda L, s, d: L.sparse.mm(s, d),
    "addmm": lambda L, s, d: L.sparse.addmm(L.ones(3, 3), s, d, alpha=2.0),
    "mm of means": lambda L, s, d: L.sparse.mm(s.to_sparse_csr(), d, "mean"),
    "sum": lambda L, s, d: L.sparse.sum(s, 0),
    "softmax": lambda L, s, d: L.sparse.softmax(s, 1),
    "log_softmax": lambda L, s, d: L.sparse.log_softmax(s, 0),
    "to_dense": lambda L, s, d: s.to_dense(),
    "sparse times sparse": lambda L, s, d: L.sparse.mm(s, coo(L).t()),
    "relu": lambda L, s, d: s.relu(),
    "scaled": lambda L, s, d: s * 3,
}


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_gradients(name):
    def dense_gradients(L):
        sparse, matrix = gradients(L, DIFFERENTIABLE[name])
        return sparse.to_dense(), matrix

    compare(dense_gradients)


def test_gradients_reach_the_values():
    def by_values(L):
        values = L.tensor([0.3, -0.4, 0.5, 0.1, 0.7]).requires_grad_()
        made = L.sparse_coo_tensor(L.tensor(INDICES), values, (3, 4))
        (L.sparse.mm(made, dense(L, 4, 3)) ** 2).sum().backward()
        return values.grad

    compare(by_values)


def test_autograd_grad_of_a_sparse_input():
    def by_input(L):
        made = coo(L).coalesce().requires_grad_()
        (found,) = L.autograd.grad((made.to_dense() * dense(L, 3, 4)).sum(), made)
        return found.to_dense()

    compare(by_input)


@pytest.mark.parametrize("bits", [32, 64])
def test_printing(bits):
    for make in (
        lambda L: coo(L, f"float{bits}"),
        lambda L: coo(L).coalesce().requires_grad_(),
        lambda L: coo(L, "int64"),
        lambda L: hybrid(L),
        lambda L: L.sparse_coo_tensor(size=(2, 3)),
        lambda L: coo(L, f"float{bits}").to_sparse_csr(),
    ):
        assert repr(make(rushlight)) == repr(make(torch)).replace("torch.", "rushlight.")


BAD = {
    "nnz": lambda L: L.sparse_coo_tensor([[0, 1, 2]], L.ones(2), (3,)),
    "negative": lambda L: L.sparse_coo_tensor([[0, -1]], L.ones(2)),
    "too large": lambda L: L.sparse_coo_tensor([[0, 5]], L.ones(2), (3,), check_invariants=True),
    "indices": lambda L: coo(L).indices(),
    "values": lambda L: coo(L).values(),
    "sparse plus dense": lambda L: coo(L) + dense(L, 3, 4),
    "sparse plus number": lambda L: coo(L) + 1,
    "division": lambda L: coo(L) / dense(L, 3, 4),
    "cat": lambda L: L.cat([coo(L), dense(L, 3, 4)]),
    "numpy": lambda L: coo(L).numpy(),
    "item": lambda L: coo(L).item(),
    "reads": lambda L: L.exp(coo(L)),
    "view": lambda L: coo(L).view(-1),
    "mm": lambda L: coo(L) @ dense(L, 3, 3),
    "storage": lambda L: coo(L).untyped_storage(),
    "crow": lambda L: coo(L).crow_indices(),
    "dense values": lambda L: dense(L, 3, 4).values(),
    "dense coalesce": lambda L: dense(L, 3, 4).coalesce(),
    "csr columns": lambda L: L.sparse_csr_tensor(
        [0, 1, 3], [0, 5, 1], [1.0, 2, 3], (2, 3), check_invariants=True
    ),
    "contiguous": lambda L: coo(L).contiguous(),
}


@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support")
@pytest.mark.parametrize("name", BAD)
def test_the_same_errors(name):
    with pytest.raises(Exception) as expected:  # noqa: PT011 - the type is the question
        BAD[name](torch)
    with pytest.raises(expected.type):
        BAD[name](rushlight)
