"""Conversions and products with vectors by one call, against NumPy."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import rushlight
from rushlight.kernels.gemm import vectors
from rushlight.kernels.launch.execution import REFERENCE
from rushlight.machine.arrays import BY_CODE, cast

NAMES = ["float32", "float64", "int64", "int32", "uint8", "bool"]
FLOATS = [0, 0.5, -0.5, 2.5, 255.9, -255.2, 300.7, -129, 3e9, -3e9, 1e19, -1e19, 1e38]
FLOATS += [np.inf, -np.inf, np.nan, -0.0]
INTEGERS = [0, 1, -1, 127, 128, 255, 256, 2**24 + 1, 2**31 - 1, 2**31, -(2**31) - 1, 2**53 + 1]
INTEGERS += [2**62, -(2**63)]


@pytest.mark.compiled("calls the compiled function, which the reference does not have")
@pytest.mark.parametrize("target", NAMES)
@pytest.mark.parametrize("source", NAMES)
def test_converted(source, target):
    wide = np.array(FLOATS if source.startswith("float") else INTEGERS)
    source, target = (getattr(rushlight, name).code for name in (source, target))
    for count in (1, 5, 17, 4099):
        x = cast(np.resize(wide, count), source)
        call = vectors.converted(x, BY_CODE[target])
        wanted = cast(x, target)
        assert (call is None) == (source == target)
        if call is not None:
            np.testing.assert_array_equal(call(x), wanted, strict=True)


@pytest.mark.compiled("calls the compiled function, which the reference does not have")
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("shape", [(1, 1), (3, 5), (22, 45), (7, 1003), (2, 20_001), (9,)])
def test_product(shape, dtype):
    draw = np.random.default_rng(4)
    x, y = draw.standard_normal(shape).astype(dtype), draw.standard_normal(shape[-1]).astype(dtype)
    wanted = x.astype("f8") @ y.astype("f8")
    found = vectors.product(x, y)(x, y)
    assert found.shape == wanted.shape and found.dtype == dtype
    bound = (1e-6 if dtype == "f4" else 1e-14) * np.abs(x).astype("f8") @ np.abs(y)
    assert (np.abs(found - wanted) <= bound).all()


def test_what_is_left_to_others():
    x = np.ones((4, 6), "f4")
    assert vectors.product(x[:, ::2], x[0, ::2]) is None
    assert vectors.product(x, np.ones(6)) is None and vectors.product(x, np.ones(5, "f4")) is None
    assert vectors.converted(x.T, np.dtype("f8")) is None
    assert vectors.converted(x, np.dtype("f2")) is None


def test_gradients_of_a_matrix_times_a_vector():
    x = rushlight.arange(6.0).reshape(2, 3).requires_grad_()
    v = rushlight.tensor([1.0, -1.0, 2.0], requires_grad=True)
    (x @ v * rushlight.tensor([1.0, 3.0])).sum().backward()
    assert x.grad.tolist() == [[1, -1, 2], [3, -3, 6]] and v.grad.tolist() == [9, 13, 17]
    assert rushlight.autograd.gradcheck(rushlight.mv, (x.double(), v.double()))
    batch = rushlight.func.vmap(rushlight.mv)(x.detach()[None], v.detach()[None])
    assert batch.tolist() == [x.mv(v).tolist()]
    with pytest.raises(RuntimeError, match="same dtype"):
        x.mv(v.double())


@pytest.mark.compiled("calls the compiled function, which the reference does not have")
@pytest.mark.parametrize("shape", [(1,), (9,), (3, 5), (2, 1, 7), (2, 3, 4, 5), (1, 1, 1, 1)])
def test_nonzero(shape):
    draw = np.random.default_rng(6)
    for chance in (0.0, 0.1, 0.5, 1.0):
        x = draw.random(shape) < chance
        np.testing.assert_array_equal(vectors.nonzero(x), np.argwhere(x), strict=True)
    assert vectors.nonzero(x.astype("f4")) is None and vectors.nonzero(x[:0]) is None


@pytest.mark.compiled("calls the compiled function, which the reference does not have")
def test_equal_and_one_hot():
    x = np.arange(5000.0)
    y = x.copy()
    assert vectors.equal(x, y)(x, y)
    y[-1] = np.nan
    assert not vectors.equal(x, y)(x, y) and not vectors.equal(y, y)(y, y)
    for size in (vectors.PART + 1, 5 * vectors.PART):
        x = np.arange(size, dtype=np.float32)
        for place in (None, 0, vectors.PART - 1, vectors.PART, size - 1):
            y = x.copy()
            if place is not None:
                y[place] = np.nan
            assert rushlight.equal(*map(rushlight.from_numpy, (x, y))) == (place is None)
    classes = np.array([[0, 2], [1, 1]])
    np.testing.assert_array_equal(
        vectors.one_hot(classes, 3)(classes), np.eye(3, dtype=int)[classes]
    )
    np.testing.assert_array_equal(vectors.ramp(5000)(7, -3), 7 - 3 * np.arange(5000))


@pytest.mark.compiled("calls the compiled function, which the reference does not have")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "shape", [(1, 1, 1), (3, 4, 2), (8, 8, 8), (5, 17, 33), (1, 64, 64), (64, 64, 1)]
)
@pytest.mark.parametrize("turned", [(False, False), (False, True), (True, False), (True, True)])
def test_small_products(rng, shape, dtype, turned):
    """Small matrices, also transposed and with gaps, against float64."""
    m, k, n = shape
    a, b = rng.standard_normal((m, k)).astype(dtype), rng.standard_normal((k, n)).astype(dtype)
    a = np.asfortranarray(a) if turned[0] else a
    b = np.asfortranarray(b) if turned[1] else b
    wide = np.empty((2 * m, 3 * k), dtype)
    wide[::2, ::3] = a
    exact, scale = a.astype(float) @ b.astype(float), np.abs(a.astype(float)) @ np.abs(b)
    for x in (a, wide[::2, ::3]):
        got = vectors.small_product(x, b)(x, b)
        assert got.dtype == dtype and got.flags.c_contiguous
        assert (np.abs(got - exact) <= 4 * k * np.finfo(dtype).eps * scale).all()
    a[0, 0] = np.nan
    assert np.isnan(vectors.small_product(a, b)(a, b)[0]).all()


def test_small_products_that_others_make():
    x = np.ones((4, 5), np.float32)
    for a, b in ((x, x), (x, x.T.astype(float)), (x[0], x.T), (x[:0], x.T), (x.astype(int),) * 2,
                 (np.ones((115, 115), np.float32),) * 2):  # fmt: skip
        assert vectors.small_product(a, b) is None


@pytest.mark.compiled("calls the compiled function, which the reference does not have")
@pytest.mark.parametrize("size", [256, 1000, 4097, 100_003])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "uint8", "float16", "bool"])
def test_selected_by_a_mask(size, dtype):
    generator = np.random.default_rng(size)
    array = generator.integers(0, 2 if dtype == "bool" else 99, size).astype(dtype)
    masks = [generator.random(size) < share for share in (0.0, 0.01, 0.5, 0.99, 1.0)]
    masks[1][[0, -1]] = True
    for mask in masks:
        found = vectors.selected(array, mask)
        assert found.dtype == array.dtype
        assert np.array_equal(found, array[mask])
        assert np.array_equal(
            rushlight.from_numpy(array)[rushlight.from_numpy(mask)].numpy(), found
        )


def test_selections_that_are_left():
    array, mask = np.ones((40, 20), np.float32), np.ones((40, 20), np.bool_)
    assert vectors.selected(array.T, mask.T) is None
    assert vectors.selected(array, mask[:, 0]) is None
    assert vectors.selected(array.astype(np.complex128), mask) is None
    assert vectors.selected(array, mask.view(np.uint8)) is None


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
@pytest.mark.parametrize(("shape", "dims"), [((37, 5), 1), ((37, 5), 2), ((4, 9, 7), 2), ((6,), 1),
                                             ((1000,), 1), ((3, 0), 1), ((0, 3), 1)])  # fmt: skip
@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_gradient_at_a_mask(shape, dims, share, dtype):
    torch = pytest.importorskip("torch")
    generator = np.random.default_rng(5)
    mask, values = generator.random(shape[:dims]) < share, generator.standard_normal(shape)
    found = []
    for library in (rushlight, torch):
        kind = getattr(library, dtype)
        x = library.tensor(values).to(kind).requires_grad_()
        y = x[library.tensor(mask)]
        weight = library.arange(y.numel()).reshape(y.shape).to(kind) + 0.5
        if weight.numel():
            weight.reshape(-1)[0] = float("nan")
        (grad,) = library.autograd.grad((y * y * weight).sum(), x, create_graph=True)
        (second,) = library.autograd.grad(grad.sum(), x)
        found.append([grad.detach().float().numpy(), second.float().numpy()])
    for a, b in zip(*found, strict=True):
        assert np.allclose(a, b, rtol=1e-2 if dtype.endswith("16") else 1e-6,
                           atol=0, equal_nan=True)  # fmt: skip
    if np.prod(shape):
        turned = rushlight.tensor(values.T.copy()).permute(*range(len(shape))[::-1])
        turned.requires_grad_()
        chosen = turned[rushlight.tensor(mask)]
        (grad,) = rushlight.autograd.grad(chosen.sum(), turned)
        wanted = np.zeros(shape)
        wanted[mask] = 1
        assert np.array_equal(grad.numpy(), wanted)


def rounded_once(steps, start, end, kind):
    """Numbers in equal steps, each the nearest to the exact sum, counted from the nearer end."""
    first, last = kind(start), kind(end)
    step = Fraction(float((last - first) / kind(steps - 1)))
    first, last = Fraction(float(first)), Fraction(float(last))
    exact = [first + step * i for i in range(steps // 2)]
    exact += [last - step * (steps - 1 - i) for i in range(steps // 2, steps)]
    return np.array([nearest(each, kind) for each in exact], kind)


def nearest(exact, kind):
    """The number of a dtype that is nearest to a fraction."""
    guess = kind(float(exact))
    around = (guess, np.nextafter(guess, kind("inf")), np.nextafter(guess, kind("-inf")))
    return min(around, key=lambda each: abs(Fraction(float(each)) - exact))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("steps", [2, 3, 63, 64, 65, 1001, 10_000])
@pytest.mark.parametrize(("start", "end"), [(0, 1), (-3.7, 11.3), (5, -2), (1e30, -1e30),
                                            (0, float("inf"))])  # fmt: skip
def test_evenly_spaced_numbers(steps, dtype, start, end):
    before = rushlight.get_default_dtype()
    try:
        rushlight.set_default_dtype(getattr(rushlight, dtype))
        with np.errstate(invalid="ignore"):
            found = rushlight.linspace(start, end, steps)
            assert found.equal(rushlight.linspace(start, end, steps, dtype=found.dtype)) or end > 12
            wanted = vectors._spaced_by_numpy(steps, start, end, np.dtype(dtype))
    finally:
        rushlight.set_default_dtype(before)
    assert found.dtype is getattr(rushlight, dtype)
    if np.isfinite(end) and not REFERENCE:
        wanted = rounded_once(steps, start, end, np.dtype(dtype).type)
    assert np.array_equal(found.numpy(), wanted, equal_nan=True)
    torch = pytest.importorskip("torch")
    theirs = torch.linspace(start, end, steps, dtype=getattr(torch, dtype)).numpy()
    bound = 2e-7 if dtype == "float32" else 1e-15
    if np.isfinite(end):
        assert np.allclose(
            found.numpy(), theirs, rtol=bound, atol=bound * max(abs(start), abs(end))
        )
