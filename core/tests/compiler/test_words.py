"""Every word of the vocabulary: NumPy reference, compiled kernel and PyTorch agree."""

from __future__ import annotations

import functools

import ml_dtypes
import numpy as np
import pytest

from rushlight.compiler import Kernel, compile_kernel, reference, xp
from rushlight.compiler.vocabulary import PRIMITIVES, Vocabulary

NUMPY = {
    "bool": np.bool_,
    "u8": np.uint8,
    "i8": np.int8,
    "i16": np.int16,
    "i32": np.int32,
    "i64": np.int64,
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "f32": np.float32,
    "f64": np.float64,
}
TORCH_NAMES = {
    "negative": "neg",
    "subtract": "sub",
    "multiply": "mul",
    "power": "pow",
    "invert": "bitwise_not",
    "left_shift": "bitwise_left_shift",
    "right_shift": "bitwise_right_shift",
    "less": "lt",
    "less_equal": "le",
    "greater": "gt",
    "greater_equal": "ge",
    "equal": "eq",
    "not_equal": "ne",
}
FLOATS = ("f32", "f64", "f16", "bf16")
INTS = ("i64", "i32", "i16", "i8", "u8")
ALL = (*FLOATS, *INTS, "bool")
NUMERIC = (*FLOATS, *INTS)
# word -> dtypes it is tested in; floats first
FLOAT_UNARY = (
    "ceil floor trunc round frac sqrt exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos "
    "atan sinh cosh tanh asinh acosh atanh erf erfc erfinv lgamma digamma reciprocal rsqrt sigmoid "
    "sinc nan_to_num"
).split()
UNARY = {name: FLOATS for name in FLOAT_UNARY}
UNARY |= {name: NUMERIC for name in ("negative", "square", "abs")}
UNARY |= {name: ALL for name in "sign signbit isnan isinf isfinite isposinf isneginf".split()}
UNARY |= {"logical_not": ALL, "invert": (*INTS, "bool")}
BINARY = {name: FLOATS for name in "divide atan2 hypot logaddexp xlogy copysign".split()}
BINARY |= {"nextafter": ("f32", "f64"), "subtract": NUMERIC, "power": NUMERIC}
BINARY |= {
    name: NUMERIC
    for name in "floor_divide fmod remainder fmax fmin heaviside minimum maximum".split()
}
BINARY |= {
    name: ALL
    for name in (
        "add multiply less less_equal greater greater_equal equal not_equal logical_and logical_or "
        "logical_xor"
    ).split()
}
BINARY |= {name: (*INTS, "bool") for name in "bitwise_and bitwise_or bitwise_xor".split()}
BINARY |= {name: INTS for name in "left_shift right_shift".split()}
CASES = [
    (name, dtype) for table in (UNARY, BINARY) for name, dtypes in table.items() for dtype in dtypes
]
TO_BOOL = {n for n, rule in PRIMITIVES.items() if rule in ("compare", "test", "logical")}
TO_BOOL |= {"isposinf", "isneginf"}
SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, 3.0, -3.0, 7.0, 20.0, -20.0, 100.0]
SPECIAL += [np.inf, -np.inf, np.nan, 1e-40, -1e-40, 1e30, -1e30, 0.999, -0.999, 1e-3, -5.5, 88.8]
# Relative and absolute tolerance against float64-exact values: a few units in the last place.
TOLERANCE = {
    "f32": (2e-6, 1e-37),
    "f64": (3e-14, 1e-300),
    "f16": (1e-3, 1e-7),
    "bf16": (8e-3, 1e-38),
}
# Near a zero of the function only the absolute error is bounded.
ABSOLUTE = {"lgamma": 3, "digamma": 3, "logaddexp": 1, "sinc": 1, "log": 0.1}
# PyTorch's vectorised remainders give nan once x / y is not exact; ours follow C.
QUOTIENTS = ("floor_divide", "fmod", "remainder")


