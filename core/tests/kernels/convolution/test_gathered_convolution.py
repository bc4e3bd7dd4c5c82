"""Convolution by gathered products on matrix units, against float64."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from rushlight.kernels.convolution import choice as convolution
from rushlight.kernels.convolution import reference
from rushlight.kernels.gemm import matrix_units
from rushlight.kernels.launch.execution import REFERENCE
from rushlight.machine import threads

if REFERENCE or not matrix_units.available():
    pytest.skip("this processor has no matrix units", allow_module_level=True)

from rushlight.kernels.convolution import gathered

# n, c, image, o, kernel, stride, padding, dilation
CASES = [
    (2, 16, (9, 7), 33, (3, 3), (1, 1), (1, 1), (1, 1)),
    (3, 5, (11, 13), 40, (3, 2), (2, 1), (0, 1), (1, 1)),
    (1, 33, (6, 6), 65, (1, 1), (1, 1), (0, 0), (1, 1)),
    (4, 20, (7, 9), 31, (1, 1), (2, 2), (0, 0), (1, 1)),
    (2, 7, (12, 10), 32, (3, 3), (1, 2), (2, 3), (2, 1)),
    (5, 3, (8, 8), 4, (5, 5), (3, 3), (2, 2), (1, 1)),
    (1, 1, (3, 3), 1, (3, 3), (1, 1), (0, 0), (1, 1)),
]


def arrays(rng, case):
    n, c, image, o, kernel, stride, padding, dilation = case
    x = rng.standard_normal((n, c, *image)).astype(np.float32)
    w = rng.standard_normal((o, c, *kernel)).astype(np.float32)
    size = convolution.output_size(image, kernel, stride, padding, dilation)
    dy = rng.standard_normal((n, o, *size)).astype(np.float32)
    return x, w, dy, size


def guarded(shape):
    """An array of NaN between two runs of NaN, and all of it."""
    count = int(np.prod(shape))
    room = np.full(count + 128, np.nan, np.float32)
    return room, room[64 : 64 + count].reshape(shape)


def check(room, result, exact):
    assert np.isnan(room[:64]).all()
    assert np.isnan(room[-64:]).all()
    scale = np.sqrt(np.square(exact).mean())
    assert np.sqrt(np.square(result - exact).mean()) < 4e-7 * scale


def never():
    raise AssertionError("these values can be split")


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("limit", [None, 1])
def test_forward(rng, case, limit, monkeypatch):
    """``limit`` 1: one image at a time."""
    if limit:
        monkeypatch.setattr(gathered, "PACKED_LIMIT", limit)
    x, w, dy, size = arrays(rng, case)
    bias = rng.standard_normal(case[3]).astype(np.float32)
    n, c, image, o, kernel, stride, padding, dilation = case
    plan = gathered.Forward(
        n, c, image, o, size, kernel, stride, padding, dilation, False, 3, never
    )
    wide = [value.astype(np.float64) for value in (x, w, bias)]
    for b, wide_b in ((None, None), (bias, wide[2])):
        room, y = guarded(dy.shape)
        plan.run(x, w, y, b)
        exact = reference.forward_reference(*wide[:2], wide_b, stride, padding, dilation, 1)
        check(room, y, exact)


@pytest.mark.parametrize("case", [case for case in CASES if case[5] == (1, 1)])
def test_input_gradient(rng, case):
    x, w, dy, size = arrays(rng, case)
    n, c, image, o, kernel, stride, padding, dilation = case
    back = tuple(d * (k - 1) - p for k, d, p in zip(kernel, dilation, padding, strict=True))
    plan = gathered.Forward(n, o, size, c, image, kernel, stride, back, dilation, True, 3, never)
    room, dx = guarded(x.shape)
    plan.run(dy, w, dx, None)
    wide = dy.astype(np.float64), w.astype(np.float64)
    exactly = reference.input_gradient_reference
    check(room, dx, exactly(*wide, x.shape, stride, padding, dilation, 1))


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("limit", [None, 1])
def test_weight_gradient(rng, case, limit, monkeypatch):
    if limit:
        monkeypatch.setattr(gathered, "PACKED_LIMIT", limit)
    x, w, dy, size = arrays(rng, case)
    n, c, image, o, kernel, stride, padding, dilation = case
    plan = gathered.WeightGradient(
        n, c, image, o, size, kernel, stride, padding, dilation, 3, never
    )
    room, dw = guarded(w.shape)
    plan.run(x, dy, dw)
    wide = dy.astype(np.float64), x.astype(np.float64)
    exactly = reference.weight_gradient_reference
    check(room, dw, exactly(*wide, w.shape, stride, padding, dilation, 1))


BIG = (4, 64, (7, 7), 128, (3, 3), (1, 1), (1, 1), (1, 1))


def test_chosen_for_small_maps():
    n, c, image, o, kernel, stride, padding, dilation = BIG
    forward = convolution._build_forward(n, c, image, o, kernel, stride, padding, dilation, 1)
    assert isinstance(forward, gathered.Forward)
    weight = convolution._build_weight_gradient(n, c, image, o, *BIG[4:], 1)
    assert isinstance(weight, gathered.WeightGradient)


@pytest.mark.parametrize("value", [np.inf, np.nan, 3.4e38])
@pytest.mark.parametrize("where", ["x", "w"])
def test_values_that_cannot_be_split(rng, value, where):
    """The same infinities and NaN as the direct sum."""
    x, w, dy, size = arrays(rng, BIG)
    (x if where == "x" else w)[1, 2, 1, 1] = value
    options = BIG[5:8]
    with np.errstate(all="ignore"):
        exact = reference.forward_reference(
            x.astype(np.float64), w.astype(np.float64), None, *options, 1
        ).astype(np.float32)
        result = convolution.convolution_forward(x, w, None, *options, 1)
    np.testing.assert_array_equal(np.isnan(result), np.isnan(exact))
    np.testing.assert_array_equal(np.isposinf(result), np.isposinf(exact))
    finite = np.isfinite(exact) & (np.abs(exact) < 1e30)
    np.testing.assert_allclose(result[finite], exact[finite], rtol=1e-3, atol=1e-3)
    if where == "x":
        with np.errstate(all="ignore"):
            found = convolution.convolution_weight_gradient(dy, x, w.shape, *options, 1)
            wide = dy.astype(np.float64), x.astype(np.float64)
            exact = reference.weight_gradient_reference(*wide, w.shape, *options, 1)
        np.testing.assert_array_equal(np.isnan(found), np.isnan(exact))


@pytest.mark.parametrize(
    "case", [*CASES, BIG, (9, 130, (7, 7), 40, (3, 3), (2, 2), (1, 1), (1, 1))]
)
@pytest.mark.parametrize("limit", [None, 1])
@pytest.mark.parametrize("tiny", [False, True])
def test_bits_do_not_depend_on_threads(rng, case, limit, tiny, monkeypatch):
    """Up to four threads gather for themselves. Where the share of one cannot be split, though the
    whole can (`tiny`), all go the other way."""
    if limit:
        monkeypatch.setattr(gathered, "PACKED_LIMIT", limit)
    x, w, dy, size = arrays(rng, case)
    if tiny:
        x[:1] *= np.float32(1e-30)
        dy[:, :1] *= np.float32(1e-30)
    n, c, image, o, kernel, stride, padding, dilation = case
    sizes = (n, c, image, o, size, kernel, stride, padding, dilation)
    direct = convolution._build_forward(
        n, c, image, o, kernel, stride, padding, dilation, 1, direct=True
    )
    weight = convolution._build_weight_gradient(
        n, c, image, o, kernel, stride, padding, dilation, 1, direct=True
    )
    before, found = threads.get_num_threads(), []
    try:
        for count in (1, 2, 3, 4, 5, 8):
            threads.set_num_threads(count)
            (_, y), (_, dw) = guarded(dy.shape), guarded(w.shape)
            gathered.Forward(*sizes, False, 3, lambda: direct).run(x, w, y, None)
            gathered.WeightGradient(*sizes, 3, lambda: weight).run(x, dy, dw)
            found.append((y, dw))
    finally:
        threads.set_num_threads(before)
    assert not np.isnan(found[0][0]).any() and not np.isnan(found[0][1]).any()
    for y, dw in found[1:]:
        np.testing.assert_array_equal(y, found[0][0])
        np.testing.assert_array_equal(dw, found[0][1])


HALF_CASES = [
    BIG,
    (2, 40, (12, 9), 48, (3, 2), (1, 1), (0, 1), (1, 1)),
    (3, 64, (10, 10), 64, (3, 3), (2, 2), (1, 1), (1, 1)),
]


@pytest.mark.parametrize("case", HALF_CASES)
def test_bfloat16(rng, case):
    """Values of one plane: exact products, sums in float32, one rounding."""
    x, w, dy, size = (v if isinstance(v, tuple) else v.astype(ml_dtypes.bfloat16)
                      for v in arrays(rng, case))  # fmt: skip
    options = (*case[5:8], 1)
    wide = {id(v): v.astype(np.float64) for v in (x, w, dy)}
    pairs = [
        (convolution.convolution_forward(x, w, None, *options),
         reference.forward_reference(wide[id(x)], wide[id(w)], None, *options)),
        (convolution.convolution_input_gradient(dy, w, x.shape, *options),
         reference.input_gradient_reference(wide[id(dy)], wide[id(w)], x.shape, *options)),
        (convolution.convolution_weight_gradient(dy, x, w.shape, *options),
         reference.weight_gradient_reference(wide[id(dy)], wide[id(x)], w.shape, *options)),
    ]  # fmt: skip
    for result, exact in pairs:
        assert result.dtype == ml_dtypes.bfloat16
        scale = np.sqrt(np.square(exact).mean())
        error = np.abs(result.astype(np.float64) - exact)
        assert (error <= np.abs(exact) * 2.0**-8 + 2e-6 * scale).all()
