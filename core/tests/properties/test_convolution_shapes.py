"""Convolutions of any geometry and layout, and their gradients, against float64.

Each kind of geometry is one that other kernels are for: :mod:`rushlight.kernels.convolution.choice`
says which.
"""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

torch = pytest.importorskip("torch")

from drawn import EXAMPLES, examples, sizes, tensors  # noqa: E402
from families import images, judged, sprinkled  # noqa: E402


class Geometry:
    """Sizes and settings of a convolution."""

    def __init__(self, n, c, image, o, kernel, stride=1, padding=0, dilation=1, groups=1):
        self.n, self.c, self.image, self.o, self.kernel = n, c, tuple(image), o, tuple(kernel)
        self.groups = groups
        dims = len(self.kernel)
        self.settings = tuple(
            v if isinstance(v, (tuple, str)) else (v,) * dims for v in (stride, padding, dilation)
        )

    def __repr__(self):
        return (f"Geometry({self.n}, {self.c}, {self.image}, {self.o}, {self.kernel}, "
                f"*{self.settings}, {self.groups})")  # fmt: skip

    def size(self):
        """Spatial sizes of the result."""
        stride, padding, dilation = self.settings
        if padding == "same":
            return self.image
        padding = (0,) * len(self.kernel) if padding == "valid" else padding
        pairs = zip(self.image, self.kernel, stride, padding, dilation, strict=True)
        return tuple((i + 2 * p - d * (k - 1) - 1) // s + 1 for i, k, s, p, d in pairs)

    def work(self):
        """Products."""
        taps = math.prod(self.kernel) * self.c * self.o // self.groups
        return self.n * math.prod(self.size()) * taps

    def terms(self, has_bias):
        """Terms of the sums of the result, and of the gradients of input, weight and bias."""
        taps, pixels = math.prod(self.kernel), self.n * math.prod(self.size())
        own, others = (c // self.groups * taps for c in (self.c, self.o))
        return (own, others, pixels, pixels)[: 4 if has_bias else 3]


def is_possible(geometry, most=6_000_000):
    """Whether there are results, and not too much to do."""
    return min(geometry.size()) > 0 and geometry.work() <= most


def each(dims, values):
    """One of the values for every dim."""
    return st.tuples(*[st.sampled_from(values)] * dims)


@st.composite
def general(draw, dims=2):
    """Any settings at all."""
    groups = draw(st.sampled_from((1, 1, 1, 2, 3)))
    c, o = (groups * draw(st.integers(1, 20)) for _ in range(2))
    image = tuple(draw(sizes(34 if dims < 3 else 12)) for _ in range(dims))
    kernel = draw(each(dims, (1, 2, 3, 3, 5, 7) if dims < 3 else (1, 2, 3)))
    stride = draw(each(dims, (1, 1, 2, 3)))
    padding = draw(each(dims, (0, 1, 2, 3)))
    dilation = draw(each(dims, (1, 1, 2, 3)))
    n = draw(st.integers(0, 4))
    return Geometry(n, c, image, o, kernel, stride, padding, dilation, groups)


@st.composite
def words(draw):
    """Padding given by a word."""
    padding = draw(st.sampled_from(("same", "valid")))
    kernel, dilation = draw(each(2, (1, 2, 3, 4, 5))), draw(each(2, (1, 2)))
    image = draw(st.tuples(st.integers(1, 20), st.integers(1, 20)))
    c, o = draw(st.integers(1, 8)), draw(st.integers(1, 20))
    return Geometry(draw(st.integers(1, 2)), c, image, o, kernel, 1, padding, dilation)


@st.composite
def transformed(draw):
    """3 x 3 with many channels: Winograd's ways."""
    c, o = (draw(st.one_of(st.integers(32, 50), st.sampled_from((64, 65, 100)))) for _ in "co")
    padding = draw(each(2, (0, 1, 1, 2)))
    image = draw(st.tuples(st.integers(2, 30), st.integers(2, 30)))
    return Geometry(draw(st.integers(1, 5)), c, image, o, (3, 3), 1, padding)


@st.composite
def dilated(draw):
    """Images that fall into sub-images."""
    d = draw(st.sampled_from((2, 2, 3, 4)))
    c, o = (draw(st.integers(32, 40)) for _ in "co")
    padding = tuple(d * p for p in draw(each(2, (0, 1, 1, 2))))
    image = draw(st.tuples(st.integers(2 * d + 2, 40), st.integers(20, 40)))
    return Geometry(draw(st.integers(1, 2)), c, image, o, (3, 3), 1, padding, d)


@st.composite
def deep(draw):
    """Many channels on small maps: products of gathered windows, whole panels of weights."""
    c, o = (draw(st.sampled_from((31, 64, 96, 100, 128, 129))) for _ in "co")
    kernel = draw(st.sampled_from(((1, 1), (3, 3), (2, 2), (1, 3), (5, 5))))
    image = draw(st.tuples(st.integers(1, 9), st.integers(1, 9)))
    stride, padding = draw(each(2, (1, 1, 2))), draw(each(2, (0, 1, 2)))
    return Geometry(draw(st.integers(1, 6)), c, image, o, kernel, stride, padding)


@st.composite
def pixels(draw):
    """1 x 1 over pixels enough for products of matrices."""
    c, o = (draw(st.sampled_from((1, 3, 16, 17, 32, 48, 65, 130))) for _ in "co")
    image = draw(st.tuples(st.integers(5, 34), st.integers(5, 34)))
    return Geometry(draw(st.integers(1, 3)), c, image, o, (1, 1))


@st.composite
def patches(draw):
    """Windows that do not overlap."""
    across = draw(st.sampled_from((1, 2, 3, 4, 5, 7, 8, 8, 14, 16)))
    kernel = draw(st.sampled_from((1, 2, 4, 8, across))), across
    c, o = draw(st.integers(1, 9)), draw(st.sampled_from((1, 5, 16, 31, 64, 96)))
    image = tuple(k * draw(st.integers(1, 14)) + draw(st.integers(0, 3)) for k in kernel)
    return Geometry(draw(st.integers(1, 3)), c, image, o, kernel, kernel)


@st.composite
def planes(draw):
    """Few channels on one side."""
    c, o = draw(st.integers(1, 4)), draw(st.integers(1, 40))
    c, o = (c, o) if draw(st.booleans()) else (draw(st.integers(1, 30)), draw(st.integers(1, 12)))
    groups = draw(st.sampled_from((1, 1, 2, 3)))
    image = draw(st.tuples(st.integers(7, 40), st.integers(7, 70)))
    kernel, stride = draw(each(2, (1, 2, 3, 5, 7))), draw(each(2, (1, 1, 2, 4)))
    padding, dilation = draw(each(2, (0, 1, 2, 3))), draw(each(2, (1, 1, 1, 2)))
    n = draw(st.integers(1, 3))
    return Geometry(n, c * groups, image, o * groups, kernel, stride, padding, dilation, groups)


# Code is compiled for each of these, and for each size of small planes: few in ordinary runs.
WINDOWS = (
    ((3, 3), (1, 1), (1, 1)), ((3, 3), (1, 1), (1, 1)), ((3, 3), (2, 2), (1, 1)),
    ((5, 5), (1, 1), (1, 1)), ((7, 7), (1, 1), (1, 1)), ((1, 5), (1, 3), (1, 1)),
    ((3, 3), (1, 1), (2, 2)), ((4, 2), (3, 1), (1, 1)),
)  # fmt: skip
SMALL = ((7, 7), (4, 5), (8, 8))


@st.composite
def depthwise(draw, dims=2):
    """Every output channel reads one input channel."""
    c, several = draw(st.integers(2, 40)), draw(st.sampled_from((1, 1, 1, 2, 3)))
    n, padding = draw(st.sampled_from((1, 2, 3, 17))), draw(each(dims, (0, 1, 2, 3)))
    image = tuple(draw(st.integers(3, 10 if dims == 3 else 40)) for _ in range(dims))
    if EXAMPLES > 1 or dims != 2:
        kernel = draw(each(dims, (1, 2, 3, 3, 5, 7) if dims < 3 else (1, 2, 3)))
        stride, dilation = draw(each(dims, (1, 1, 2, 3))), draw(each(dims, (1, 1, 1, 2)))
    else:
        kernel, stride, dilation = draw(st.sampled_from(WINDOWS))
        same = tuple(d * (k // 2) for k, d in zip(kernel, dilation, strict=True))
        padding = draw(st.sampled_from((same, padding)))
        image = draw(st.sampled_from(SMALL)) if math.prod(image) <= 64 else image
    return Geometry(n, c, image, c * several, kernel, stride, padding, dilation, c)


@st.composite
def whole(draw, dims=2):
    """One window, as large as the image."""
    image = tuple(draw(st.integers(1, 8)) for _ in range(dims))
    n, c, o = (draw(sizes(70)) for _ in range(3))
    return Geometry(n, c, image, o, image)


@st.composite
def joined(draw):
    """Over three dims of which two can be one, and others that lie as one."""
    kernel = list(draw(each(3, (1, 3))))
    kernel[draw(st.integers(0, 2))] = 1
    stride = tuple(draw(st.sampled_from((1, 1, 2))) if k > 1 else 1 for k in kernel)
    padding = tuple(draw(st.sampled_from((0, 1))) if k > 1 else 0 for k in kernel)
    image = tuple(draw(st.integers(3, 12)) for _ in range(3))
    c, o = draw(st.integers(1, 40)), draw(st.integers(1, 40))
    return Geometry(draw(st.integers(1, 2)), c, image, o, kernel, stride, padding)


def arguments(draw, geometry, dtype, layout=None):
    """Input, weight and bias (or None) that want gradients."""
    dims = 2 + len(geometry.kernel)
    x_shape = (geometry.n, geometry.c, *geometry.image)
    w_shape = (geometry.o, geometry.c // geometry.groups, *geometry.kernel)
    x = draw(tensors(x_shape, dtype, layout=draw(images(dims)), grad=True))
    w = draw(tensors(w_shape, dtype, layout=draw(images(dims)), grad=True))
    bias = draw(tensors((geometry.o,), dtype, grad=True)) if draw(st.booleans()) else None
    return x, w, bias


def convolution(geometry):
    """The convolution by either library."""
    name, (stride, padding, dilation) = f"conv{len(geometry.kernel)}d", geometry.settings

    def compute(lib, x, w, bias):
        call = getattr(lib.nn.functional, name)
        return call(x, w, bias, stride, padding, dilation, geometry.groups)

    return compute


def check(data, kind, dtype="float32", most=6_000_000, **how):
    """Draw a geometry and judge it."""
    geometry = data.draw(kind.filter(lambda found: is_possible(found, most)))
    given = arguments(data.draw, geometry, dtype)
    judged(data, convolution(geometry), given, geometry.terms(given[2] is not None), **how)


@given(st.data())
@examples(25)
def test_any_settings(data):
    check(data, general())


@given(st.data())
@examples(15)
def test_one_dim(data):
    check(data, st.one_of(general(1), depthwise(1)))


@given(st.data())
@examples(12)
def test_three_dims(data):
    check(data, st.one_of(general(3), depthwise(3), joined(), whole(3)))


@given(st.data())
@examples(15)
def test_transformed_tiles(data):
    check(data, transformed(), by_element=False)


@given(st.data())
@examples(12)
def test_sub_images(data):
    check(data, dilated(), most=16_000_000, by_element=False)


@given(st.data())
@examples(20)
def test_many_channels(data):
    check(data, deep(), by_element=False)


@given(st.data())
@examples(20)
def test_products_of_pixels(data):
    check(data, pixels())


@given(st.data())
@examples(25)
def test_patches(data):
    check(data, patches())


@given(st.data())
@examples(20)
def test_planes(data):
    check(data, planes())


@given(st.data())
@examples(25)
def test_depthwise(data):
    check(data, depthwise())


@given(st.data())
@examples(20)
def test_windows_as_large_as_the_image(data):
    check(data, whole())


@pytest.mark.filterwarnings("ignore:Using padding='same' with even kernel")  # of the oracle
@given(st.data())
@examples(15)
def test_padding_by_words(data):
    check(data, words())


EVERY = st.one_of(general(), general(1), planes(), depthwise(), pixels(), patches(), deep())


@given(st.data())
@examples(15)
def test_doubles(data):
    check(data, st.one_of(EVERY, general(3)), "float64")


@given(st.data())
@examples(15)
def test_half_width(data):
    check(data, EVERY, data.draw(st.sampled_from(("bfloat16", "float16"))), by_element=False)


@given(st.data())
@examples(20)
def test_inputs_that_are_not_finite(data):
    """Infinite weights mean nothing: zeros around images are multiplied with them or not."""
    geometry = data.draw(st.one_of(EVERY, transformed(), dilated()).filter(is_possible))
    given = arguments(data.draw, geometry, "float32")
    sprinkled(given[0], data.draw(st.integers(0, 1000)))
    terms = geometry.terms(given[2] is not None)
    judged(data, convolution(geometry), given, terms, by_element=False)


@given(st.data())
@examples(20)
def test_gradients_that_are_not_finite(data):
    geometry = data.draw(st.one_of(EVERY, transformed(), dilated()).filter(is_possible))
    x, w, _ = arguments(data.draw, geometry, "float32")
    up = data.draw(tensors((geometry.n, geometry.o, *geometry.size())))
    sprinkled(up, data.draw(st.integers(0, 1000)))
    given, terms = (x, w.detach(), None), geometry.terms(False)
    judged(data, convolution(geometry), given, terms[:2], by_element=False, up=up)
