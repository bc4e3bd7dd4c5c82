"""Errors in units in the last place, and the same bits from code for another processor."""

from __future__ import annotations

import ctypes
import math

import numpy as np
import pytest

from rushlight.compiler import compile_kernel, xp
from rushlight.compiler.cpu import programs as machine
from rushlight.machine.elementwise_engine import Engine
from rushlight.machine.processors import fuses_vectors

# word -> largest error measured on dense samples (float32, float64), rounded up.
LIMITS = {
    "exp": (1.1, 1.1),
    "exp2": (1.1, 1.1),
    "expm1": (1.6, 2.0),
    "log": (1.1, 1.4),
    "log2": (1.6, 1.0),
    "log10": (1.2, 1.0),
    "log1p": (1.4, 1.7),
    "sin": (1.7, 1.7),
    "cos": (1.7, 1.7),
    "tan": (1.6, 3.8),
    "asin": (1.8, 1.8),
    "acos": (1.4, 1.4),
    "atan": (2.0, 1.8),
    "sinh": (1.8, 1.8),
    "cosh": (1.6, 1.6),
    "tanh": (2.0, 2.7),
    "asinh": (2.0, 2.4),
    "acosh": (2.0, 2.2),
    "atanh": (2.0, 2.3),
    "sigmoid": (1.9, 2.1),
}
NUMPY_NAMES = {n: "arc" + n[1:] for n in ("asin", "acos", "atan", "asinh", "acosh", "atanh")}


def oracle(name):
    if name == "sigmoid":
        return lambda x: np.where(x > 0, 1 / (1 + np.exp(-x)), np.exp(x) / (1 + np.exp(x)))
    return getattr(np, NUMPY_NAMES.get(name, name))


def points(kind, count=1 << 16):
    """Random bit patterns, then dense ranges."""
    generator = np.random.default_rng(0)
    word = np.uint32 if kind is np.float32 else np.uint64
    patterns = generator.integers(0, np.iinfo(word).max, count, dtype=word).view(kind)
    ranges = [generator.uniform(-limit, limit, count).astype(kind) for limit in (1, 20, 120)]
    return np.concatenate([patterns, *ranges])


def ulps(got, true):
    info = np.finfo(got.dtype)
    rounded = true.astype(got.dtype)
    size = np.maximum(np.abs(true.astype(np.float64)), info.smallest_normal)
    spacing = np.maximum(np.exp2(np.floor(np.log2(size)) - info.nmant), info.smallest_subnormal)
    error = (np.abs(got.astype(true.dtype) - true) / spacing).astype(np.float64)
    agree = (got == rounded) | (np.isnan(got) & np.isnan(rounded))
    both_finite = np.isfinite(got) & np.isfinite(rounded)
    return np.where(both_finite, error, np.where(agree, 0, np.inf)).max()


def kernel_of(name, dtype):
    word = getattr(xp, name)
    return compile_kernel(lambda x: word(x), {"x": dtype}, {}, {}, {}, (dtype,))


@pytest.mark.parametrize("name", LIMITS)
@pytest.mark.parametrize(
    ("dtype", "kind", "wide"), [("f32", np.float32, np.float64), ("f64", np.float64, np.longdouble)]
)
def test_ulps(name, dtype, kind, wide):
    if np.finfo(wide).nmant <= np.finfo(kind).nmant:
        pytest.skip("no wider format to compare with")
    x = points(kind)
    with np.errstate(all="ignore"):
        true = oracle(name)(x.astype(wide))
        assert ulps(kernel_of(name, dtype)(x), true) <= LIMITS[name][dtype == "f64"]


# Without a NumPy function: Python's own, in float64, a few exact values apart.
PYTHON = {
    "erf": (math.erf, 1.5, 4),
    "erfc": (math.erfc, 1.9, 4),
    "lgamma": (math.lgamma, 1.0, None),
}


@pytest.mark.parametrize("name", PYTHON)
def test_against_the_math_module(name):
    function, limit32, limit64 = PYTHON[name]
    x = np.random.default_rng(1).uniform(0.01 if name == "lgamma" else -6, 9, 20_000)
    for dtype, limit in (("f32", limit32), ("f64", limit64)):
        if limit is None:
            continue
        values = x.astype(np.float32 if dtype == "f32" else np.float64)
        true = np.array([function(float(v)) for v in values])
        assert ulps(kernel_of(name, dtype)(values), true) <= limit


def test_erfinv_inverts_erf():
    y = np.concatenate([np.linspace(-1, 1, 20_001)[1:-1], [1 - 1e-12, 1e-300, -1e-9]])
    x = kernel_of("erfinv", "f64")(y)
    back = np.array([math.erf(v) for v in x])
    slope = 2 / math.sqrt(math.pi) * np.exp(-x * x)
    assert (np.abs(back - y) <= 8 * 2.3e-16 * (np.abs(x) * slope + np.abs(y))).all()


