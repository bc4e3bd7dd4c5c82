"""Pooling with windows of any size, step and layout, and its gradients, against float64."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

torch = pytest.importorskip("torch")

from drawn import examples, sizes, tensors  # noqa: E402
from families import images, judged, sprinkled  # noqa: E402

import rushlight  # noqa: E402

DTYPES = st.sampled_from(("float32", "float32", "float32", "float64", "bfloat16", "float16"))


def each(dims, values):
    """One of the values for every dim."""
    return st.tuples(*[st.sampled_from(values)] * dims)


@st.composite
def windows(draw, largest=True):
    """A shape and windows: sizes, steps, padding, dilation."""
    dims = draw(st.sampled_from((1, 2, 2, 2, 3)))
    kernel = draw(st.one_of(each(dims, (1, 2, 2, 3, 3, 4, 5, 7)), st.just((2,) * dims)))
    padding, dilation = (0,) * dims, (1,) * dims
    if draw(st.booleans()):  # windows side by side, as most programs have them
        stride = kernel
    else:
        stride = draw(each(dims, (1, 1, 2, 2, 3, 5)))
        padding = tuple(draw(st.integers(0, k // 2)) for k in kernel)
        dilation = draw(each(dims, (1, 1, 1, 2, 3))) if largest else dilation
    most = {1: 300, 2: 66, 3: 20}[dims]
    reach = [d * (k - 1) + 1 - 2 * p for k, p, d in zip(kernel, padding, dilation, strict=True)]
    size = tuple(max(n, draw(sizes(most))) for n in reach)
    n, c = draw(st.integers(0, 3)), draw(st.integers(1, 20))
    return (n, c, *size), kernel, stride, padding, dilation


def draw_input(data, shape, dtype, odd=False):
    x = data.draw(tensors(shape, dtype, layout=data.draw(images(len(shape))), grad=True))
    return sprinkled(x, data.draw(st.integers(0, 1000))) if odd else x


def drawn(data, **settings):
    """Windows with not too many elements in them."""
    return data.draw(windows(**settings).filter(lambda w: math.prod(w[0]) <= 60_000))


def meet_elements(found):
    """Whether every window does: gradients of others go nowhere."""
    shape, *settings = found
    return all(
        any(0 <= first + d * j < n for j in range(k))
        for n, k, s, p, d in zip(shape[2:], *settings, strict=True)
        for first in range(-p, n + p - d * (k - 1), s)
    )


@pytest.mark.parametrize("odd", [False, True])
@given(st.data())
@examples(50)
def test_maxima(odd, data):
    found = drawn(data)
    assume(meet_elements(found))
    shape, kernel, *settings = found
    ceil_mode, name = data.draw(st.booleans()), f"max_pool{len(kernel)}d"
    x = draw_input(data, shape, data.draw(DTYPES), odd)

    def compute(lib, x):
        return getattr(lib.nn.functional, name)(x, kernel, *settings, ceil_mode)

    judged(data, compute, (x,), (0, math.prod(kernel)), bounded_by="up")


@given(st.data())
@examples(40)
def test_places_of_maxima(data):
    shape, kernel, *settings = drawn(data)
    ceil_mode, name = data.draw(st.booleans()), f"max_pool{len(kernel)}d"
    x = draw_input(data, shape, "float32", data.draw(st.booleans())).detach()
    compare_places(x, name, kernel, *settings, ceil_mode)


@given(st.data())
@examples(40)
def test_few_rows(data):
    """Images so small that windows may lie beside them as a whole."""
    dims = data.draw(st.integers(1, 3))
    kernel, dilation = data.draw(each(dims, (1, 2, 3, 4))), data.draw(each(dims, (1, 1, 2, 3)))
    stride, padding = data.draw(each(dims, (1, 2))), tuple(k // 2 for k in kernel)
    reach = [d * (k - 1) + 1 - 2 * p for k, p, d in zip(kernel, padding, dilation, strict=True)]
    size = [max(1, n) + data.draw(st.integers(0, 2)) for n in reach]
    size[-1] += data.draw(st.sampled_from((0, 24, 40)))
    x = data.draw(tensors((1, 2, *size)))
    compare_places(x, f"max_pool{dims}d", kernel, stride, padding, dilation, False)


def compare_places(x, name, kernel, *settings):
    """Compare maxima, asked for alone as well, and where they are."""
    call = getattr(rushlight.nn.functional, name)
    values, places = call(x, kernel, *settings, return_indices=True)
    alone = call(x, kernel, *settings)
    plain = torch.from_numpy(x.contiguous().numpy().copy())
    call = getattr(torch.nn.functional, name)
    true, where = call(plain, kernel, *settings, return_indices=True)
    for found in (values, alone):
        assert np.array_equal(found.numpy(), true.numpy(), equal_nan=True)
    assert np.array_equal(places.numpy(), where.numpy())


@pytest.mark.parametrize("odd", [False, True])
@given(st.data())
@examples(50)
def test_means(odd, data):
    shape, kernel, stride, padding, _ = drawn(data, largest=False)
    # over three dims PyTorch wants images as large as windows
    assume(len(kernel) < 3 or all(n >= k for n, k in zip(shape[2:], kernel, strict=True)))
    options = [data.draw(st.booleans()), data.draw(st.booleans())]
    name = f"avg_pool{len(kernel)}d"
    if len(kernel) > 1:
        options.append(data.draw(st.sampled_from((None, None, 1, 5))))
    x = draw_input(data, shape, data.draw(DTYPES), odd)

    def compute(lib, x):
        return getattr(lib.nn.functional, name)(x, kernel, stride, padding, *options)

    judged(data, compute, (x,), math.prod(kernel))


@st.composite
def divisions(draw):
    """A shape and the number of parts that its spatial dims are divided into."""
    dims = draw(st.sampled_from((1, 2, 2, 3)))
    most = {1: 300, 2: 40, 3: 14}[dims]
    size = tuple(draw(sizes(most)) for _ in range(dims))
    if draw(st.booleans()):
        out = (1,) * dims
    else:
        out = tuple(draw(st.integers(1, 12)) for _ in range(dims))
    return (draw(st.integers(0, 3)), draw(st.integers(1, 20)), *size), out


@pytest.mark.parametrize("odd", [False, True])
@pytest.mark.parametrize("kind", ["avg", "max"])
@given(st.data())
@examples(35)
def test_parts(kind, odd, data):
    shape, out = data.draw(divisions().filter(lambda w: math.prod(w[0]) <= 60_000))
    x = draw_input(data, shape, data.draw(DTYPES), odd)
    name = f"adaptive_{kind}_pool{len(out)}d"

    def compute(lib, x):
        return getattr(lib.nn.functional, name)(x, out)

    terms = math.prod(-(-n // o) + 1 for n, o in zip(shape[2:], out, strict=True))
    back = math.prod(-(-o // n) + 1 for n, o in zip(shape[2:], out, strict=True))
    judged(data, compute, (x,), (terms, back), bounded_by="up" if kind == "max" else "all")
