"""Sparse operations that came later, their graph nodes and gradients, compared with PyTorch."""

from __future__ import annotations

import pytest

import rushlight

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.filterwarnings("ignore:Sparse:UserWarning")  # PyTorch's, once a process


def sorted_places(L):
    places = L.tensor([[0, 1, 1, 2], [2, 0, 2, 1]])
    return L.sparse_coo_tensor(places, L.tensor([1.5, 2.0, 3.0, 4.0]), (3, 3)).coalesce()


def repeated_places(L):
    places = L.tensor([[1, 0, 1, 1], [2, 0, 2, 1]])
    return L.sparse_coo_tensor(places, L.tensor([1.5, 2.0, 3.0, 4.0]), (3, 3))


def rows_of_vectors(L):
    return L.sparse_coo_tensor([[1, 0], [2, 0]], L.arange(4.0).reshape(2, 2) + 1, (3, 3, 2))


def nothing(L):
    return L.sparse_coo_tensor(L.zeros(2, 0, dtype=L.int64), L.zeros(0), (3, 3))


COO = {f.__name__: f for f in (sorted_places, repeated_places, rows_of_vectors, nothing)}


def parts(value):
    """A tensor of any layout as plain values."""
    if isinstance(value, tuple | list):
        return [parts(v) for v in value]
    if not isinstance(value, torch.Tensor | rushlight.Tensor):
        return value
    value = value.detach()
    layout = str(value.layout).rpartition(".")[2]
    head = [layout, str(value.dtype).rpartition(".")[2], tuple(value.shape)]
    if layout == "strided":
        return [*head, value.tolist()]
    if layout == "sparse_coo":
        found = [value.is_coalesced(), value._indices().tolist(), value._values().tolist()]
        return head + found
    rows = layout in ("sparse_csr", "sparse_bsr")
    first, second = ("crow", "col") if rows else ("ccol", "row")
    indices = [getattr(value, f"{name}_indices")().tolist() for name in (first, second)]
    return [*head, *indices, value.values().tolist()]


