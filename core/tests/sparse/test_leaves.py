"""Gradients of sparse leaves have PyTorch's layouts, places, order and flags, also accumulated."""

from __future__ import annotations

import pickle
import sys
from pathlib import Path

import pytest

import rushlight

sys.path.insert(0, str(Path(__file__).parent))
from comparison import compare


def coo(L, dense=False):
    values = L.tensor([1.0, 2.0, 3.0, 4.0], dtype=L.float64)
    values = L.stack([values, values + 1], 1) if dense else values
    size = (3, 3, 2) if dense else (3, 3)
    return L.sparse_coo_tensor(L.tensor([[0, 1, 2, 2], [1, 0, 0, 2]]), values, size).coalesce()


def uncoalesced(L):
    indices = L.tensor([[2, 0, 1, 2, 0], [2, 1, 0, 0, 1]])
    return L.sparse_coo_tensor(indices, L.tensor([4.0, 0.5, 2.0, 3.0, 0.5]).double(), (3, 3))


LEAVES = {
    "coalesced": coo,
    "uncoalesced": uncoalesced,
    "csr": lambda L: coo(L).to_sparse_csr(),
    "hybrid": lambda L: coo(L, True),
}


def narrow(L):
    return L.tensor([[0.5, 1.5], [2.0, -1.0], [1.0, 3.0]], dtype=L.float64)


def square(L):
    return L.arange(9.0, dtype=L.float64).reshape(3, 3) - 3.5


def other(L, s):
    found = L.tensor([[0, 2.0, 1], [0, 0, 0], [3, 0, -1]], dtype=L.float64).to_sparse()
    return found if s.layout == L.sparse_coo else found.to_sparse_csr()


EVERY, PLAIN, MATRICES, COO = (
    set(LEAVES),
    {"coalesced", "uncoalesced"},
    set(LEAVES) - {"hybrid"},
    set(LEAVES) - {"csr"},
)
CALLS = {
    "sparse.mm": (MATRICES, lambda L, s: L.sparse.mm(s, narrow(L))),
    "mm": (MATRICES, lambda L, s: L.mm(s, narrow(L))),
    "spmm": (MATRICES, lambda L, s: L.spmm(s, narrow(L))),
    "dense @ s": (MATRICES, lambda L, s: narrow(L).t() @ s),
    "s @ vector": (MATRICES, lambda L, s: s @ square(L)[0]),
    "addmm": (MATRICES, lambda L, s: L.addmm(narrow(L), s, narrow(L))),
    "sparse.addmm": (
        MATRICES,
        lambda L, s: L.sparse.addmm(narrow(L), s, narrow(L), beta=2.0, alpha=3.0),
    ),
    "addmv": ({"csr"}, lambda L, s: L.addmv(square(L)[0], s, square(L)[1])),
    "linear": (MATRICES, lambda L, s: L.nn.functional.linear(s, narrow(L).t())),
    "bmm": (PLAIN, lambda L, s: L.bmm(s.unsqueeze(0), narrow(L).unsqueeze(0))),
    "sparse @ sparse": (PLAIN, lambda L, s: L.mm(s, other(L, s))),
    "sparse.mm of two": (PLAIN, lambda L, s: L.sparse.mm(s, other(L, s))),
    "reduced": ({"csr"}, lambda L, s: L.sparse.mm(s, narrow(L), "mean")),
    "to_dense": (EVERY, lambda L, s: s.to_dense()),
    "to_dense, all places": (EVERY - {"hybrid"}, lambda L, s: s.to_dense(masked_grad=False)),
    "to_dense twice": (EVERY, lambda L, s: s.to_dense() * 2 + s.to_dense()),
    "product and to_dense": (MATRICES, lambda L, s: L.mm(s, narrow(L)).sum() + s.to_dense().sum()),
    "sum": (EVERY, lambda L, s: s.sum()),
    "sparse.sum": (COO, lambda L, s: L.sparse.sum(s)),
    "sparse.sum of rows": (COO, lambda L, s: L.sparse.sum(s, 1)),
    "sparse.sum of both": (COO, lambda L, s: L.sparse.sum(s, [0, 1])),
    "softmax": (COO, lambda L, s: L.sparse.softmax(s, 1)),
    "log_softmax": (COO, lambda L, s: L.sparse.log_softmax(s, 0)),
    "dense + s": (MATRICES, lambda L, s: square(L) + s),
    "dense - 2 s": (PLAIN, lambda L, s: L.sub(square(L), s, alpha=2)),
    "dense.add_": (MATRICES, lambda L, s: square(L).add_(s)),
    "s * 2": (EVERY, lambda L, s: s * 2),
    "s * tensor": (EVERY, lambda L, s: s * L.tensor(3.0, dtype=L.float64)),
    "s * dense": (MATRICES, lambda L, s: s * square(L)),
    "s * dense @ matrix": (PLAIN, lambda L, s: (s * square(L)) @ narrow(L)),
    "s * s": (EVERY - {"uncoalesced"}, lambda L, s: s * s),
    "s / 2": (COO, lambda L, s: s / 2),
    "s ** 2": (COO, lambda L, s: s**2),
    "-s": (EVERY, lambda L, s: -s),
    "t": (MATRICES, lambda L, s: s.t()),
    "permute": (PLAIN, lambda L, s: s.permute(1, 0)),
    "clone": (EVERY, lambda L, s: s.clone()),
    "coalesce": (COO, lambda L, s: s.coalesce()),
    "float": (COO, lambda L, s: s.float()),
    "real": (EVERY, lambda L, s: s.real),
    "to_sparse_csr": (MATRICES, lambda L, s: s.to_sparse_csr()),
    "to_sparse_csc": (PLAIN, lambda L, s: s.to_sparse_csc()),
    "element": (EVERY, lambda L, s: s[2, 0]),
    "sparse_mask": (PLAIN, lambda L, s: s.sparse_mask(other(L, s))),
    "relu": (COO, lambda L, s: s.relu()),
    "floor": (EVERY, lambda L, s: s.floor()),
    "deg2rad": (EVERY, lambda L, s: s.deg2rad()),
    "abs": (EVERY, lambda L, s: s.abs()),
}


