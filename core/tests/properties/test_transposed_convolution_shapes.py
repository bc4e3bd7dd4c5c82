"""Transposed convolutions of any geometry and layout, and their gradients, against float64."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

torch = pytest.importorskip("torch")

from drawn import examples, sizes, tensors  # noqa: E402
from families import LOW, images, judged, sprinkled  # noqa: E402


def each(dims, values):
    """One of the values for every dim."""
    return st.tuples(*[st.sampled_from(values)] * dims)


@st.composite
def upwards(draw, dims=2, channels=20, largest=24, kernels=(1, 2, 3, 4, 5, 7)):
    """Shapes of input and weight, and settings."""
    groups = draw(st.sampled_from((1, 1, 1, 2, 3)))
    c, o = (groups * draw(st.integers(1, channels)) for _ in "co")
    kernel, stride = draw(each(dims, kernels)), draw(each(dims, (1, 1, 2, 2, 3)))
    dilation, padding = draw(each(dims, (1, 1, 1, 2))), draw(each(dims, (0, 0, 1, 2)))
    extra = tuple(
        draw(st.integers(0, max(s, d) - 1)) for s, d in zip(stride, dilation, strict=True)
    )
    image = tuple(draw(sizes(largest)) for _ in range(dims))
    x = (draw(st.integers(0, 4)), c, *image)
    return x, (c, o // groups, *kernel), stride, padding, extra, groups, dilation


@st.composite
def wide(draw):
    """3 x 3 with many channels: Winograd's ways."""
    c, o = (draw(st.integers(32, 70)) for _ in "co")
    image = (draw(st.integers(2, 16)), draw(st.integers(2, 16)))
    x, padding = (draw(st.integers(1, 3)), c, *image), draw(each(2, (0, 1, 1, 2)))
    return x, (c, o, 3, 3), (1, 1), padding, (0, 0), 1, (1, 1)


@st.composite
def by_depth(draw):
    """Every channel is a group of its own."""
    c, several = draw(st.integers(2, 30)), draw(st.sampled_from((1, 1, 2)))
    kernel, stride = draw(each(2, (2, 3, 4, 5))), draw(each(2, (1, 2)))
    image = (draw(st.integers(2, 24)), draw(st.integers(2, 24)))
    x = (draw(st.integers(1, 3)), c, *image)
    return x, (c, several, *kernel), stride, draw(each(2, (0, 1))), (0, 0), c, (1, 1)


@st.composite
def doubling(draw):
    """Windows that do not overlap, as decoders have them."""
    c, o = draw(st.integers(1, 130)), draw(st.integers(1, 66))
    k, image = draw(st.sampled_from((2, 2, 4, 8))), (draw(sizes(18)), draw(sizes(18)))
    x = (draw(st.integers(1, 2)), c, *image)
    return x, (c, o, k, k), (k, k), (0, 0), (0, 0), 1, (1, 1)


def output_size(x, weight, stride, padding, extra, groups, dilation):
    """Spatial sizes of the result."""
    pairs = zip(x[2:], weight[2:], stride, padding, extra, dilation, strict=True)
    return tuple((n - 1) * s - 2 * p + d * (k - 1) + e + 1 for n, k, s, p, e, d in pairs)


def is_possible(geometry):
    """Whether there are results, and not too much to do."""
    x, weight = geometry[:2]
    return min(output_size(*geometry)) > 0 and math.prod(x) * math.prod(weight[1:]) <= 3_000_000


def check(data, kind, dtype="float32", by_element=True, odd=False):
    geometry = data.draw(kind.filter(is_possible))
    x_shape, w_shape, *settings = geometry
    x = data.draw(tensors(x_shape, dtype, layout=data.draw(images(len(x_shape))), grad=True))
    w = data.draw(tensors(w_shape, dtype, layout=data.draw(images(len(x_shape))), grad=True))
    o = w_shape[1] * settings[3]
    has_bias = dtype not in LOW and data.draw(st.booleans())  # in 16 bits it is added afterwards
    bias = data.draw(tensors((o,), dtype, grad=True)) if has_bias else None
    name = f"conv_transpose{len(x_shape) - 2}d"
    if odd:  # zeros around gradients meet infinities in the weight's, or not: nobody says
        sprinkled(x, data.draw(st.integers(0, 1000)))
        w = w.detach()

    def compute(lib, x, w, bias):
        return getattr(lib.nn.functional, name)(x, w, bias, *settings)

    taps = math.prod(w_shape[2:])
    pixels = x_shape[0] * math.prod(x_shape[2:])
    whole = x_shape[0] * math.prod(output_size(*geometry))
    terms = (x_shape[1] * taps, w_shape[1] * taps, pixels, whole)
    wanted = (True, True, not odd, bias is not None)
    terms = [n for n, is_wanted in zip(terms, wanted, strict=True) if is_wanted]
    judged(data, compute, (x, w, bias), terms, by_element)


EVERY = st.one_of(upwards(), upwards(1), upwards(3, 8, 7, (1, 2, 3)), by_depth(), doubling())


@given(st.data())
@examples(20)
def test_any_settings(data):
    check(data, st.one_of(upwards(), by_depth(), doubling()))


@given(st.data())
@examples(12)
def test_one_and_three_dims(data):
    check(data, st.one_of(upwards(1, largest=100), upwards(3, 8, 7, (1, 2, 3))))


@given(st.data())
@examples(8)
def test_many_channels(data):
    check(data, wide(), by_element=False)


@given(st.data())
@examples(15)
def test_other_dtypes(data):
    dtype = data.draw(st.sampled_from(("float64", "float64", "bfloat16", "float16")))
    check(data, EVERY, dtype, by_element=False)


@given(st.data())
@examples(12)
def test_inputs_that_are_not_finite(data):
    check(data, EVERY, by_element=False, odd=True)
