"""Windows as columns and back, and pixels as channels, against float64."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

torch = pytest.importorskip("torch")

from drawn import examples, sizes, tensors  # noqa: E402
from families import images, judged, sprinkled  # noqa: E402

DTYPES = st.sampled_from(("float32", "float32", "float64", "bfloat16", "float16"))
PAIRS = st.tuples(st.integers(1, 3), st.integers(1, 3))


@st.composite
def columns(draw):
    """Images and their windows."""
    kernel = draw(st.tuples(st.integers(1, 5), st.integers(1, 5)))
    dilation, stride = draw(PAIRS), draw(PAIRS)
    padding = draw(st.tuples(st.integers(0, 3), st.integers(0, 3)))
    reach = [d * (k - 1) + 1 - 2 * p for k, p, d in zip(kernel, padding, dilation, strict=True)]
    size = tuple(max(n, draw(sizes(34))) for n in reach)
    shape = (draw(st.integers(1, 3)), draw(st.integers(1, 9)), *size)
    return shape, kernel, dilation, padding, stride


def window_count(size, kernel, dilation, padding, stride):
    """Windows of an image."""
    pairs = zip(size, kernel, dilation, padding, stride, strict=True)
    return math.prod((n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, d, p, s in pairs)


def is_small(found):
    shape, kernel, *_ = found
    return math.prod(shape) * math.prod(kernel) <= 60_000


@given(st.data())
@examples(35)
def test_windows_as_columns(data):
    shape, *settings = data.draw(columns().filter(is_small))
    x = data.draw(tensors(shape, data.draw(DTYPES), layout=data.draw(images(4)), grad=True))
    if data.draw(st.booleans()):
        sprinkled(x, data.draw(st.integers(0, 1000)))

    def compute(lib, x):
        return lib.nn.functional.unfold(x, *settings)

    judged(data, compute, (x,), (0, math.prod(settings[0])))


@given(st.data())
@examples(35)
def test_columns_as_images(data):
    (n, c, *size), *settings = data.draw(columns().filter(is_small))
    shape = (n, c * math.prod(settings[0]), window_count(size, *settings))
    x = data.draw(tensors(shape, data.draw(DTYPES), grad=True))
    if data.draw(st.booleans()):
        sprinkled(x, data.draw(st.integers(0, 1000)))

    def compute(lib, x):
        return lib.nn.functional.fold(x, tuple(size), *settings)

    judged(data, compute, (x,), (math.prod(settings[0]), 0))


@pytest.mark.parametrize("name", ["pixel_shuffle", "pixel_unshuffle", "channel_shuffle"])
@given(st.data())
@examples(20)
def test_pixels(name, data):
    r = data.draw(st.integers(1, 4))
    c, h, w = data.draw(st.integers(1, 9)), data.draw(sizes(17)), data.draw(sizes(33))
    if name == "pixel_shuffle":
        c *= r * r
    elif name == "pixel_unshuffle":
        h, w = h * r, w * r
    else:
        c *= r
    shape = (data.draw(st.integers(1, 3)), c, h, w)
    x = data.draw(tensors(shape, data.draw(DTYPES), layout=data.draw(images(4)), grad=True))
    if data.draw(st.booleans()):
        sprinkled(x, data.draw(st.integers(0, 1000)))
    judged(data, lambda lib, x: getattr(lib.nn.functional, name)(x, r), (x,), 0)