def total(L, out):
    return L.sparse.sum(out) if out.layout == L.sparse_coo else out.sum()


def weighted(L, out):
    out = out if out.layout == L.strided else out.to_dense()
    return (out.reshape(-1) * L.arange(1.0, out.numel() + 1, dtype=out.dtype)).sum()


@pytest.mark.parametrize("kind", LEAVES)
@pytest.mark.parametrize("name", CALLS)
def test_gradients(name, kind):
    kinds, call = CALLS[name]
    if kind not in kinds:
        return

    def found(L, scalar, passes):
        s = LEAVES[kind](L).detach().requires_grad_()
        for _ in range(passes):
            scalar(L, call(L, s)).backward()
        return s.grad

    compare(lambda L: found(L, weighted, 1))
    if (kind, name) != ("csr", "float"):
        compare(lambda L: found(L, total, 1))
        compare(lambda L: found(L, total, 2))


@pytest.mark.parametrize("name", ["s + other", "other + s", "s - other", "s * other", "s * s"])
def test_of_two_uncoalesced_tensors(name):
    calls = {
        "s + other": lambda L, s: s + other(L, s),
        "other + s": lambda L, s: other(L, s) + s,
        "s - other": lambda L, s: s - other(L, s),
        "s * other": lambda L, s: s * other(L, s),
        "s * s": lambda L, s: s * s,
    }
    compare(lambda L: calls[name](L, uncoalesced(L)))
    compare(lambda L: calls[name](L, coo(L)))


def test_gradients_with_autograd_grad_and_hooks():
    def found(L):
        s, dense, seen = coo(L).requires_grad_(), narrow(L).requires_grad_(), []
        s.register_hook(lambda grad: seen.append(grad) or grad * 2)
        (s @ dense).sum().backward()
        first = s.grad, dense.grad, seen[0]
        s.grad = None
        return *first, *L.autograd.grad(L.sparse.mm(s * 2, dense).pow(2).sum(), (s, dense))

    compare(found)


