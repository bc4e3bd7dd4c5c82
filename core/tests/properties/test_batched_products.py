"""Products of batches, with vectors, with something added, of strides that are multiples of pages,
and sums of products by name, against float64."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

torch = pytest.importorskip("torch")

from drawn import Layout, examples, sizes, tensors  # noqa: E402
from families import judged, sprinkled  # noqa: E402

DTYPES = st.sampled_from(("float32", "float32", "float32", "float64", "bfloat16", "float16"))


def work(*sizes):
    return math.prod(sizes) <= 2_000_000


@st.composite
def batches(draw):
    """Batch dims of two operands that broadcast."""
    dims = draw(st.integers(0, 3))
    whole = tuple(
        draw(st.integers(0 if draw(st.integers(0, 9)) == 0 else 1, 4)) for _ in range(dims)
    )
    left, right = (
        tuple(1 if draw(st.integers(0, 3)) == 0 else n for n in whole)[draw(st.integers(0, dims)) :]
        for _ in "ab"
    )
    return left, right, whole


@given(st.data())
@examples(50)
def test_matmul(data):
    left, right, whole = data.draw(batches())
    m, n, k = data.draw(
        st.tuples(*[sizes(100, 0)] * 3).filter(lambda s: work(*s, *[max(1, b) for b in whole]))
    )
    dtype = data.draw(DTYPES)
    a, b = (*left, m, k), (*right, k, n)
    if data.draw(st.integers(0, 4)) == 0:
        a = (k,)
    elif data.draw(st.integers(0, 4)) == 0:
        b = (k,)
    a, b = (data.draw(tensors(shape, dtype, grad=True)) for shape in (a, b))
    many = math.prod(max(1, size) for size in whole)
    # in 16 bits gradients of what is broadcast are sums of rounded ones
    roundings = 1 if many > 1 else 0
    terms = (k, n * many, m * many)
    judged(data, lambda lib, a, b: a @ b, (a, b), terms, roundings=(0, roundings, roundings))


@given(st.data())
@examples(30)
def test_bmm(data):
    m, n, k = data.draw(st.tuples(*[sizes(150, 0)] * 3).filter(lambda s: work(*s, 3)))
    count, dtype = data.draw(st.integers(0, 6)), data.draw(DTYPES)
    a = data.draw(tensors((count, m, k), dtype, grad=True))
    b = data.draw(tensors((count, k, n), dtype, grad=True))
    judged(data, lambda lib, a, b: lib.bmm(a, b), (a, b), (k, n, m))


@given(st.data())
@examples(12)
def test_pairs(data):
    """bfloat16, of which two neighbours are multiplied at once where there are instructions."""
    m, n, k = data.draw(
        st.tuples(*[sizes(200)] * 3).filter(lambda s: 10_000 < math.prod(s) and work(*s))
    )
    k += k % 2
    count = data.draw(st.sampled_from(((), (), (1,), (3,))))
    a = data.draw(tensors((*count, m, k), "bfloat16", grad=True))
    b = data.draw(tensors((*count, k, n), "bfloat16", grad=True))
    judged(data, lambda lib, a, b: a @ b, (a, b), (k, n, m))


NUMBERS = st.sampled_from((1, 1, 0.5, 2.0, 0, -1.5))


@pytest.mark.parametrize("name", ["addmm", "baddbmm", "addmv", "addbmm"])
@given(st.data())
@examples(30)
def test_sums_of_products(name, data):
    least = int(name == "addmv")  # PyTorch's shapes of empty ones are not those of its rules
    m, n, k = data.draw(st.tuples(*[sizes(100, least)] * 3).filter(lambda s: work(*s, 3)))
    count = (data.draw(st.integers(1, 4)),) if "bmm" in name else ()
    dtype = data.draw(st.sampled_from(("float32", "float32", "float64")))
    a = data.draw(tensors((*count, m, k), dtype, grad=True))
    b = data.draw(tensors((k,) if name == "addmv" else (*count, k, n), dtype, grad=True))
    whole = {"addmv": (m,), "addbmm": (m, n)}.get(name, (*count, m, n))
    shape = tuple(1 if data.draw(st.integers(0, 4)) == 0 else s for s in whole)
    shape = shape[data.draw(st.integers(0, len(shape))) :]
    input = data.draw(tensors(shape, dtype, grad=True))
    beta, alpha = data.draw(NUMBERS), data.draw(NUMBERS)

    def compute(lib, input, a, b):
        return getattr(lib, name)(input, a, b, beta=beta, alpha=alpha)

    many = count[0] if count else 1
    terms = (k * many + 1, m * n * many, n, m)
    judged(data, compute, (input, a, b), terms, by_element=False)


@given(st.data())
@examples(50)
def test_linear(data):
    lead = data.draw(st.sampled_from(((), (1,), (5,), (64,), (3, 7), (2, 3, 4), (0,), (200,))))
    k, n = data.draw(sizes(300, 0)), data.draw(sizes(300, 0))
    dtype = data.draw(DTYPES)
    x = data.draw(tensors((*lead, k), dtype, grad=True))
    w = data.draw(tensors((n, k), dtype, grad=True))
    bias = data.draw(tensors((n,), dtype, grad=True)) if data.draw(st.booleans()) else None
    rows = math.prod(lead)

    def compute(lib, x, w, bias):
        return lib.nn.functional.linear(x, w, bias)

    terms = (k, n, rows, rows)[: 3 + (bias is not None)]
    judged(data, compute, (x, w, bias), terms)


@given(st.data())
@examples(50)
def test_lines(data):
    """One row or one column: vectors, which need not be dense, times matrices."""
    k = data.draw(st.one_of(sizes(600, 0), st.integers(1, 3000)))
    n = data.draw(st.one_of(sizes(200, 0), st.just(1)))
    dtype = data.draw(DTYPES)
    kind = data.draw(st.sampled_from(("mv", "row", "column", "vector", "dot")))
    shapes = {"mv": ((n, k), (k,)), "row": ((1, k), (k, n)), "column": ((n, k), (k, 1)),
              "vector": ((k,), (k, n)), "dot": ((k,), (k,))}[kind]  # fmt: skip
    a, b = (data.draw(tensors(shape, dtype, grad=True)) for shape in shapes)
    judged(data, lambda lib, a, b: lib.matmul(a, b), (a, b), (k, n, n))


@given(st.data())
@examples(25)
def test_strides_of_pages(data):
    """Rows that lie multiples of 4096 bytes apart."""
    dtype = data.draw(st.sampled_from(("float32", "float32", "float64")))
    page = 4096 // (4 if dtype == "float32" else 8)
    m, n, k = data.draw(st.tuples(*[sizes(130)] * 3))
    made = []
    for shape in ((m, k), (k, n)):
        turned, offset = data.draw(st.booleans()), data.draw(st.integers(0, 5))
        inside = shape[::-1] if turned else shape
        row = page * data.draw(st.sampled_from((1, 1, 2)))
        big = data.draw(tensors((inside[0], row), dtype, layout=Layout((0, 1), 1, 0)))
        view = big[:, offset : offset + inside[1]]
        made.append((view.T if turned else view).detach().requires_grad_())
    judged(data, lambda lib, a, b: a @ b, made, (k, n, m))


@given(st.data())
@examples(8)
def test_large(data):
    """Products that threads share, and parts of packed operands."""
    m, n, k = data.draw(
        st.tuples(*[st.one_of(st.integers(200, 900), st.integers(1, 40))] * 3)
        .filter(lambda s: 3_000_000 < math.prod(s) <= 60_000_000)
    )  # fmt: skip
    a, b = data.draw(tensors((m, k), grad=True)), data.draw(tensors((k, n), grad=True))
    judged(data, lambda lib, a, b: a @ b, (a, b), (k, n, m))


PAIRS = (
    "ij,jk->ik",
    "bij,bjk->bik",
    "bij,bkj->bik",
    "ij,ij->",
    "ij,kl->ijkl",
    "bhqd,bhkd->bhqk",
    "i,j->ij",
    "bij,jk->bik",
    "ij,j->i",
    "bi,bi->b",
    "bi,ij->bj",
    "abc,cd->abd",
    "ijk,kj->i",
    "bchw,oc->bohw",
    "aij,bij->ab",
    "ab,cb->ca",
    "ij,ij->ij",
    "ij,ij->ji",
    "ab,ac->bc",
)


@given(st.data())
@examples(50)
def test_einsum(data):
    equation, dtype = data.draw(st.sampled_from(PAIRS)), data.draw(DTYPES)
    operands, out = equation.split("->")
    names = sorted(set(equation) - set(",->"))
    size = {name: data.draw(sizes(20)) for name in names}
    given = [
        data.draw(tensors(tuple(size[name] for name in part), dtype, grad=True))
        for part in operands.split(",")
    ]

    def compute(lib, *given):
        return lib.einsum(equation, *given)

    terms = [
        math.prod(n for name, n in size.items() if name not in part)
        for part in (out, *operands.split(","))
    ]
    judged(data, compute, given, terms)


@given(st.data())
@examples(25)
def test_values_that_are_not_finite(data):
    m, n, k = data.draw(st.tuples(*[sizes(70)] * 3))
    count = data.draw(st.sampled_from(((), (2,), (5,))))
    dtype = data.draw(st.sampled_from(("float32", "float64")))
    a = data.draw(tensors((*count, m, k), dtype, grad=True))
    b = data.draw(tensors((*count, k, n), dtype, grad=True))
    sprinkled(a, data.draw(st.integers(0, 1000)))
    judged(data, lambda lib, a, b: a @ b, (a, b), (k, n, m), by_element=False)
