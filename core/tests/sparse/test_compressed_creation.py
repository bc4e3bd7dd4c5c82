"""Compressed layouts: constructors, checks, gradients, files, copies and text, as PyTorch's."""

from __future__ import annotations

import copy
import io
import pickle
import sys
from pathlib import Path

import pytest

import rushlight

sys.path.insert(0, str(Path(__file__).parent))
from comparison import compare, plain, torch
from compressed import LAYOUTS, dense, made, vectors

ARGUMENTS = {
    "csr": ([0, 2, 3], [0, 2, 1], [1.0, 2.0, 3.0]),
    "csc": ([0, 2, 3], [0, 2, 1], [1.0, 2.0, 3.0]),
    "bsr": ([0, 1, 2], [1, 0], [[[1.0, 2, 3], [4, 5, 6]], [[7, 8, 9], [1, 2, 3]]]),
    "bsc": ([0, 1, 2], [1, 0], [[[1.0, 2, 3], [4, 5, 6]], [[7, 8, 9], [1, 2, 3]]]),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_constructors(layout):
    first, second, values = ARGUMENTS[layout]

    def run(L):
        def tensors(kind):
            return L.tensor(first, dtype=kind), L.tensor(second, dtype=kind)

        function = getattr(L, f"sparse_{layout}_tensor")
        x = function(*tensors(L.int64), L.tensor(values))
        sized = function(*tensors(L.int32), L.tensor(values), x.shape, dtype=L.float64)
        general = L.sparse_compressed_tensor(
            *tensors(L.int64), L.tensor(values), layout=getattr(L, f"sparse_{layout}")
        )
        elements = L.tensor(values)
        batch = function(
            *[t.expand(2, 3, -1) for t in tensors(L.int64)], elements.expand(2, 3, *elements.shape)
        )
        return x, sized, general, batch, batch.to_dense(), x.to_dense(), tuple(x.shape)

    compare(run)


WRONG = {
    "starts do not begin with 0": ([1, 2, 3], [0, 2, 1]),
    "starts do not end with nnz": ([0, 2, 2], [0, 2, 1]),
    "starts fall": ([0, 4, 3], [0, 2, 1]),
    "out of range": ([0, 2, 3], [0, 7, 1]),
    "negative": ([0, 2, 3], [0, -1, 1]),
    "not sorted": ([0, 2, 3], [2, 0, 1]),
    "twice": ([0, 2, 3], [2, 2, 1]),
}


@pytest.mark.parametrize("layout", ("csr", "csc"))
@pytest.mark.parametrize("name", WRONG)
def test_invariants(name, layout):
    first, second = WRONG[name]
    size = (2, 3) if layout == "csr" else (3, 2)
    for library in (torch, rushlight):
        function = getattr(library, f"sparse_{layout}_tensor")
        parts = [library.tensor(v) for v in (first, second, [1.0, 2.0, 3.0])]
        with pytest.raises(RuntimeError):
            function(*parts, size, check_invariants=True)
        with library.sparse.check_sparse_tensor_invariants(), pytest.raises(RuntimeError):
            function(*parts, size)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_shapes_that_do_not_fit(layout):
    first, second, values = ARGUMENTS[layout]
    wrong = (
        (first, second[:-1], values, None), (first[:-1], second, values, (4, 4)),
        (first, second, values, (5, 5)), (first, second, values, (4,)),
        ([first], second, values, None), (first, second, 1.0, None),
    )  # fmt: skip
    for *parts, size in wrong:
        for library in (torch, rushlight):
            function = getattr(library, f"sparse_{layout}_tensor")
            sizes = () if size is None else (size,)
            with pytest.raises(RuntimeError):
                function(*[library.tensor(p) for p in parts], *sizes, check_invariants=True)
    with pytest.raises(RuntimeError, match="int32 or int64"):
        function(rushlight.tensor([0.0, 1.0]), rushlight.tensor([0]), rushlight.tensor([1.0]))
    with pytest.raises(RuntimeError, match="layout"):
        rushlight.sparse_compressed_tensor([0, 1], [0], [1.0])
    with pytest.raises(RuntimeError, match="layout"):
        rushlight.sparse_compressed_tensor([0, 1], [0], [1.0], layout=rushlight.sparse_coo)


GRADIENTS = {
    "mm": lambda L, x, y: x.mm(y),
    "dense first": lambda L, x, y: y.t() @ x.t(),
    "vector": lambda L, x, y: x @ y[:, 0],
    "addmm": lambda L, x, y: L.addmm(L.ones(6, 3), x, y, alpha=2),
    "dense": lambda L, x, y: x.to_dense() @ y,
    "transposed": lambda L, x, y: y.t() @ x.transpose(0, 1).to_dense(),
    "unary": lambda L, x, y: L.sin(x).to_dense() @ y,
    "scaled": lambda L, x, y: (x * 3).to_dense() @ y,
}


@pytest.mark.parametrize("layout", ("csr", "csc", "bsr"))
@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients(name, layout):
    """Of the elements and of the dense operand, against those of the dense matrix."""
    y = vectors(rushlight, 4, 3).requires_grad_()
    x = made(rushlight, layout, grad=True)
    out = GRADIENTS[name](rushlight, x, y)
    weight = vectors(rushlight, *out.shape).cos()
    (out * weight).sum().backward()
    product = name in ("mm", "dense first", "vector", "addmm")
    assert x.grad.layout == ("strided" if product else x.layout)

    z, full = vectors(rushlight, 4, 3).requires_grad_(), dense(rushlight).requires_grad_()
    (GRADIENTS[name](rushlight, full, z) * weight).sum().backward()
    assert rushlight.allclose(y.grad, z.grad, atol=1e-5)
    places = rushlight.ones_like(x).to_dense()
    expected = full.grad if product else full.grad * places
    assert rushlight.allclose(x.grad.to_dense(), expected, atol=1e-5)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_gradients_of_conversions(layout):
    """Back to a dense leaf through the change of layouts, at the places that have an element."""
    blocks = [(2, 2)] if layout in ("bsr", "bsc") else []
    x = dense(rushlight).requires_grad_()
    weight = vectors(rushlight, 6, 4)
    y = getattr(x, f"to_sparse_{layout}")(*blocks)
    (y.to_dense() * weight).sum().backward()
    assert rushlight.equal(x.grad, weight * (x.detach() != 0))
    x.grad = None
    coo = x.to_sparse()
    (getattr(coo, f"to_sparse_{layout}")(*blocks).to_dense() * weight).sum().backward()
    assert rushlight.equal(x.grad, weight * (x.detach() != 0))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("batched", [False, True])
def test_files_go_both_ways(layout, batched):
    buffer = io.BytesIO()
    rushlight.save({"x": made(rushlight, layout, batched)}, buffer)
    buffer.seek(0)
    there = torch.load(buffer, weights_only=True)["x"]
    assert plain(there)[:2] == plain(made(torch, layout, batched))[:2]
    assert torch.equal(there.to_dense(), dense(torch, batched))
    buffer = io.BytesIO()
    torch.save({"x": made(torch, layout, batched)}, buffer)
    buffer.seek(0)
    back = rushlight.load(buffer)["x"]
    assert back.layout == f"sparse_{layout}"
    assert rushlight.equal(back.to_dense(), dense(rushlight, batched))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_copies_and_text(layout):
    x = made(rushlight, layout, True)
    for y in (copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        assert y.layout == x.layout and rushlight.equal(y.to_dense(), x.to_dense())
        assert rushlight.equal(y.values(), x.values())
    for batched in (False, True):
        text = repr(made(torch, layout, batched)).replace("torch.", "rushlight.")
        assert repr(made(rushlight, layout, batched)).split() == text.split()
    rushlight.testing.assert_close(made(rushlight, layout), made(rushlight, layout))
    with pytest.raises(AssertionError, match=layout.upper()):
        rushlight.testing.assert_close(made(rushlight, layout), made(rushlight, layout) * 2)
