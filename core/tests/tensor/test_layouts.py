"""Functions that make tensors do what their `layout` says, or refuse it."""

from __future__ import annotations

import pickle

import pytest

import rushlight

torch = pytest.importorskip("torch")


@pytest.mark.filterwarnings("ignore:Sparse C")  # PyTorch: in beta
@pytest.mark.parametrize("layout", ["sparse_coo", "sparse_csr", "sparse_csc"])
@pytest.mark.parametrize("name", ["zeros", "empty", "zeros_like"])
def test_sparse_tensors_without_elements(name, layout):
    found = []
    for library in (rushlight, torch):
        given = (library.ones(2, 3),) if name.endswith("_like") else (2, 3)
        made = getattr(library, name)(
            *given, layout=getattr(library, layout), dtype=library.float64, requires_grad=True
        )
        found.append(
            (str(made.layout).partition(".")[2] or str(made.layout), tuple(made.shape),
             made.values().shape[0] if layout != "sparse_coo" else made._nnz(),
             str(made.dtype).partition(".")[2], made.requires_grad, made.to_dense().sum().item())
        )  # fmt: skip
    assert found[0] == found[1] == (layout, (2, 3), 0, "float64", True, 0.0)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("ones", (2,)), ("full", ((2,), 1.0)), ("rand", (2,)), ("randn", (2,)),
        ("randint", (3, (2,))), ("arange", (3,)), ("eye", (3,)), ("linspace", (0, 1, 3)),
        ("ones_like", None), ("full_like", None), ("rand_like", None), ("randn_like", None),
    ],
)  # fmt: skip
def test_other_functions_refuse(name, arguments):
    for library in (rushlight, torch):
        given = arguments
        if name.endswith("_like"):
            given = (library.ones(2, 2), 2.0)[: 2 if name == "full_like" else 1]
        call, expected = getattr(library, name), (RuntimeError, TypeError)
        with pytest.raises(expected) as caught:
            call(*given, layout=library.sparse_coo)
        assert call(*given, layout=library.strided).layout == library.strided
        if library is rushlight:
            assert f"{name}: only tensors of the layout" in str(caught.value)


def test_layouts_print_as_pytorch_prints_them():
    torch = pytest.importorskip("torch")
    names = "strided sparse_coo sparse_csr sparse_csc sparse_bsr sparse_bsc jagged"
    for name in names.split():
        ours, theirs = getattr(rushlight, name), getattr(torch, name)
        for text in (str, repr, format):
            assert text(ours) == text(theirs).replace("torch", "rushlight")
        assert ours == name == ours.name and type(ours.name) is str
        assert pickle.loads(pickle.dumps(ours)) == ours
        assert f"{ours:>30}" == f"rushlight.{name}".rjust(30)
