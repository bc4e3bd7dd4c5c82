"""Masked tensors whose data and mask are sparse, in the layouts COO and CSR."""

import sys
from pathlib import Path

import pytest

import rushlight

torch = pytest.importorskip("torch")
sys.path.insert(0, str(Path(__file__).parent))

from carrying import DATA, MASK, both, carrying, same_error, same_text  # noqa: E402

LAYOUTS = ["to_sparse_coo", "to_sparse_csr"]
pytestmark = pytest.mark.filterwarnings("ignore:Sparse CSR tensor support is in beta")


def sparse(lib, layout, requires_grad=False, data=DATA, mask=MASK):
    return getattr(carrying(lib, data, mask, requires_grad), layout)()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_conversions(layout):
    both(lambda lib: sparse(lib, layout))
    both(lambda lib: sparse(lib, layout).to_dense())
    same_text(lambda lib: sparse(lib, layout))
    x = sparse(rushlight, layout)
    assert (x.is_sparse, x.is_sparse_coo(), x.is_sparse_csr()) == (
        True, layout == "to_sparse_coo", layout == "to_sparse_csr"
    )  # fmt: skip
    assert getattr(x, layout)() is x
    assert x.get_data().values().tolist() == [0.5, 2.0, 0.75, -6.0]
    assert x.get_mask().values().tolist() == [True] * 4
    assert x.to_tensor(9).tolist() == carrying(rushlight).to_tensor(9).tolist()


def test_between_sparse_layouts():
    both(lambda lib: sparse(lib, "to_sparse_coo").to_sparse_csr())
    both(lambda lib: carrying(lib).to_sparse())
    assert sparse(rushlight, "to_sparse_csr").to_sparse().is_sparse_coo()
    assert carrying(rushlight).to_sparse(layout=rushlight.sparse_csr).is_sparse_csr()
    with pytest.raises(ValueError, match="layout must be"):
        carrying(rushlight).to_sparse(layout=rushlight.strided)
    same_error(
        lambda lib: carrying(lib, [DATA], [MASK]).to_sparse_csr(),
        "Only 2D tensors can be converted to the SparseCsr layout",
    )


def test_zeros_that_count_are_kept():
    both(lambda lib: carrying(lib, [0.0, 1.0, 2.0], [True, False, True]).to_sparse())


SHAPES = {
    "number": (1.5, True),
    "hidden": (1.5, False),
    "row": ([1.0, 2.0], [False, True]),
    "cube": ([[[1.0, 2.0]], [[3.0, 4.0]]], [[[True, False]], [[True, True]]]),
}


@pytest.mark.parametrize("name", SHAPES)
def test_shapes(name):
    def program(lib):
        x = carrying(lib, *SHAPES[name], requires_grad=True)
        found = x.to_sparse()
        (found * 3).to_dense().sum().backward()
        return found, x.grad

    both(program)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_creation(layout):
    def program(lib):
        data = getattr(lib.tensor(DATA), layout)()
        mask = getattr(lib.tensor(MASK), layout)()
        return lib.masked.masked_tensor(data, mask)

    both(program)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_indices_must_be_the_same(layout):
    def program(lib):
        data = getattr(lib.tensor([[1.0, 0.0], [2.0, 0.0]]), layout)()
        mask = getattr(lib.tensor([[False, True], [True, False]]), layout)()
        return lib.masked.masked_tensor(data, mask)

    with pytest.raises(ValueError, match="not the same indices"):
        program(rushlight)
    same_error(program, "data and mask")


@pytest.mark.parametrize("layout", LAYOUTS)
def test_elementwise(layout):
    both(lambda lib: sparse(lib, layout).sin())
    both(lambda lib: sparse(lib, layout).abs().sqrt())
    both(lambda lib: sparse(lib, layout) + sparse(lib, layout))
    both(lambda lib: sparse(lib, layout) * 2)
    both(lambda lib: lib.mul(sparse(lib, layout), sparse(lib, layout).get_data()))
    x = sparse(rushlight, layout)
    assert x.neg_() is x
    assert x.to_tensor(0).tolist() == (-carrying(rushlight)).to_tensor(0).tolist()
    assert (x < x.abs()).to_tensor(True).tolist() == [[True, True, True], [True, True, False]]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_operands_that_do_not_match(layout):
    other = [[True, True, False], [False, True, True]]
    with pytest.raises(ValueError, match="masks must match"):
        sparse(rushlight, layout) + sparse(rushlight, layout, mask=other)
    with pytest.raises(ValueError, match="indices of both operands"):
        sparse(rushlight, layout) * getattr(rushlight.ones(2, 3), layout)()
    with pytest.raises(ValueError, match="to_dense"):
        sparse(rushlight, layout) * rushlight.ones(2, 3)
    same_error(lambda lib: sparse(lib, layout) + carrying(lib), "must have the same layout")


def test_moved_elements():
    both(lambda lib: sparse(lib, "to_sparse_coo")[1])
    both(lambda lib: lib.cat([sparse(lib, "to_sparse_coo")] * 2, 1))
    both(lambda lib: sparse(lib, "to_sparse_coo").t())
    both(lambda lib: sparse(lib, "to_sparse_coo").clone())


REDUCTIONS = ["sum", "mean", "prod", "amin", "amax", "std", "var"]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions(name, layout):
    both(lambda lib: getattr(sparse(lib, layout), name)())


@pytest.mark.parametrize("layout", LAYOUTS)
def test_positions(layout):
    """PyTorch gives those among the values for CSR."""
    for name in ("argmax", "argmin"):
        dense = getattr(carrying(rushlight), name)()
        assert repr(getattr(sparse(rushlight, layout), name)()) == repr(dense)
    both(lambda lib: sparse(lib, "to_sparse_coo").argmax())


@pytest.mark.parametrize("layout", LAYOUTS)
def test_what_needs_dense_elements(layout):
    same_error(lambda lib: sparse(lib, layout).sum(0), "")
    with pytest.raises(TypeError, match="to_dense"):
        sparse(rushlight, layout).amax(1)
    with pytest.raises(TypeError, match="to_dense"):
        sparse(rushlight, layout).softmax(1)
    with pytest.raises(ValueError, match="with sparse data do not have is_contiguous"):
        sparse(rushlight, layout).is_contiguous()
    with pytest.raises(ValueError, match="with sparse data do not have contiguous"):
        sparse(rushlight, layout).contiguous()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_gradients(layout):
    def dense(lib):
        x = carrying(lib, requires_grad=True)
        (getattr(x, layout)() * 2).to_dense().sum().backward()
        return x.grad

    both(dense)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_gradients_of_sparse_leaves(layout):
    def leaf(lib):
        start = sparse(lib, layout)
        x = lib.masked.masked_tensor(start.get_data(), start.get_mask(), requires_grad=True)
        x.sin().to_dense().sum().backward()
        return x.grad

    both(leaf)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_gradients_of_reductions(layout):
    """PyTorch has none of a sparse tensor's values; those of the dense one are the measure."""
    for name in ("sum", "mean", "prod", "std"):
        x, y = carrying(rushlight, requires_grad=True), carrying(rushlight, requires_grad=True)
        getattr(x, name)().backward()
        getattr(getattr(y, layout)(), name)().backward()
        assert repr(y.grad) == repr(x.grad)
