"""Sorting, selection and searching in rows of any size, dtype and layout: equal to PyTorch's."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rushlight

torch = pytest.importorskip("torch")

from agreement import ODD, alike, differentiated, extents, same, twin, twin_of  # noqa: E402
from drawn import close, examples, on_threads, tensors  # noqa: E402

# Rows around those from which other ways sort: 100, 200, 600, 2048 and 131072 elements.
LENGTHS = st.sampled_from((1, 2, 3, 7, 15, 16, 17, 31, 64, 99, 100, 101, 199, 200, 201, 255, 257,
                           599, 600, 601, 1023, 2047, 2048, 2049, 4097))  # fmt: skip
LONG = st.sampled_from((131_071, 131_072, 131_073, 140_001))
KINDS = st.sampled_from(("float32", "float32", "float64", "int64", "int32", "bfloat16", "float16",
                         "uint8", "int8", "int16"))  # fmt: skip


SOUGHT = st.sampled_from(("float32", "float64", "int64", "int32"))


@st.composite
def rows(draw, kinds=KINDS, odd=True, distinct=False):
    """A tensor with one dim of some length and others around it, and that dim."""
    n = draw(LONG if draw(st.integers(0, 19)) == 7 else LENGTHS)
    around = draw(extents(st.integers(0, 3), max(1, min(64, 20_000 // n))))
    at = draw(st.integers(0, len(around)))
    shape = (*around[:at], n, *around[at:])
    dtype = draw(kinds)
    if "int" in dtype:
        low, high = draw(
            st.sampled_from(((0, 4), (0, 100)) + (() if "8" in dtype else ((-9999, 9999),)))
        )
        return draw(tensors(shape, dtype, low, high)), at
    x = draw(tensors(shape, dtype, odd=ODD if odd else ()))
    if not distinct and draw(st.booleans()):
        x = (x * 2).round()
    return x, at - len(shape) * draw(st.integers(0, 1))


@given(rows(), st.booleans(), st.data())
@examples(45)
def test_sort(where, descending, data):
    """Stable: equal elements keep their order, NaN is the largest."""
    x, dim = where
    call = lambda lib, t: tuple(lib.sort(t, dim=dim, descending=descending, stable=True))  # noqa: E731
    alike(call, x)
    alike(lambda lib, t: lib.argsort(t, dim=dim, descending=descending, stable=True), x)


@given(rows(st.sampled_from(("float32", "float64"))), st.data())
@examples(50)
def test_gradients_of_sort(where, data):
    x, dim = where
    x = x.detach().requires_grad_()
    dtype = "float32" if x.dtype == rushlight.float32 else "float64"
    down = data.draw(st.booleans())
    program = lambda lib, t: lib.sort(t, dim=dim, descending=down, stable=True)[0]  # noqa: E731
    found, truth, _ = differentiated(program, [x], data, dtype)
    close(found[1], truth[1], truth[1].abs(), 1.0)


@given(rows(st.sampled_from(("float32", "float32", "float64", "int64", "bfloat16"))), st.data())
@examples(110)
def test_largest_and_smallest(where, data):
    """topk: values are PyTorch's, and stand where its indices say."""
    x, dim = where
    n = x.shape[dim]
    k = data.draw(st.sampled_from((1, 2, 5, 63, 64, 65, n // 2, n)).filter(lambda k: k <= n))
    largest = data.draw(st.booleans())
    values, places = on_threads(lambda: tuple(rushlight.topk(x, k, dim, largest)))
    same(values, torch.topk(twin(x), k, dim, largest)[0])
    same(values, twin(x).gather(dim, twin(places)))
    assert n < 2 or all(
        len(set(row)) == k for row in places.movedim(dim, -1).reshape(-1, k)[:20].tolist()
    )


@given(rows(), st.data())
@examples(90)
def test_elements_of_a_rank(where, data):
    """kthvalue, median, nanmedian, mode: their values, and indices that stand for them."""
    x, dim = where
    n = x.shape[dim]
    k = data.draw(st.sampled_from((1, n, (n + 1) // 2, max(1, n - 1))))
    programs = (
        lambda lib, t: tuple(lib.kthvalue(t, k, dim)),
        lambda lib, t: tuple(lib.median(t, dim)),
        lambda lib, t: tuple(lib.nanmedian(t, dim)),
    )
    for program in programs:
        values, places = on_threads(lambda p=program: p(rushlight, x))
        same(values, program(torch, twin(x))[0])
        same(values, twin(x).gather(dim, twin(places).unsqueeze(dim)).squeeze(dim))


@given(rows(odd=False), st.data())
@examples(50)
def test_most_frequent(where, data):
    x, dim = where
    values, places = on_threads(lambda: tuple(rushlight.mode(x, dim)))
    same(values, torch.mode(twin(x), dim)[0])
    same(values, twin(x).gather(dim, twin(places).unsqueeze(dim)).squeeze(dim))


@given(rows(SOUGHT, odd=False), st.booleans(), st.data())
@examples(70)
def test_search(where, right, data):
    """searchsorted in rows and in one sequence, bucketize; NaN among what is sought."""
    x, dim = where
    if data.draw(st.booleans()):
        sequence = x.flatten()[:3000].sort()[0]
        shape = data.draw(extents(st.integers(0, 3), 1 << 13, 0))
    else:
        sequence = x.movedim(dim, -1).sort(-1)[0]
        shape = (*sequence.shape[:-1], data.draw(st.sampled_from((1, 3, 17, 64, 300))))
    dtype = str(x.dtype).rpartition(".")[2]
    values = data.draw(tensors(shape, dtype, *((0, 100) if "int" in dtype else ()),
                               odd=() if "int" in dtype else ODD))  # fmt: skip
    if data.draw(st.booleans()):
        values = values.round() if "float" in dtype else values
    alike(lambda lib, s, v: lib.searchsorted(s, v, right=right), sequence, values)
    if sequence.dim() == 1:
        alike(lambda lib, s, v: lib.bucketize(v, s, right=right), sequence, values)


@given(rows(odd=False), st.data())
@examples(30)
def test_unique(where, data):
    x, _ = where
    more = {"return_inverse": True, "return_counts": True}
    alike(lambda lib, t: tuple(lib.unique(t, **more)), x)
    alike(lambda lib, t: tuple(lib.unique_consecutive(t, **more)), x)
    if x.dim() > 1 and x.numel() < 5000:
        d = data.draw(st.integers(0, x.dim() - 1))
        alike(lambda lib, t: tuple(lib.unique(t, dim=d, **more)), x)


@given(st.data())
@examples(60)
def test_counts(data):
    """bincount with and without weights, histc."""
    n = data.draw(st.sampled_from((0, 1, 7, 100, 1000, 40_001)))
    kind = data.draw(st.sampled_from(("int64", "int32", "uint8")))
    x = data.draw(tensors((n,), kind, 0, data.draw(st.sampled_from((1, 9, 100)))))
    least = data.draw(st.sampled_from((0, 5, 300)))
    alike(lambda lib, t: lib.bincount(t, minlength=least), x)
    weight = data.draw(tensors((n,), "float32", 0.0, 1.0))
    found = on_threads(lambda: rushlight.bincount(x, weight, least))
    truth = torch.bincount(twin_of(x), twin_of(weight).double(), least)
    close(found, truth.to(torch.float64), truth.abs(), 4.0 + n**0.5)
    if n:
        values = data.draw(tensors((n,), "float32", -3.0, 3.0))
        bins = data.draw(st.sampled_from((1, 10, 64)))
        alike(lambda lib, t: lib.histc(t.double(), bins, -2, 2), values)
