"""Interpolation, sampling at positions and padding, with their gradients, against PyTorch."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

torch = pytest.importorskip("torch")

from drawn import as_tensor, exact, examples, layouts, sizes, tensors  # noqa: E402
from families import bounded, exact_values, images, judged, size_of, sprinkled  # noqa: E402

DTYPES = st.sampled_from(("float32", "float32", "float32", "float64", "bfloat16", "float16"))
LINEAR = {1: "linear", 2: "bilinear", 3: "trilinear"}


@st.composite
def changes(draw, dims):
    """A shape, and what its spatial dims become: sizes or factors."""
    most = {1: 300, 2: 40, 3: 12}[dims]
    size = tuple(draw(sizes(most)) for _ in range(dims))
    shape = (draw(st.integers(1, 3)), draw(st.integers(1, 12)), *size)
    kind = draw(st.sampled_from(("size", "size", "twice", "half", "factor")))
    if kind == "size":
        return shape, {"size": tuple(draw(sizes(2 * most)) for _ in range(dims))}
    if kind == "twice":
        return shape, {"scale_factor": float(draw(st.integers(2, 3)))}
    if kind == "half":
        size = tuple(2 * n for n in size)
        return (*shape[:2], *size), {"scale_factor": 0.5}
    factors = tuple(draw(st.sampled_from((0.7, 1.3, 1.5, 2.25))) for _ in range(dims))
    size = tuple(max(n, 2) for n in size)
    return (*shape[:2], *size), {"scale_factor": factors}


def largest_sum(up, sums):
    """What a gradient of several elements may be."""
    return max(size_of(up), size_of(sums[1]))


def draw_change(data, dims):
    return data.draw(changes(dims).filter(lambda found: math.prod(found[0]) <= 20_000))


def interpolation(**settings):
    def compute(lib, x):
        return lib.nn.functional.interpolate(x, **settings)

    return compute


@pytest.mark.parametrize("mode", ["nearest", "nearest-exact"])
@given(st.data())
@examples(30)
def test_nearest(mode, data):
    """In small images: of others PyTorch's gradients go to other elements, by some factors."""
    dims = data.draw(st.integers(1, 3))
    shape, settings = draw_change(data, dims)
    if dims != 2 and isinstance(settings.get("scale_factor"), tuple):
        settings = {"size": tuple(n + 1 for n in shape[2:])}
    dtype = data.draw(DTYPES)
    x = data.draw(tensors(shape, dtype, layout=data.draw(images(len(shape))), grad=True))
    compute = interpolation(mode=mode, **settings)
    exact_values(data, compute, (x,), data.draw(st.booleans()))


@given(st.data())
@examples(50)
def test_weighted(data):
    dims = data.draw(st.sampled_from((1, 2, 2, 2, 3)))
    shape, settings = draw_change(data, dims)
    mode = data.draw(st.sampled_from((LINEAR[dims], "bicubic" if dims == 2 else LINEAR[dims])))
    if dims == 2 and mode != "linear":
        # PyTorch repeats the first row where widened filters leave one column
        out = settings.get("size", (2, 2) if min(shape[2:]) > 4 else (1, 1))
        settings["antialias"] = min(out) > 1 and data.draw(st.booleans())
    if "size" not in settings:
        settings["recompute_scale_factor"] = data.draw(st.sampled_from((None, True)))
    dtype = data.draw(DTYPES)
    x = data.draw(tensors(shape, dtype, layout=data.draw(images(len(shape))), grad=True))
    compute = interpolation(mode=mode, align_corners=data.draw(st.booleans()), **settings)
    # positions are rounded before weights are computed of them: errors grow with the sizes
    size = max(shape[2:]) + max(settings.get("size", shape[2:]))
    most = size_of(exact(x))
    bounded(data, compute, (x,), lambda up, sums: (most, largest_sum(up, sums)), 8 + 2 * size)


@given(st.data())
@examples(25)
def test_areas(data):
    shape, settings = draw_change(data, data.draw(st.integers(1, 3)))
    x = data.draw(tensors(shape, data.draw(DTYPES), grad=True))
    judged(data, interpolation(mode="area", **settings), (x,), 64)


# ---- sampling ------------------------------------------------------------------------------------


@st.composite
def positions(draw, sizes, shape, dtype, aligned):
    """Positions a little outside too, none of them near a middle or an element, where the nearest
    and the gradient jump."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    found = []
    for n in reversed(sizes):
        part = rng.uniform(0.05, 0.45, shape) + 0.5 * rng.integers(0, 2, shape)
        place = rng.integers(-2, n + 1, shape) + part
        if aligned:
            found.append(2 * place / max(n - 1, 1) - 1)
        else:
            found.append((2 * place + 1) / n - 1)
    layout = draw(layouts(len(shape) + 1))
    return as_tensor(layout.place(np.stack(found, -1), dtype)).requires_grad_()


@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@given(st.data())
@examples(8)
def test_samples(mode, padding, data):
    dims = 2 if mode == "bicubic" else data.draw(st.sampled_from((2, 2, 2, 3)))
    aligned, dtype = data.draw(st.booleans()), data.draw(st.sampled_from(("float32", "float64")))
    size = tuple(data.draw(st.integers(2, 20 if dims == 2 else 8)) for _ in range(dims))
    n, c = data.draw(st.integers(1, 3)), data.draw(st.integers(1, 20))
    out = tuple(data.draw(sizes(33 if dims == 2 else 8)) for _ in range(dims))
    x = data.draw(tensors((n, c, *size), dtype, layout=data.draw(images(dims + 2)), grad=True))
    grid = data.draw(positions(size, (n, *out), dtype, aligned))

    def compute(lib, x, grid):
        return lib.nn.functional.grid_sample(x, grid, mode, padding, aligned)

    def scales(up, sums):
        most, top = size_of(exact(x)), size_of(up)
        return most, largest_sum(up, sums), most * top * c * max(size)

    # an error of a position, as large as the image, is multiplied with differences of elements
    bounded(data, compute, (x, grid), scales, 16 + 8 * max(size))


# ---- padding -------------------------------------------------------------------------------------


@st.composite
def surroundings(draw, mode):
    """A shape and amounts for its last dims."""
    dims = draw(st.integers(1, 3))
    size = tuple(draw(sizes({1: 200, 2: 40, 3: 14}[dims])) for _ in range(dims))
    lead = draw(st.tuples(st.integers(1, 3), st.integers(1, 9)))
    pad = []
    for n in reversed(size):
        most = {"reflect": n - 1, "circular": n}.get(mode, 9)
        for _ in range(2):
            pad.append(draw(st.integers(0, min(most, 9))))
        if mode == "constant" and n > 6 and draw(st.integers(0, 3)) == 0:
            pad[-2:] = [-draw(st.integers(0, 3)), draw(st.integers(-2, 3))]
    return (*lead, *size), tuple(pad)


@pytest.mark.parametrize("mode", ["constant", "reflect", "replicate", "circular"])
@given(st.data())
@examples(35)
def test_padding(mode, data):
    shape, pad = data.draw(surroundings(mode).filter(lambda found: math.prod(found[0]) <= 20_000))
    x = data.draw(tensors(shape, data.draw(DTYPES), grad=True))
    value = data.draw(st.sampled_from((0.0, 1.5, math.inf))) if mode == "constant" else None
    if data.draw(st.booleans()):
        sprinkled(x, data.draw(st.integers(0, 1000)))

    def compute(lib, x):
        return lib.nn.functional.pad(x, pad, mode, value)

    # gradients of one dim after the other
    judged(data, compute, (x,), (0, 27), bounded_by="up", roundings=(0, 3))