def sample(dtype, arity, name):
    """Special values in every combination, then random numbers."""
    generator = np.random.default_rng(len(name))
    if dtype == "bool":
        columns = [generator.random(100) > 0.5 for _ in range(arity)]
    elif dtype in INTS:
        info = np.iinfo(NUMPY[dtype])
        edges = np.array([0, 1, 2, 3, 7, info.min, info.max, info.max - 1, info.min + 1])
        columns = [np.concatenate([edges, generator.integers(-9, 9, 91).clip(info.min)])]
        if arity == 2:
            columns = [a.ravel() for a in np.meshgrid(*columns * 2)]
    else:
        values = np.concatenate([SPECIAL, generator.normal(size=60) * 3, generator.random(40) * 40])
        if name in QUOTIENTS:
            values = values[np.abs(values) < 1e3]
            values = values[(values == 0) | (np.abs(values) > 1e-2)]
        columns = [values] if arity == 1 else [a.ravel() for a in np.meshgrid(values, values)]
    with np.errstate(all="ignore"):
        return [c.astype(NUMPY[dtype]) for c in columns]


def build(maker, name, dtype, storage):
    word = getattr(xp, name)
    names = ["x", "y"][: 2 if name in BINARY else 1]
    if name == "nan_to_num":
        word = functools.partial(word, storage=dtype)
    body = (lambda x: word(x)) if len(names) == 1 else (lambda x, y: word(x, y))
    operands = dict.fromkeys(names, dtype)
    return maker(body, operands, operands, {}, {}, (storage,))


def agree(got, want, name, dtype, factor=1.0):
    if got.dtype.kind in "biu":
        assert got.dtype == want.dtype
        np.testing.assert_array_equal(got, want)
        return
    relative, absolute = TOLERANCE[dtype]
    if name in ABSOLUTE:
        absolute = max(absolute, relative * ABSOLUTE[name])
    np.testing.assert_allclose(
        got.astype(np.float64), want.astype(np.float64), relative * factor, absolute
    )


@pytest.mark.parametrize(("name", "dtype"), CASES)
def test_compiled_is_reference(name, dtype):
    storage = "bool" if name in TO_BOOL else dtype
    kernel = build(compile_kernel, name, dtype, storage)
    assert isinstance(kernel, Kernel)
    arrays = sample(dtype, 2 if name in BINARY else 1, name)
    agree(kernel(*arrays), build(reference, name, dtype, storage)(*arrays), name, dtype)


@pytest.mark.parametrize(("name", "dtype"), CASES)
def test_compiled_is_torch(name, dtype):
    torch = pytest.importorskip("torch")
    arrays = sample(dtype, 2 if name in BINARY else 1, name)
    if dtype in INTS and name in QUOTIENTS:  # division by zero raises there, min / -1 traps
        arrays[1][(arrays[1] == 0) | (arrays[1] == NUMPY[dtype](-1 if dtype != "u8" else 0))] = 3
    if dtype in INTS and name == "power":
        arrays[1] = np.abs(arrays[1]) % 40
    if name in (
        "sinh",
        "cosh",
    ):  # PyTorch overflows at 88 already, half the result's exponent early
        arrays = [np.where(np.abs(x) == NUMPY[dtype](88.8), NUMPY[dtype](80), x) for x in arrays]

    def tensor(x):
        half = x.dtype == ml_dtypes.bfloat16
        return (
            torch.from_numpy(x.view(np.int16)).view(torch.bfloat16) if half else torch.from_numpy(x)
        )

    want = getattr(torch, TORCH_NAMES.get(name, name))(*map(tensor, arrays))
    want = want.float().numpy() if want.dtype == torch.bfloat16 else want.numpy()
    kernel = build(compile_kernel, name, dtype, "bool" if name in TO_BOOL else dtype)
    agree(kernel(*arrays), want, name, dtype, 2.0)


def test_every_word_is_tested():
    """Words without PyTorch's function of the same arity have tests of their own."""
    words = {w for w in vars(Vocabulary) if not w.startswith("_")} - {"pi", "inf", "nan"}
    elsewhere = {"is_traced", "where", "cast", "clip", "real", "imag", "conj", "angle", "complex"}
    elsewhere |= {"as_stored", "trigamma"}
    assert words - elsewhere == set(UNARY) | set(BINARY)