def test_second_derivatives():
    def found(L):
        s, dense = coo(L).requires_grad_(), narrow(L).requires_grad_()
        of_s, of_dense = L.autograd.grad((s @ dense).pow(3).sum(), (s, dense), create_graph=True)
        return L.autograd.grad(of_s.pow(2).sum() + of_dense.pow(2).sum(), (s, dense))

    compare(found)


def test_leaves_know_what_they_are():
    values = rushlight.ones(2, requires_grad=True)
    made = rushlight.sparse_coo_tensor([[0, 1]], values, (3,))
    leaf = rushlight.sparse_coo_tensor([[0, 1]], values, (3,), requires_grad=True)
    assert leaf.is_leaf and leaf.requires_grad and leaf.grad_fn is None and leaf.grad is None
    assert made.requires_grad and not made.is_leaf
    assert not leaf.detach().requires_grad
    twice = leaf * 2
    assert not twice.is_leaf and twice.grad_fn is not None
    twice.retain_grad()
    rushlight.sparse.sum(twice).backward()
    assert twice.grad.to_dense().tolist() == [1, 1, 0] and values.grad is None
    assert pickle.loads(pickle.dumps(leaf)).requires_grad
    with pytest.raises(RuntimeError, match="leaf"):
        leaf.mul_(2)
    with rushlight.no_grad():
        assert leaf.mul_(2).to_dense().tolist() == [2, 2, 0]


def test_changes_of_saved_operands_are_seen():
    s, dense = coo(rushlight).requires_grad_(), narrow(rushlight)
    out = (s @ dense).sum()
    dense.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        out.backward()


@pytest.mark.parametrize("name", ["t_", "transpose_", "swapaxes_", "swapdims_"])
def test_transposed_in_place(name):
    def found(L):
        s = coo(L)
        result = getattr(s, name)(*(() if name == "t_" else (0, 1)))
        assert result is s
        return s

    compare(found)
    with pytest.raises(RuntimeError, match="in-place transposition is not supported"):
        rushlight.eye(2).to_sparse_csr().t_()


@pytest.mark.parametrize("unitriangular", [False, True])
@pytest.mark.parametrize("transpose", [False, True])
@pytest.mark.parametrize("upper", [False, True])
def test_triangular_systems(upper, transpose, unitriangular):
    def found(L, dtype=None):
        dtype = dtype or L.float64
        rows = [[2.0, 0, 1, 0], [3, -1, 0, 0.5], [0, 2, 4, 1], [1, 0, 0, 3]]
        a = L.tensor(rows, dtype=dtype).to_sparse_csr().requires_grad_()
        b = (L.arange(8.0).reshape(4, 2) + 1).to(dtype).requires_grad_()
        solution, empty = L.triangular_solve(b, a, upper, transpose, unitriangular)
        solution.abs().pow(2).sum().backward()
        return solution, empty, a.grad, b.grad

    compare(found)
    for name in ("float32", "complex128"):
        compare(lambda L, name=name: found(L, getattr(L, name))[::3])


def test_triangular_systems_of_other_layouts_are_refused():
    eye = rushlight.eye(3)
    for made in (eye.to_sparse(), eye.to_sparse_csc()):
        with pytest.raises(ValueError, match="sparse_csr"):
            rushlight.triangular_solve(eye, made)


def test_places_in_any_order_are_merged_alike():
    from rushlight.kernels.sparse.products import _merged_reference, merged_places

    generator = rushlight.Generator().manual_seed(3)
    for sizes in ((0, 0), (0, 3), (5, 0), (7, 9), (40, 33)):
        first, second = (rushlight.randint(0, 12, (n,), generator=generator).numpy() for n in sizes)
        for ours, theirs in zip(
            merged_places(first, second), _merged_reference(first, second), strict=True
        ):
            assert ours.tolist() == theirs.tolist()
