"""CSR, CSC, BSR and BSC tensors, batches of them too, do what PyTorch's do."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import rushlight

sys.path.insert(0, str(Path(__file__).parent))
from comparison import compare
from compressed import LAYOUTS, dense, made, outcome, vectors

BOTH = {  # of a matrix and of a batch
    "parts": lambda L, x: (
        x._nnz(),
        x.sparse_dim(),
        x.dense_dim(),
        x.is_sparse,
        x.is_sparse_csr,
        x.dim(),
        x.values(),
    ),
    "dense": lambda L, x: x.to_dense(),
    "coordinates": lambda L, x: x.to_sparse(),
    "two sparse dims": lambda L, x: x.to_sparse(2),
    "rows": lambda L, x: x.to_sparse_csr(),
    "columns": lambda L, x: x.to_sparse_csc(),
    "blocks by row": lambda L, x: x.to_sparse_bsr((2, 2)),
    "blocks by column": lambda L, x: x.to_sparse_bsc((2, 2)),
    "other blocks": lambda L, x: x.to_sparse_bsr((3, 2)),
    "blocks that do not fit": lambda L, x: x.to_sparse_bsr((4, 4)),
    "layout": lambda L, x: x.to_sparse(layout=L.sparse_csc),
    "no blocksize": lambda L, x: x.to_sparse(layout=L.sparse_bsr),
    "transposed": lambda L, x: x.transpose(-2, -1),
    "mT": lambda L, x: x.mT,
    "t": lambda L, x: x.t(),
    "first dims": lambda L, x: x.transpose(0, 1),
    "abs": lambda L, x: x.abs(),
    "sin": lambda L, x: L.sin(x),
    "neg": lambda L, x: -x,
    "relu": lambda L, x: x.relu(),
    "relu in place": lambda L, x: x.clone().relu_(),
    "isnan": lambda L, x: x.isnan(),
    "exp": lambda L, x: x.exp(),
    "sqrt": lambda L, x: x.abs().sqrt(),
    "times 2": lambda L, x: x * 2,
    "2 times": lambda L, x: 2 * x,
    "times 0-d": lambda L, x: x * L.tensor(2.0),
    "mul_": lambda L, x: x.clone().mul_(3),
    "twice": lambda L, x: x + x,
    "scaled": lambda L, x: L.add(x, x, alpha=3),
    "plus a number": lambda L, x: x + 2,
    "sum": lambda L, x: x.sum(),
    "double": lambda L, x: x.double(),
    "to": lambda L, x: x.to(L.float64),
    "zeros": lambda L, x: L.zeros_like(x),
    "ones": lambda L, x: L.ones_like(x),
    "fill": lambda L, x: x.clone().fill_(2.0),
    "copy": lambda L, x: x.clone().mul_(0).copy_(x),
    "detach": lambda L, x: x.detach(),
    "coalesce": lambda L, x: x.coalesce(),
    "indices": lambda L, x: x.indices(),
    "crow": lambda L, x: x.crow_indices(),
    "col": lambda L, x: x.col_indices(),
    "ccol": lambda L, x: x.ccol_indices(),
    "row": lambda L, x: x.row_indices(),
    "stride": lambda L, x: x.stride(),
    "mask": lambda L, x: L.arange(float(x.numel())).reshape(x.shape).sparse_mask(x),
    "numpy": lambda L, x: x.numpy(),
}
ONE = {  # of a matrix
    "mm": lambda L, x: x.mm(vectors(L, 4, 3)),
    "sparse.mm": lambda L, x: L.sparse.mm(x, vectors(L, 4, 3)),
    "matmul": lambda L, x: x @ vectors(L, 4, 3),
    "vector": lambda L, x: x @ vectors(L, 4),
    "mv": lambda L, x: x.mv(vectors(L, 4)),
    "dense first": lambda L, x: vectors(L, 3, 6) @ x,
    "addmm": lambda L, x: L.addmm(vectors(L, 6, 3), x, vectors(L, 4, 3), beta=2, alpha=0.5),
    "addmm dense first": lambda L, x: L.addmm(vectors(L, 3, 4), vectors(L, 3, 6), x),
    "addmv": lambda L, x: L.addmv(vectors(L, 6), x, vectors(L, 4)),
    "linear": lambda L, x: L.nn.functional.linear(vectors(L, 3, 4), x),
    "wrong sizes": lambda L, x: x.mm(vectors(L, 5, 3)),
    "two": lambda L, x: (x.t() @ x).to_dense(),  # MKL leaves columns unsorted
    "dense plus": lambda L, x: L.ones(6, 4) + x,
    "plus dense": lambda L, x: x + L.ones(6, 4),
    "select": lambda L, x: x.select(0, 2),
    "element": lambda L, x: x[2, 0],
    "negative": lambda L, x: x[-1],
    "out of range": lambda L, x: x.select(0, 6),
}
BATCH = {
    "one": lambda L, x: x[1],
    "another": lambda L, x: x.select(0, -1),
    "row of one": lambda L, x: x[1][0] if str(x.layout)[-3:] in ("csr", "csc") else x[0],
    "product of one": lambda L, x: x[1] @ vectors(L, 4, 2),
    "product": lambda L, x: x @ vectors(L, 4, 2),
    "of more": lambda L, x: L.stack([dense(L)] * 2).unsqueeze(1).to_sparse_csr(),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", BOTH)
def test_matrix_and_batch(name, layout):
    for batched in (False, True):
        outcome(lambda L, b=batched: BOTH[name](L, made(L, layout, b)))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", ONE)
def test_matrix(name, layout):
    if layout in ("bsr", "bsc") and name in ("select", "element", "negative"):
        x = made(rushlight, layout)  # PyTorch refuses some rows, some not
        found, expected = ONE[name](rushlight, x), ONE[name](rushlight, dense(rushlight))
        assert rushlight.equal(found.to_dense(), expected)
        return
    outcome(lambda L: ONE[name](L, made(L, layout)))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", BATCH)
def test_batch(name, layout):
    outcome(lambda L: BATCH[name](L, made(L, layout, True)))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_sums_of_different_patterns(layout):
    """Which PyTorch has for CSR only."""

    def total(L):
        other = (dense(L).flip(1) * 2).relu()
        blocks = [(2, 2)] if layout in ("bsr", "bsc") else []
        return made(L, layout) + getattr(other, f"to_sparse_{layout}")(*blocks)

    if layout == "csr":
        compare(total)
    found, x = total(rushlight), dense(rushlight)
    assert found.layout == f"sparse_{layout}"
    assert rushlight.equal(found.to_dense(), x + (x.flip(1) * 2).relu())
    with pytest.raises(NotImplementedError, match="sparse_csc"):
        made(rushlight, "csr") + made(rushlight, "csc")


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ["float64", "int64", "complex64", "bool"])
def test_dtypes(layout, dtype):
    compare(lambda L: made(L, layout, False, dtype))
    compare(lambda L: made(L, layout, True, dtype).to_dense())


@pytest.mark.parametrize("source", LAYOUTS)
@pytest.mark.parametrize("target", LAYOUTS)
def test_from_coordinates_and_on(source, target):
    """Elements that are zero are elements all the same."""

    def run(L):
        index = L.tensor([[0, 3, 0, 5], [1, 3, 2, 0]])
        x = L.sparse_coo_tensor(index, L.tensor([1.0, 2.0, 0.0, 4.0]), (6, 4))
        blocks = [[(2, 2)] if way in ("bsr", "bsc") else [] for way in (source, target)]
        first = getattr(x, f"to_sparse_{source}")(*blocks[0])
        return first, getattr(first, f"to_sparse_{target}")(*blocks[1])

    outcome(run)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_hybrid(layout):
    """Elements with dimensions of their own."""
    blocks = [(3, 2)] if layout in ("bsr", "bsc") else []

    def run(L):
        x = L.stack([dense(L), dense(L) * 2], -1)
        x = getattr(x, f"to_sparse_{layout}")(*blocks, dense_dim=1)
        return x, x.to_dense(), x.dense_dim(), x.abs()

    compare(run)


def test_batches_have_one_number_of_elements():
    from comparison import torch

    for library in (torch, rushlight):
        uneven = library.stack([dense(library), library.eye(6)[:, :4]])
        with pytest.raises(RuntimeError, match="same number"):
            uneven.to_sparse_csr()


def test_what_is_missing_names_the_layout():
    for call in (lambda x: x.norm(), lambda x: rushlight.cat([x, x]), lambda x: x.unsqueeze(0)):
        with pytest.raises(NotImplementedError, match=r"sparse_csc; call to_dense\(\)"):
            call(made(rushlight, "csc"))
    with pytest.raises(NotImplementedError, match="batches of matrices of layout sparse_csr"):
        made(rushlight, "csr", True).norm()


@pytest.mark.parametrize("shape, dims", [((2, 3), 0), ((2, 3), 3), ((2, 3), -1), ((), 1)])
def test_sparse_dims_that_there_are_not(shape, dims):
    for library in (rushlight, pytest.importorskip("torch")):
        with pytest.raises(RuntimeError, match="sparse_dim argument must be"):
            library.ones(shape).to_sparse(dims)