@pytest.mark.parametrize("dtype", ["f32", "f64", "i32"])
def test_where_and_clip(dtype):
    x = np.array([-3, -1, 0, 2, 5], NUMPY[dtype])

    def body(x, low, high):
        return xp.where(x > low, xp.clip(x, low, high), -x), xp.clip(x, None, 1), xp.clip(x, 2)

    arguments = ({"x": dtype}, {"x": dtype}, {"low": "i64", "high": "i64"}, {}, (dtype,) * 3)
    for maker in (compile_kernel, reference):
        first, upper, lower = maker(body, *arguments)(x, -2, 3)
        np.testing.assert_array_equal(first, [3, -1, 0, 2, 3])
        np.testing.assert_array_equal(upper, np.minimum(x, 1))
        np.testing.assert_array_equal(lower, np.maximum(x, 2))
        assert first.dtype == upper.dtype == NUMPY[dtype]


@pytest.mark.parametrize("dtype", ["u8", "i32"])
def test_bounds_as_they_are_stored(dtype):
    """Numbers outside the range of bytes wrap around, where a kernel is traced."""
    x = np.array([0, 3, 200], NUMPY[dtype])
    arguments = ({"x": dtype}, {"x": dtype, "n": dtype}, {"n": "i64"}, {}, (dtype,))
    found = compile_kernel(lambda x, n: xp.maximum(x, n), *arguments)(x, -56)
    np.testing.assert_array_equal(found, [200, 200, 200] if dtype == "u8" else x)
    assert found.dtype == x.dtype


@pytest.mark.parametrize("dtype", ["f16", "bf16"])
def test_nextafter_in_a_half_width_format(dtype):
    names = {"x": dtype, "y": dtype}
    x = np.array([0, -0.0, 1, -1, 3.5, np.inf, np.nan, 1, 1e-7, 2, -2], NUMPY[dtype])
    y = np.array([1, -1, 2, -2, 0, 0, 1, np.nan, -1, 2, 3], NUMPY[dtype])
    want = np.nextafter(x, y)
    for maker in (compile_kernel, reference):
        kernel = maker(
            lambda x, y: xp.nextafter(x, y, storage=dtype), names, names, {}, {}, (dtype,)
        )
        got = kernel(x, y)
        assert got.dtype == want.dtype
        np.testing.assert_array_equal(got.astype(float), want.astype(float))


def test_words_on_arrays_and_numbers():
    x = np.array([1.0, -2.0, np.nan], np.float32)
    assert xp.sqrt(4.0) == 2.0
    assert type(xp.maximum(2, 3)) is int
    assert not xp.is_traced(x)
    for result in (xp.add(x, 2.5), xp.where(x > 0, x, 0.5), xp.sigmoid(x), xp.multiply(2, x)):
        assert result.dtype == np.float32 and result.shape == (3,)
    assert xp.divide(np.array([1, 2]), 2).dtype == np.float32
    np.testing.assert_array_equal(xp.sign(x), np.array([1, -1, 0], np.float32))
    half = xp.exp(x.astype(ml_dtypes.bfloat16))
    assert half.dtype == ml_dtypes.bfloat16
    np.testing.assert_array_equal(xp.cast(np.array([300, -1]), "u8"), [44, 255])
    with pytest.raises(TypeError, match="unknown dtype 'float32'"):
        xp.cast(x, "float32")


def test_complex_words_run_on_the_reference():
    z = np.array([1 + 2j, -3.5j, 0], np.complex64)
    names = {"z": "c64"}

    def make(body, storage):
        return compile_kernel(body, names, names, {}, {}, (storage,))

    np.testing.assert_array_equal(make(lambda z: z * xp.conj(z), "c64")(z), z * z.conj())
    np.testing.assert_allclose(make(lambda z: xp.abs(z), "f32")(z), np.abs(z))
    np.testing.assert_allclose(make(lambda z: xp.angle(z), "f32")(z), np.angle(z))
    np.testing.assert_allclose(make(lambda z: xp.exp(z), "c64")(z), np.exp(z), rtol=1e-6)
    swapped = make(lambda z: xp.complex(xp.imag(z), xp.real(z)), "c64")(z)
    np.testing.assert_array_equal(swapped, 1j * z.conj())
    assert make(lambda z: xp.sigmoid(z), "c64").fast is None
    inside = compile_kernel(
        lambda x: xp.abs(xp.complex(x, x)), {"x": "f32"}, {"x": "f32"}, {}, {}, ("f32",)
    )
    np.testing.assert_allclose(inside(np.array([3.0], np.float32)), [4.2426405])
