"""Scaled dot product attention of any lengths, widths, masks and layouts against float64."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

torch = pytest.importorskip("torch")

from drawn import as_tensor, close, exact, examples, layouts, on_threads, sizes, tensors  # noqa: E402
from families import bounded, size_of  # noqa: E402

import rushlight  # noqa: E402

DTYPES = st.sampled_from(("float32", "float32", "float32", "float64", "bfloat16", "float16"))


@st.composite
def masks(draw, batch, heads, length, keys):
    """A mask that broadcasts, or None; every row sees something unless it is all blind."""
    kind = draw(st.sampled_from(("none", "none", "bool", "added")))
    if kind == "none":
        return None
    shape = (batch, heads, length, keys)
    shape = tuple(1 if draw(st.integers(0, 3)) == 0 else n for n in shape)
    shape = shape[draw(st.sampled_from((0, 0, 2))) :]
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    seen = rng.random(shape) < draw(st.sampled_from((0.1, 0.5, 0.9)))
    seen[..., :1] = True
    if kind == "bool":
        return rushlight.from_numpy(seen)
    values = np.where(seen, rng.standard_normal(shape), draw(st.sampled_from((-math.inf, -3.0))))
    return as_tensor(draw(layouts(len(shape))).place(values, "float32"))


@st.composite
def heads_of(draw, dtype, most=160):
    """Query, key and value; whether heads are shared."""
    batch, shared = draw(st.integers(1, 3)), draw(st.integers(1, 4))
    several = draw(st.sampled_from((1, 1, 1, 2, 3)))
    length, keys = draw(sizes(most)), draw(sizes(most))
    width = draw(st.one_of(sizes(100), st.sampled_from((32, 64, 128))))
    depth = width if draw(st.booleans()) else draw(sizes(100))
    shapes = ((batch, shared * several, length, width), (batch, shared, keys, width),
              (batch, shared, keys, depth))  # fmt: skip
    return [draw(tensors(shape, dtype, grad=True)) for shape in shapes], several > 1


def units(width, keys):
    """Scores are sums of so many products, and their errors those of their exponentials."""
    return 8.0 + 4 * width**0.5 + keys**0.5


def scales(given, scale=None):
    """What errors of results and gradients are multiples of: the largest of the products that are
    added up, or subtracted, for each."""
    query, key, value = (exact(a).detach().abs() for a in given[:3])
    factor = scale or query.shape[-1] ** -0.5

    def found(up, sums):
        up, most = up.abs(), size_of(value)
        # what a gradient of probabilities is at most, and how many of them there are in one of keys
        change = 2 * float(up.sum(-1).max()) * most * factor if up.numel() else 0.0
        rows = math.prod(query.shape[:-1]) / max(1, math.prod(key.shape[:-2]))
        many = rows**0.5
        return (most, change * size_of(key), change * size_of(query) * many, size_of(up) * many)

    return found


def work(found):
    (query, key, value), _ = found
    return math.prod(query.shape) * (key.shape[2] + value.shape[3])


@given(st.data())
@examples(35)
def test_heads(data):
    dtype = data.draw(DTYPES)
    given, is_shared = data.draw(heads_of(dtype).filter(lambda f: work(f) < 20_000_000))
    (batch, heads, length, width), keys = given[0].shape, given[1].shape[2]
    causal = data.draw(st.booleans())
    mask = None if causal else data.draw(masks(batch, heads, length, keys))
    if mask is not None and mask.dtype != rushlight.bool:
        mask = mask.to(given[0].dtype)
    scale = data.draw(st.sampled_from((None, None, 0.5 / width**0.5, 1.3 / width**0.5)))

    def compute(lib, query, key, value, mask):
        return lib.nn.functional.scaled_dot_product_attention(
            query, key, value, mask, 0.0, causal, scale=scale, enable_gqa=is_shared
        )

    bounded(data, compute, (*given, mask), scales(given, scale), units(width, keys))


@given(st.data())
@examples(8)
def test_long_rows(data):
    """Lengths that take several blocks of rows, and strips of matrix units."""
    length, keys = (data.draw(st.integers(128, 700)) for _ in "lk")
    width = data.draw(st.sampled_from((16, 33, 64, 80)))
    shapes = ((1, 2, length, width), (1, 2, keys, width), (1, 2, keys, width))
    given = [data.draw(tensors(shape, grad=True)) for shape in shapes]
    causal = data.draw(st.booleans())
    mask = None if causal else data.draw(masks(1, 2, length, keys))

    def compute(lib, query, key, value, mask):
        return lib.nn.functional.scaled_dot_product_attention(query, key, value, mask, 0.0, causal)

    bounded(data, compute, (*given, mask), scales(given), units(width, keys))


@given(st.data())
@examples(12)
def test_other_numbers_of_dims(data):
    """(L, E), batches without heads, and more dims of batches."""
    lead = data.draw(st.sampled_from(((), (2,), (2, 1, 3), (2, 3, 1, 2))))
    length, keys, width = (data.draw(sizes(40)) for _ in "lke")
    shapes = ((*lead, length, width), (*lead, keys, width), (*lead, keys, width))
    given = [data.draw(tensors(shape, grad=True)) for shape in shapes]
    causal = data.draw(st.booleans())

    def compute(lib, query, key, value):
        return lib.nn.functional.scaled_dot_product_attention(query, key, value, is_causal=causal)

    bounded(data, compute, given, scales(given), units(width, keys))


@given(st.data())
@examples(25)
def test_dropout(data):
    """Probabilities that dropout leaves are divided by their share, the others are zeros; which
    ones depends on the seed and on their number alone, also where gradients need them again."""
    dtype, share = data.draw(DTYPES), data.draw(st.sampled_from((0.1, 0.5, 0.9)))
    given, is_shared = data.draw(heads_of(dtype, 80).filter(lambda f: work(f) < 2_000_000))
    query, key, _ = given
    causal, seed = data.draw(st.booleans()), data.draw(st.integers(0, 999))

    def dropped(query, key, value, causal):
        rushlight.manual_seed(seed)
        return rushlight.nn.functional.scaled_dot_product_attention(
            query, key, value, None, share, causal, enable_gqa=is_shared
        )

    with rushlight.no_grad():
        one = rushlight.eye(key.shape[2], dtype=query.dtype).expand(*key.shape[:2], -1, -1)
        kept = exact(dropped(query * 0, key * 0, one, False) != 0).double()
    if kept.numel() > 2000:
        assert abs(float(kept.mean()) - (1 - share)) < 0.05

    def compute(lib, query, key, value):
        if lib is rushlight:
            return dropped(query, key, value, causal)
        return by_formula(query, key, value, causal, kept / (1 - share))

    def larger(up, sums):
        return [scale / (1 - share) for scale in scales(given)(up, sums)]

    bounded(data, compute, given, larger, units(*key.shape[:1:-1]))


@given(st.data())
@examples(12)
def test_values_that_are_not_finite(data):
    """A row of a query that is NaN, an element of a value that is infinite."""
    given, is_shared = data.draw(heads_of("float32", 50))
    query, key, value = (a.detach() for a in given)
    kind = data.draw(st.sampled_from(("query", "value", "key")))
    place = [data.draw(st.integers(0, n - 1)) for n in dict(
        query=query, key=key, value=value)[kind].shape]  # fmt: skip
    dict(query=query, key=key, value=value)[kind][tuple(place)] = (
        math.inf if kind == "value" else math.nan
    )

    def compute(lib, query, key, value):
        return lib.nn.functional.scaled_dot_product_attention(
            query, key, value, enable_gqa=is_shared
        )

    found = on_threads(lambda: compute(rushlight, query, key, value))
    close(
        found,
        by_formula(*map(exact, (query, key, value))),
        size_of(exact(value)),
        units(*key.shape[:1:-1]),
    )


def by_formula(query, key, value, causal=False, factors=1.0):
    """Attention of PyTorch's tensors step by step, probabilities times `factors`: its own kernel
    passes over NaN in short rows, draws its own dropout and has no second gradient."""
    heads = query.shape[1] // key.shape[1]
    key, value = (a.repeat_interleave(heads, 1) for a in (key, value))
    scores = query * query.shape[-1] ** -0.5 @ key.mT
    if causal:
        unseen = torch.ones_like(scores, dtype=torch.bool).triu(1)
        scores = scores.masked_fill(unseen, -math.inf)
    return scores.softmax(-1) * factors @ value
