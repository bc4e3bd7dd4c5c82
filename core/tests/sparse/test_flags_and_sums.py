"""Which results are coalesced, and `sspaddmm`, compared with PyTorch."""

from __future__ import annotations

import pytest

import rushlight

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.filterwarnings("ignore:Sparse:UserWarning")  # PyTorch's, once a process

RESULTS = {
    "unsqueeze": lambda m, s: s.unsqueeze(0),
    "unsqueeze at the end": lambda m, s: s.unsqueeze(-1),
    "select": lambda m, s: s.select(1, 2),
    "select one element": lambda m, s: s.select(0, 0),
    "index": lambda m, s: s[0],
    "index_select": lambda m, s: s.index_select(0, m.tensor([1, 0])),
    "cat": lambda m, s: m.cat([s, s]),
    "stack": lambda m, s: m.stack([s, s]),
    "t": lambda m, s: s.t(),
    "neg": lambda m, s: -s,
    "sin": lambda m, s: s.sin(),
    "sum of two": lambda m, s: s + s,
    "times dense": lambda m, s: s * m.arange(6.0).reshape(2, 3),
    "smm": lambda m, s: m.smm(s, m.arange(6.0).reshape(3, 2)),
    "hspmm": lambda m, s: m.hspmm(s, m.arange(6.0).reshape(3, 2)),
    "sspaddmm": lambda m, s: m.sspaddmm(
        m.eye(2).to_sparse(), s, m.arange(6.0).reshape(3, 2), beta=2, alpha=3
    ),
    "method sspaddmm": lambda m, s: m.eye(2).to_sparse().sspaddmm(s, m.ones(3, 2)),
}


def _matrix(module, kind):
    rows, columns, elements = [0, 1, 1], [2, 0, 2], [3.0, -4.0, 5.0]
    if kind == "duplicates":
        rows, columns, elements = [0, 1, 1, 1], [2, 0, 0, 2], [3.0, -4.0, 1.0, 5.0]
    made = module.sparse_coo_tensor([rows, columns], elements, (2, 3))
    return made.coalesce() if kind == "coalesced" else made


@pytest.mark.parametrize("kind", ["coalesced", "sorted", "duplicates"])
@pytest.mark.parametrize("result", RESULTS)
def test_results_are_coalesced_where_pytorchs_are(result, kind):
    ours, theirs = (RESULTS[result](m, _matrix(m, kind)) for m in (rushlight, torch))
    assert ours.is_coalesced() == theirs.is_coalesced()
    assert ours._nnz() == theirs._nnz()
    assert ours.to_dense().tolist() == theirs.to_dense().tolist()


@pytest.mark.parametrize("count", [0, 1, 2])
def test_a_single_element_is_coalesced(count):
    made = [
        m.sparse_coo_tensor(m.zeros(1, count, dtype=m.int64), m.ones(count), (3,))
        for m in (rushlight, torch)
    ]
    assert made[0].is_coalesced() == made[1].is_coalesced() == (count < 2)


@pytest.mark.parametrize("hint", ["max", "min"])
def test_other_names_of_the_extremes(hint):
    found = []
    for module in (rushlight, torch):
        matrix = module.tensor([[0.0, 0.0, 3.0], [-4.0, 0.0, 5.0], [0.0, 0.0, 0.0]])
        matrix = matrix.to_sparse_csr().requires_grad_()
        out = module.sparse.mm(matrix, module.arange(6.0).reshape(3, 2), hint)
        out.sum().backward()
        found.append((out.tolist(), matrix.grad.to_dense().tolist()))
    assert found[0] == found[1]


def test_sspaddmm_gradients():
    elements = rushlight.tensor([3.0, -4.0, 5.0], requires_grad=True)
    dense = rushlight.arange(6.0).reshape(3, 2).requires_grad_()
    matrix = rushlight.sparse_coo_tensor([[0, 1, 1], [2, 0, 2]], elements, (2, 3))
    out = rushlight.sspaddmm(rushlight.eye(2).to_sparse(), matrix, dense, alpha=2)
    rushlight.sparse.sum(out).backward()
    assert elements.grad.tolist() == [18.0, 2.0, 18.0]
    assert dense.grad.tolist() == [[-8.0, -8.0], [0.0, 0.0], [16.0, 16.0]]


def test_what_sspaddmm_refuses():
    sparse, dense = _matrix(rushlight, "sorted"), rushlight.ones(3, 2)
    first = rushlight.eye(2).to_sparse()
    with pytest.raises(RuntimeError, match="expected 'mat1' to have sparse layout"):
        rushlight.sspaddmm(first, rushlight.ones(2, 3), dense)
    with pytest.raises(RuntimeError, match="expected 'input' to have sparse layout"):
        rushlight.sspaddmm(rushlight.eye(2), sparse, dense)
    with pytest.raises(RuntimeError, match="expected a dense mat2"):
        rushlight.sspaddmm(first, sparse, dense.to_sparse())
    with pytest.raises(RuntimeError, match=r"the product has shape \[2, 2\]"):
        rushlight.sspaddmm(rushlight.eye(3).to_sparse(), sparse, dense)