def test_digamma_follows_its_recurrence():
    x = np.random.default_rng(2).uniform(0.01, 60, 5000)
    psi = kernel_of("digamma", "f64")
    np.testing.assert_allclose(psi(x + 1), psi(x) + 1 / x, rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(psi(np.array([1.0])), -0.5772156649015329, rtol=1e-15)
    reflected = psi(1 - x) - psi(x)
    np.testing.assert_allclose(reflected, math.pi / np.tan(math.pi * x), rtol=1e-9, atol=1e-9)


def test_trigamma_follows_its_recurrence():
    x = np.random.default_rng(2).uniform(0.01, 60, 5000)
    psi = kernel_of("trigamma", "f64")
    np.testing.assert_allclose(psi(x), psi(x + 1) + 1 / x**2, rtol=3e-15)
    np.testing.assert_allclose(psi(np.array([1.0, 0.5])), [math.pi**2 / 6, math.pi**2 / 2])
    whole = (math.pi / np.sin(math.pi * x)) ** 2
    np.testing.assert_allclose(psi(1 - x) + psi(x), whole, rtol=1e-9)


def test_remainders_are_exact():
    generator = np.random.default_rng(3)
    for dtype, kind in (("f32", np.float32), ("f64", np.float64)):
        x = (
            generator.standard_normal(20_000) * 10.0 ** generator.integers(-20, 20, 20_000)
        ).astype(kind)
        y = (
            generator.standard_normal(20_000) * 10.0 ** generator.integers(-20, 20, 20_000)
        ).astype(kind)
        names = {"x": dtype, "y": dtype}
        got = compile_kernel(lambda x, y: xp.fmod(x, y), names, names, {}, {}, (dtype,))(x, y)
        np.testing.assert_array_equal(got, np.fmod(x, y))
        got = compile_kernel(lambda x, y: xp.remainder(x, y), names, names, {}, {}, (dtype,))(x, y)
        np.testing.assert_array_equal(got, np.remainder(x, y))
        whole = generator.integers(-50, 50, 5000).astype(kind)
        divisor = generator.integers(1, 9, 5000).astype(kind)
        got = compile_kernel(lambda x, y: xp.floor_divide(x, y), names, names, {}, {}, (dtype,))(
            whole, divisor
        )
        np.testing.assert_array_equal(got, np.floor_divide(whole, divisor))


@pytest.mark.skipif(not fuses_vectors(), reason="the code below is x86 code")
def test_avx2_code_gives_the_same_bits():
    target = Engine("haswell")
    call = ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * 4)(machine.driver("flat"))
    x = points(np.float32, 1 << 12)
    for name in ("exp", "log1p", "tanh", "erf", "sin", "expm1", "sigmoid", "atan", "cosh"):
        kernel = kernel_of(name, "f32")
        code = machine.descriptor(kernel.program, target=target)
        out = np.empty_like(x)
        table = np.array([code.ctypes.data, out.ctypes.data, x.ctypes.data], np.int64)
        call(table.ctypes.data, 0, x.size, 0)
        np.testing.assert_array_equal(out, kernel(x))


def test_remainders_by_infinity():
    x = np.array([0.0, -0.0, 1.0, -2.5, np.inf, np.nan])
    x, y = (v.ravel() for v in np.meshgrid(x, np.array([np.inf, -np.inf])))
    for dtype, kind in (("f32", np.float32), ("f64", np.float64)):
        names = {"x": dtype, "y": dtype}
        a, b = x.astype(kind), y.astype(kind)
        for word in ("fmod", "remainder", "floor_divide"):
            call = compile_kernel(
                lambda x, y, w=word: getattr(xp, w)(x, y), names, names, {}, {}, (dtype,)
            )
            with np.errstate(invalid="ignore"):
                np.testing.assert_array_equal(call(a, b), getattr(np, word)(a, b))


def test_square_roots_are_rounded_as_by_the_instruction():
    kernel = kernel_of("sqrt", "f32")
    for exponent in (1, 31, 127, 128, 254):
        fraction = np.arange(0, 1 << 23, 3, dtype=np.uint32)
        x = (fraction | np.uint32(exponent << 23)).view(np.float32)
        assert np.array_equal(kernel(x), np.sqrt(x))
    x = points(np.float32)
    x[::7], x[3::50] = 0.0, -0.0
    with np.errstate(invalid="ignore"):
        assert np.array_equal(kernel(x), np.sqrt(x), equal_nan=True)
    assert np.array_equal(np.signbit(kernel(x[3::50])), np.signbit(x[3::50]))


@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
@pytest.mark.parametrize("limit", [4.0, 1e3, 2.0**17, 2.0**24, 2.0**39])
def test_reduced_arguments(name, limit):
    x = np.random.default_rng(1).uniform(-limit, limit, 1 << 18).astype(np.float32)
    turns = np.round(x / (np.pi / 2)) * (np.pi / 2)
    near = np.nextafter(turns.astype(np.float32), np.float32(0))
    for values in (x, turns.astype(np.float32), near):
        got, true = kernel_of(name, "f32")(values), oracle(name)(values.astype(np.float64))
        assert ulps(got, true) <= LIMITS[name][0]


@pytest.mark.parametrize("name", ["sin", "cos", "tan", "log", "sqrt", "exp"])
def test_rare_arguments_do_not_change_their_neighbours(name):
    kernel = kernel_of(name, "f32")
    x = np.random.default_rng(2).uniform(0.1, 5, 4097).astype(np.float32)
    alone = kernel(x)
    rare = np.array([np.nan, np.inf, 1e-40, 0.0, 3e5, 1e30, -1.0], np.float32)
    mixed = x.copy()
    mixed[5::97] = np.resize(rare, len(mixed[5::97]))
    found, kept = kernel(mixed), np.ones(len(x), bool)
    kept[5::97] = False
    assert np.array_equal(found[kept], alone[kept])
    with np.errstate(all="ignore"):
        true = oracle(name)(mixed[~kept].astype(np.float64)).astype(np.float32)
    assert np.allclose(found[~kept], true, rtol=3e-7, atol=1e-44, equal_nan=True)
