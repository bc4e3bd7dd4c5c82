"""Embeddings, single and in bags, against float64."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rushlight

torch = pytest.importorskip("torch")

from agreement import FLOATS, WIDE, differentiated, extents, is_low, same, twin  # noqa: E402
from drawn import close, examples, on_threads, tensors  # noqa: E402

WIDTHS = st.sampled_from((1, 2, 3, 4, 7, 8, 15, 16, 17, 32, 33, 64, 100, 300))


@st.composite
def tables(draw, kinds=FLOATS):
    """A table of some rows and their width, and its dtype."""
    rows, dtype = draw(st.sampled_from((1, 2, 5, 64, 1000))), draw(kinds)
    return draw(tensors((rows, draw(WIDTHS)), dtype, grad=True)), dtype


def lookups(data, rows, elements, dtypes=("int64",)):
    """An index of rows, of any number of dims, and a row that gets no gradient, or None."""
    shape = data.draw(extents(st.integers(0, 3), elements, 0))
    index = data.draw(tensors(shape, data.draw(st.sampled_from(dtypes)), 0, rows))
    return index, data.draw(st.one_of(st.none(), st.integers(-rows, rows - 1)))


@given(tables(), st.data())
@examples(55)
def test_embedding(table, data):
    """With rows that get no gradient and gradients divided by how often a row occurs."""
    weight, dtype = table
    index, padding = lookups(data, weight.shape[0], 1 << 11, ("int64", "int32"))
    often = data.draw(st.booleans())
    kept = index.to(rushlight.int64)

    def program(lib, w, i):
        call = lib.nn.functional.embedding
        return call(i, w, padding_idx=padding, scale_grad_by_freq=often)

    found, truth, above = differentiated(program, [weight, kept], data, dtype)
    same(found[0], program(torch, twin(weight), twin(kept)).detach())
    same(on_threads(lambda: program(rushlight, weight.detach(), index)), twin(found[0].detach()))
    flat = twin(kept).reshape(-1)
    sums = torch.zeros(weight.shape, dtype=torch.float64)
    sums = sums.index_add(0, flat, above.abs().reshape(flat.numel(), weight.shape[1]))
    most = int(torch.bincount(flat).max()) if flat.numel() else 1
    close(found[1], truth[1], sums, 4.0 + (2.0 if is_low(dtype) else most / 2))


@given(tables(), st.data())
@examples(40)
def test_sparse_gradients(table, data):
    """The same rows, in the same order, as PyTorch's sparse gradients have."""
    weight, dtype = table
    index, padding = lookups(data, weight.shape[0], 1 << 9)
    index = index.clone()
    if not index.ndim:
        padding = None  # PyTorch fails for one index
    top = data.draw(tensors((*index.shape, weight.shape[1]), dtype))

    def gradient(lib, w, i, up):
        out = lib.nn.functional.embedding(i, w, padding_idx=padding, sparse=True)
        (found,) = lib.autograd.grad(out, w, up)
        assert found.layout == lib.sparse_coo
        return found._indices(), found._values()

    found = on_threads(lambda: gradient(rushlight, weight, index, top))
    same(found, gradient(torch, twin(weight), twin(index), twin(top)))


@given(tables(WIDE), st.sampled_from(("sum", "mean", "max")), st.data())
@examples(55)
def test_bags(table, mode, data):
    """Bags of any sizes, some empty; padding; weights of every sample."""
    weight, dtype = table
    rows = weight.shape[0]
    flat = data.draw(st.booleans())
    if flat:
        count, bags = (
            data.draw(st.sampled_from((0, 1, 9, 200, 2000))),
            data.draw(st.integers(1, 40)),
        )
        cuts = sorted(
            data.draw(st.lists(st.integers(0, count), min_size=bags - 1, max_size=bags - 1))
        )
        offsets = rushlight.tensor([0, *cuts])
        index = data.draw(tensors((count,), "int64", 0, rows))
    else:
        offsets = None
        index = data.draw(tensors(data.draw(extents(2, 1 << 10)), "int64", 0, rows))
    padding = data.draw(st.one_of(st.none(), st.integers(0, rows - 1)))
    each = data.draw(tensors(tuple(index.shape), dtype, grad=True))
    each = each if mode == "sum" and data.draw(st.booleans()) else None

    def program(lib, w, i, o, e):
        call = lib.nn.functional.embedding_bag
        return call(i, w, o, mode=mode, per_sample_weights=e, padding_idx=padding)

    found, truth, above = differentiated(program, [weight, index, offsets, each], data, dtype)
    many = max(1, index.numel())
    most = float(above.abs().max()) if above.numel() else 0.0
    # a row that comes again and again is rounded to the same side each time
    close(found[0], truth[0], 4.0 * many if mode == "sum" else 4.0, 4.0 + many / 8)
    # the terms of a row come one after the other, perhaps all of one sign
    counts = torch.bincount(twin(index).reshape(-1), minlength=rows).double()
    terms = counts.max() if counts.numel() else torch.tensor(0.0)
    close(found[1], truth[1], 4.0 * most * counts.unsqueeze(1) + 1e-30, 8.0 + float(terms) / 2)
    if each is not None:
        width = weight.shape[1]
        close(found[2], truth[2], 4.0 * most * width, 8.0)