CALLS = {
    "floor_divide": lambda L, x: [x // 2, L.floor_divide(x, 2)],
    "negative exponent": lambda L, x: x**-1,
    "keepdim": lambda L, x: [x.sum(0, keepdim=True), x.sum(1, keepdim=True, dtype=L.float64)],
    "keepdim of all": lambda L, x: x.sum((0, 1), keepdim=True),
    "a new dimension": lambda L, x: [x[None], x[None, 1], x[..., None, :]],
    "new_zeros": lambda L, x: [x.new_zeros(2, 3), x.new_zeros((2,), dtype=L.int64)],
    "new_zeros strided": lambda L, x: x.new_zeros(2, 3, layout=L.strided),
    "new_empty": lambda L, x: x.new_empty(2, 3),
    "to strided": lambda L, x: x.to_sparse(layout=L.strided),
    "resize_as_sparse_": lambda L, x: L.sparse_coo_tensor(size=(2, 2)).resize_as_sparse_(x),
    "transpose": lambda L, x: [x.transpose(0, 1), x.permute(1, 0, *range(2, x.dim()))],
    "mask": lambda L, x: x.sparse_mask(x),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("made", COO)
def test_like_torch(name, made):
    call = CALLS[name]
    assert parts(call(rushlight, COO[made](rushlight))) == parts(call(torch, COO[made](torch)))


def test_along_dense_dimensions():
    def joined(L):
        x = rows_of_vectors(L)
        return L.cat([x, x * 2], -1)

    assert parts(joined(rushlight)) == parts(joined(torch))


COMPRESSED = {
    "csr": lambda L: sorted_places(L).to_sparse_csr(),
    "csc": lambda L: sorted_places(L).to_sparse_csc(),
    "bsr": lambda L: L.arange(16.0).reshape(4, 4).to_sparse_bsr((2, 2)),
    "bsc": lambda L: L.arange(16.0).reshape(4, 4).to_sparse_bsc((2, 2)),
}
OF_COMPRESSED = {
    "full_like": (COMPRESSED, lambda L, x: L.full_like(x, 2.5)),
    "add_": (COMPRESSED, lambda L, x: [x.add_(x), x.add_(x, alpha=2)]),
    "normal_": (COMPRESSED, lambda L, x: (L.manual_seed(3), x.normal_())[1]._nnz()),
    "keepdim": ("csr", lambda L, x: [x.sum(0, keepdim=True), x.sum((0, 1), keepdim=True)]),
    "resize_": (("csr", "csc"), lambda L, x: x.resize_(5, 5)),
    "new_zeros": (("csr", "csc"), lambda L, x: x.new_zeros(2, 3)),
    "unbind": (("csc",), lambda L, x: x.unbind(0)),
}


@pytest.mark.parametrize("name", OF_COMPRESSED)
@pytest.mark.parametrize("layout", COMPRESSED)
def test_compressed_like_torch(name, layout):
    layouts, call = OF_COMPRESSED[name]
    if layout in layouts:
        made = COMPRESSED[layout]
        assert parts(call(rushlight, made(rushlight))) == parts(call(torch, made(torch)))


NODES = {
    "add": lambda L, x: x + x,
    "mul": lambda L, x: x * 2,
    "div": lambda L, x: x / 2,
    "neg": lambda L, x: -x,
    "mm": lambda L, x: x @ L.ones(3, 2),
    "product of two": lambda L, x: L.sparse.mm(x, x),
    "transpose": lambda L, x: x.transpose(0, 1),
    "unsqueeze": lambda L, x: x.unsqueeze(0),
    "double": lambda L, x: x.double(),
    "to_dense": lambda L, x: x.to_dense(masked_grad=False),
    "clone": lambda L, x: x.clone(),
    "element": lambda L, x: x[1, 2],
    "mask": lambda L, x: x.sparse_mask(x.detach()),
    "sum": lambda L, x: x.sum(),
    "sparse sum": lambda L, x: L.sparse.sum(x),
    "values": lambda L, x: x.values(),
}


@pytest.mark.parametrize("name", NODES)
def test_names_of_nodes(name):
    ours, theirs = (
        NODES[name](L, sorted_places(L).requires_grad_()).grad_fn for L in (rushlight, torch)
    )
    assert ours.name() == theirs.name()


@pytest.mark.parametrize("first", ["sorted_places", "repeated_places"])
@pytest.mark.parametrize("same", [False, True])
def test_product_of_two(first, same):
    def gradients(L):
        x = COO[first](L).coalesce().requires_grad_()
        y = x if same else sorted_places(L).t().coalesce().requires_grad_()
        (L.sparse.mm(x, y).to_dense() ** 2).sum().backward()
        return [x.grad, y.grad]

    assert parts(gradients(rushlight)) == parts(gradients(torch))


@pytest.mark.parametrize("name", ["abs_", "sin_", "sqrt_", "relu_", "floor_"])
def test_in_place_needs_sorted_places(name):
    for L in (rushlight, torch):
        with pytest.raises(RuntimeError, match="requires coalesced input"):
            getattr(repeated_places(L), name)()
    assert getattr(sorted_places(rushlight), name)().is_coalesced()


def test_refusals():
    with pytest.raises(RuntimeError, match="cannot become smaller"):
        COMPRESSED["csr"](rushlight).resize_(2, 2)
    with pytest.raises(NotImplementedError, match="resize_ of blocks"):
        COMPRESSED["bsr"](rushlight).resize_(6, 6)
    with pytest.raises(NotImplementedError, match="layout"):
        sorted_places(rushlight).new_ones(2, 2)
    with pytest.raises(RuntimeError, match="exponent must not be 0"):
        sorted_places(rushlight) ** 0


@pytest.mark.parametrize("dtype", ["int32", "uint8", "bool", "int64"])
def test_dtype_of_sums_of_integers(dtype):
    def sums(L):
        x = sorted_places(L).to(getattr(L, dtype))
        return [L.sparse.sum(x, 0), x.sum(0), L.sparse.sum(x), x.sum()]

    assert parts(sums(rushlight)) == parts(sums(torch))


def test_printing_of_blocks():
    ours, theirs = (repr(L.eye(4).to_sparse_bsr((2, 2))) for L in (rushlight, torch))
    assert ours == theirs.replace("torch.", "rushlight.")
