"""The functions of the array API standard give what array-api-strict gives: values, dtypes, shapes.

The cases are calls on a namespace and on a maker of arrays; both namespaces run them.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import rushlight
from rushlight import array_api

strict = pytest.importorskip("array_api_strict")

REAL, COMPLEX = ("float32", "float64"), ("complex64", "complex128")
INTEGERS = ("int8", "int16", "int32", "int64", "uint8")
NUMERIC = (*INTEGERS, *REAL, *COMPLEX)
ALL = ("bool", *NUMERIC)
SPECIAL = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.0, 1e-30, 1e30]


def numbers(dtype, shape=(3, 4), seed=0, low=-3, high=4):
    """The same NumPy array for both namespaces."""
    generator = np.random.default_rng(seed)
    if dtype == "bool":
        return generator.integers(0, 2, shape).astype(bool)
    if dtype in INTEGERS:
        return generator.integers(max(low, 0) if dtype[0] == "u" else low, high, shape).astype(
            dtype
        )
    values = generator.uniform(low, high, shape)
    if dtype in COMPLEX:
        values = values + 1j * generator.uniform(low, high, shape)
    return values.astype(dtype)


class Maker:
    """Gives a case its arrays in one namespace."""

    def __init__(self, xp):
        self.xp = xp

    def __call__(self, dtype, shape=(3, 4), seed=0, **limits):
        return self.xp.asarray(numbers(dtype, shape, seed, **limits))

    def of(self, values, dtype):
        return self.xp.asarray(np.asarray(values, dtype=dtype))

    def dtype(self, name):
        return getattr(self.xp, name)


def flat(result):
    if isinstance(result, tuple | list):
        return [item for part in result for item in flat(part)]
    return [result]


def check(case, tolerance=1e-5):
    """Run one case in both namespaces and compare every array that comes out."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore", RuntimeWarning)
        expected = flat(case(strict, Maker(strict)))
    found = flat(case(array_api, Maker(array_api)))
    assert len(found) == len(expected)
    for ours, theirs in zip(found, expected, strict=True):
        if not isinstance(ours, rushlight.Tensor):
            assert ours == theirs
            continue
        wanted = np.asarray(theirs)
        assert ours.dtype.name == wanted.dtype.name
        assert tuple(ours.shape) == wanted.shape
        np.testing.assert_allclose(ours.numpy(), wanted, rtol=tolerance, atol=tolerance)


# -------------------------------------------------------------------------------------- elementwise
UNARY = {
    "abs": NUMERIC,
    "acos": (*REAL, *COMPLEX),
    "acosh": (*REAL, *COMPLEX),
    "asin": (*REAL, *COMPLEX),
    "asinh": (*REAL, *COMPLEX),
    "atan": (*REAL, *COMPLEX),
    "atanh": (*REAL, *COMPLEX),
    "bitwise_invert": ("bool", *INTEGERS),
    "ceil": (*INTEGERS, *REAL),
    "conj": COMPLEX,
    "cos": (*REAL, *COMPLEX),
    "cosh": (*REAL, *COMPLEX),
    "exp": (*REAL, *COMPLEX),
    "expm1": (*REAL, *COMPLEX),
    "floor": (*INTEGERS, *REAL),
    "imag": COMPLEX,
    "isfinite": NUMERIC,
    "isinf": NUMERIC,
    "isnan": NUMERIC,
    "log": (*REAL, *COMPLEX),
    "log1p": (*REAL, *COMPLEX),
    "log2": (*REAL, *COMPLEX),
    "log10": (*REAL, *COMPLEX),
    "logical_not": ("bool",),
    "negative": NUMERIC,
    "positive": NUMERIC,
    "real": COMPLEX,
    "reciprocal": (*REAL, *COMPLEX),
    "round": NUMERIC,
    "sign": NUMERIC,
    "signbit": REAL,
    "sin": (*REAL, *COMPLEX),
    "sinh": (*REAL, *COMPLEX),
    "sqrt": (*REAL, *COMPLEX),
    "square": NUMERIC,
    "tan": (*REAL, *COMPLEX),
    "tanh": (*REAL, *COMPLEX),
    "trunc": (*INTEGERS, *REAL),
}
BINARY = {
    "add": NUMERIC,
    "atan2": REAL,
    "bitwise_and": ("bool", *INTEGERS),
    "bitwise_or": ("bool", *INTEGERS),
    "bitwise_xor": ("bool", *INTEGERS),
    "copysign": REAL,
    "divide": (*REAL, *COMPLEX),
    "equal": ALL,
    "floor_divide": REAL,
    "greater": (*INTEGERS, *REAL),
    "greater_equal": (*INTEGERS, *REAL),
    "hypot": REAL,
    "less": (*INTEGERS, *REAL),
    "less_equal": (*INTEGERS, *REAL),
    "logaddexp": REAL,
    "logical_and": ("bool",),
    "logical_or": ("bool",),
    "logical_xor": ("bool",),
    "maximum": (*INTEGERS, *REAL),
    "minimum": (*INTEGERS, *REAL),
    "multiply": NUMERIC,
    "nextafter": REAL,
    "not_equal": ALL,
    "pow": REAL,
    "remainder": REAL,
    "subtract": NUMERIC,
}


@pytest.mark.parametrize("name", UNARY)
def test_unary(name):
    for dtype in UNARY[name]:
        check(lambda xp, make, d=dtype: getattr(xp, name)(make(d)))
        check(lambda xp, make, d=dtype: getattr(xp, name)(make(d, ())))
        check(lambda xp, make, d=dtype: getattr(xp, name)(make(d, (0, 2))))
    if "float64" in UNARY[name]:
        check(lambda xp, make: getattr(xp, name)(make.of(SPECIAL, "float64")))


@pytest.mark.parametrize("name", BINARY)
def test_binary(name):
    for dtype in BINARY[name]:
        check(lambda xp, make, d=dtype: getattr(xp, name)(make(d), make(d, (4,), 1, low=1)))
        check(lambda xp, make, d=dtype: getattr(xp, name)(make(d), make(d, (), 1, low=1)))
    if "float64" in BINARY[name]:
        x = [a for a in SPECIAL for _ in SPECIAL]
        y = [b for _ in SPECIAL for b in SPECIAL]
        check(
            lambda xp, make: getattr(xp, name)(make.of(x, "float64"), make.of(y, "float64")),
        )


@pytest.mark.parametrize(
    "pair",
    [
        ("int8", "uint8"),
        ("int8", "int64"),
        ("float32", "float64"),
        ("float32", "complex128"),
        ("float64", "complex64"),
    ],
)
def test_promotion_follows_dtypes_not_shapes(pair):
    for first, second in (pair, pair[::-1]):
        check(lambda xp, make, a=first, b=second: xp.add(make(a), make(b, (), 1)))
        check(lambda xp, make, a=first, b=second: xp.multiply(make(a, ()), make(b, (4,), 1)))
        check(lambda xp, make, a=first, b=second: xp.concat([make(a, (2,)), make(b, (3,))]))
        check(lambda xp, make, a=first, b=second: xp.where(make("bool"), make(a), make(b, ())))
        check(lambda xp, make, a=first, b=second: xp.stack([make(a), make(b)]))


NUMBERS_TOO = {
    "add": 2,
    "multiply": 2.5,
    "maximum": 0,
    "less": 1.5,
    "divide": 2,
    "hypot": 1.0,
    "pow": 2,
    "subtract": 1j,
    "bitwise_left_shift": 1,
    "logical_and": True,
    "copysign": -1.0,
}


@pytest.mark.parametrize("name", NUMBERS_TOO)
def test_python_numbers_take_on_the_arrays_dtype(name):
    number = NUMBERS_TOO[name]
    dtype = {"bitwise_left_shift": "int16", "logical_and": "bool", "subtract": "complex64"}.get(
        name, "float32"
    )
    check(lambda xp, make: getattr(xp, name)(make(dtype, low=0), number))
    check(lambda xp, make: getattr(xp, name)(number, make(dtype, low=0)))


def test_shifts():
    for dtype in INTEGERS:
        for name in ("bitwise_left_shift", "bitwise_right_shift"):
            check(lambda xp, m, d=dtype, n=name: getattr(xp, n)(m(d), m(d, (4,), low=0, high=3)))


def test_clip():
    for dtype in (*INTEGERS, *REAL):
        check(lambda xp, make, d=dtype: xp.clip(make(d), 1, 2))
        check(lambda xp, make, d=dtype: xp.clip(make(d), max=make(d, (4,), 1)))
        check(lambda xp, make, d=dtype: xp.clip(make(d), min=make(d, (4,), 1)))
        check(lambda xp, make, d=dtype: xp.clip(make(d)))
    check(lambda xp, make: xp.clip(make("float32"), float("-inf"), 0.5))


# ----------------------------------------------------------------------------------------- creation
CREATION = {
    "arange": lambda xp, m: [
        xp.arange(5),
        xp.arange(1.0, 4.0, dtype=xp.float32),
        xp.arange(5, 1),
        xp.arange(5, 0, -2),
        xp.arange(0, 1, 0.25, dtype=xp.float64),
        xp.arange(3, dtype=xp.float64),
    ],
    "asarray": lambda xp, m: [
        xp.asarray(1),
        xp.asarray(1.5, dtype=xp.float64),
        xp.asarray([True, False]),
        xp.asarray([[1, 2]], dtype=xp.float32),
        xp.asarray(m("int8")),
        xp.asarray(m("int8"), dtype=xp.int64, copy=True),
    ],
    "eye": lambda xp, m: [
        xp.eye(3, dtype=xp.float32),
        xp.eye(3, 4, k=1, dtype=xp.int32),
        xp.eye(2, 3, k=-1, dtype=xp.bool),
        xp.eye(2, k=5, dtype=xp.float64),
    ],
    "full": lambda xp, m: [
        xp.full((2, 3), 7),
        xp.full(3, True),
        xp.full((), 2, dtype=xp.int8),
        xp.full_like(m("int16"), 3),
        xp.full_like(m("int16"), 3, dtype=xp.float64),
    ],
    "linspace": lambda xp, m: [
        xp.linspace(0, 1, 5, dtype=xp.float64),
        xp.linspace(2, 1, 4, endpoint=False, dtype=xp.float32),
        xp.linspace(0, 1, 0, dtype=xp.float64),
        xp.linspace(0, 1j, 3, dtype=xp.complex128),
        xp.linspace(3, 4, 1, dtype=xp.float64),
    ],
    "meshgrid": lambda xp, m: [
        xp.meshgrid(m("int64", (2,)), m("int64", (3,))),
        xp.meshgrid(m("float32", (2,)), m("float32", (3,)), indexing="ij"),
    ],
    "zeros and ones": lambda xp, m: [
        xp.zeros((2, 3), dtype=xp.int8),
        xp.ones(4, dtype=xp.bool),
        xp.zeros_like(m("complex64")),
        xp.ones_like(m("int64")),
        xp.zeros((0, 2), dtype=xp.float64),
    ],
    "tril and triu": lambda xp, m: [
        xp.tril(m("float64")),
        xp.triu(m("int32"), k=1),
        xp.tril(m("bool", (2, 3, 3)), k=-1),
    ],
}

# -------------------------------------------------------------------------------------- arrangement
ARRANGEMENT = {
    "astype": lambda xp, m: [
        xp.astype(m(a), m.dtype(b))
        for a, b in [
            ("int8", "float64"),
            ("float64", "int32"),
            ("bool", "int64"),
            ("int64", "bool"),
            ("float32", "complex128"),
        ]
    ],
    "broadcast": lambda xp, m: [
        xp.broadcast_to(m("int8", (3, 1)), (2, 3, 4)),
        xp.broadcast_arrays(m("int8", (3, 1)), m("float32", (4,))),
    ],
    "concat": lambda xp, m: [
        xp.concat([m("int8"), m("int8", (1, 4))]),
        xp.concat([m("int8"), m("int8", (3, 1))], axis=-1),
        xp.concat([m("int8"), m("int8", (2, 2))], axis=None),
    ],
    "expand_dims": lambda xp, m: [xp.expand_dims(m("int8"), axis=a) for a in (0, 1, 2, -1, -3)],
    "flip": lambda xp, m: [
        xp.flip(m("int8")),
        xp.flip(m("int8"), axis=0),
        xp.flip(m("int8"), axis=(0, -1)),
        xp.flip(m("bool", ())),
    ],
    "moveaxis": lambda xp, m: [
        xp.moveaxis(m("int8", (2, 3, 4)), 0, -1),
        xp.moveaxis(m("int8", (2, 3, 4)), (0, 1), (2, 0)),
    ],
    "permute_dims": lambda xp, m: xp.permute_dims(m("int8", (2, 3, 4)), (2, 0, 1)),
    "repeat": lambda xp, m: [
        xp.repeat(m("int8"), 2),
        xp.repeat(m("int8"), 2, axis=1),
        xp.repeat(m("int8"), m.of([1, 0, 2], "int64"), axis=0),
    ],
    "reshape": lambda xp, m: [
        xp.reshape(m("int8"), (4, 3)),
        xp.reshape(m("int8"), (-1, 2)),
        xp.reshape(m("int8"), (2, 6), copy=True),
        xp.reshape(m("int8"), (12,), copy=False),
    ],
    "roll": lambda xp, m: [
        xp.roll(m("int8"), 2),
        xp.roll(m("int8"), -1, axis=1),
        xp.roll(m("int8"), (1, 2), axis=(0, 1)),
        xp.roll(m("int8"), 1, axis=(0, 1)),
    ],
    "squeeze": lambda xp, m: [
        xp.squeeze(m("int8", (1, 3, 1)), 0),
        xp.squeeze(m("int8", (1, 3, 1)), (0, -1)),
    ],
    "stack": lambda xp, m: [xp.stack([m("int8"), m("int8")], axis=a) for a in (0, 1, -1)],
    "tile": lambda xp, m: [
        xp.tile(m("int8"), (2, 1)),
        xp.tile(m("int8"), (2,)),
        xp.tile(m("int8"), (2, 1, 2)),
    ],
    "unstack": lambda xp, m: [xp.unstack(m("int8")), xp.unstack(m("int8"), axis=-1)],
}

# ---------------------------------------------------------------------------------------- selection
SORTED = [-2.0, -1.0, 0.0, 0.0, 3.0]
SELECTION = {
    "argmax": lambda xp, m: [
        f(m("float32"), **k)
        for f in (xp.argmax, xp.argmin)
        for k in ({}, {"axis": 0}, {"axis": -1, "keepdims": True}, {"keepdims": True})
    ],
    "nonzero": lambda xp, m: [xp.nonzero(m("int8")), xp.nonzero(m("bool", (5,)))],
    "searchsorted": lambda xp, m: [
        xp.searchsorted(m.of(SORTED, "float64"), m("float64")),
        xp.searchsorted(m.of(SORTED, "float64"), m.of([0.0, 3.0], "float32"), side="right"),
        xp.searchsorted(
            m.of(SORTED[::-1], "float64"),
            m.of([0.0], "float64"),
            sorter=m.of([4, 3, 2, 1, 0], "int64"),
        ),
    ],
    "sort": lambda xp, m: [
        xp.sort(m(d), axis=a, descending=e)
        for d in ("int8", "float64")
        for a in (0, -1)
        for e in (False, True)
    ],
    "argsort": lambda xp, m: [xp.argsort(m("int8", (40,)), descending=e) for e in (False, True)],
    "take": lambda xp, m: [
        xp.take(m("int8"), m.of([2, 0], "int64"), axis=0),
        xp.take(m("int8"), m.of([-1, 0, 0], "int32"), axis=1),
        xp.take(m("int8", (4,)), m.of([3], "int64")),
    ],
    "take_along_axis": lambda xp, m: [
        xp.take_along_axis(m("int8"), m.of([[1, -1], [0, 2], [3, 3]], "int64")),
        xp.take_along_axis(m("int8"), m.of([[1, 0, 2, 0]], "int64"), axis=0),
    ],
    "unique": lambda xp, m: [
        xp.unique_all(m("int8")),
        xp.unique_counts(m("int8")),
        xp.unique_inverse(m("int8", (2, 3, 4))),
        xp.unique_values(m("int8")),
        xp.unique_all(m.of([np.nan, 1.0, np.nan, 1.0], "float64")),
        xp.unique_all(m("int64", (0,))),
    ],
    "where": lambda xp, m: [
        xp.where(m("bool"), m("int8"), 3),
        xp.where(m("bool"), 0.5, m("float32")),
    ],
}

# --------------------------------------------------------------------------------------- statistics
AXES = (
    {},
    {"axis": 0},
    {"axis": -1, "keepdims": True},
    {"axis": (0, 1)},
    {"keepdims": True},
    {"axis": (2, 0), "keepdims": True},
    {"axis": ()},
)
CUBE = (2, 3, 4)


def _over_axes(name, dtypes, **options):
    def case(xp, m):
        function = getattr(xp, name)
        return [function(m(d, CUBE), **k, **options) for d in dtypes for k in AXES]

    return case


STATISTICS = {
    "sum": _over_axes("sum", [d for d in NUMERIC if d != "uint8"]),
    "prod": _over_axes("prod", [d for d in NUMERIC if d != "uint8"]),
    "sum in a dtype": lambda xp, m: xp.sum(m("int8"), dtype=xp.float64, axis=1),
    "max": _over_axes("max", (*INTEGERS, *REAL)),
    "min": _over_axes("min", (*INTEGERS, *REAL)),
    "mean": _over_axes("mean", (*REAL, *COMPLEX)),
    "var": _over_axes("var", REAL),
    "std": _over_axes("std", REAL),
    "correction": lambda xp, m: (
        [xp.var(m("float64", CUBE), axis=(0, 2), correction=c) for c in (1, 1.0, 0.5, 2)]
        + [xp.std(m("float32"), correction=1)]
    ),
    "all": _over_axes("all", ("bool", "int8", "float32", "complex64")),
    "any": _over_axes("any", ("bool", "int8", "float32", "complex64")),
    "count_nonzero": _over_axes("count_nonzero", ("bool", "int8", "float32", "complex64")),
    "empty": lambda xp, m: [
        xp.sum(m("float32", (0, 3)), axis=0),
        xp.prod(m("float32", (0,))),
        xp.all(m("bool", (0,))),
        xp.any(m("bool", (0, 2)), axis=0),
    ],
    "cumulative_sum": lambda xp, m: [
        xp.cumulative_sum(m("int8", (4,))),
        xp.cumulative_sum(m("float32"), axis=0),
        xp.cumulative_sum(m("float64"), axis=-1, include_initial=True),
        xp.cumulative_sum(m("int64"), axis=1, dtype=xp.float64),
    ],
    "cumulative_prod": lambda xp, m: [
        xp.cumulative_prod(m("int16", (4,))),
        xp.cumulative_prod(m("complex64"), axis=0),
        xp.cumulative_prod(m("float64"), axis=-1, include_initial=True),
    ],
    "diff": lambda xp, m: [
        xp.diff(m("int32")),
        xp.diff(m("float64"), axis=0, n=2),
        xp.diff(m("float64"), prepend=m("float64", (3, 1))),
        xp.diff(m("float64"), append=m("float64", (3, 2))),
    ],
}


# --------------------------------------------------------------------------------- linear algebra
def _spd(xp, m, dtype, batch=()):
    a = m(dtype, (*batch, 3, 3))
    return xp.matmul(
        a, xp.conj(xp.matrix_transpose(a)) if "c" in dtype else xp.matrix_transpose(a)
    ) + xp.eye(3, dtype=m.dtype(dtype))


FLOATING = (*REAL, *COMPLEX)
LINALG = {
    "cholesky": lambda xp, m: [
        xp.linalg.cholesky(_spd(xp, m, d, (2,)), upper=u) for d in FLOATING for u in (False, True)
    ],
    "cross": lambda xp, m: (
        [xp.linalg.cross(m(d, (4, 3)), m(d, (4, 3), 1)) for d in NUMERIC]
        + [xp.linalg.cross(m("float64", (3, 2)), m("float64", (3, 2), 1), axis=-2)]
    ),
    "det": lambda xp, m: [xp.linalg.det(m(d, (2, 3, 3))) for d in FLOATING],
    "diagonal": lambda xp, m: [
        xp.linalg.diagonal(m("int8", (2, 3, 4)), offset=k) for k in (0, 1, -1)
    ],
    "eigvalsh": lambda xp, m: [xp.linalg.eigvalsh(_spd(xp, m, d)) for d in FLOATING],
    "eigh": lambda xp, m: [xp.linalg.eigh(_spd(xp, m, d, (2,))).eigenvalues for d in FLOATING],
    "inv": lambda xp, m: [xp.linalg.inv(_spd(xp, m, d)) for d in FLOATING],
    "matmul": lambda xp, m: (
        [xp.linalg.matmul(m(d, (2, 3, 4)), m(d, (4, 2))) for d in NUMERIC]
        + [xp.matmul(m("float32", (4,)), m("float64", (4,)))]
    ),
    "matrix_norm": lambda xp, m: [
        xp.linalg.matrix_norm(m("float64", (2, 3, 4)), ord=o, keepdims=k)
        for o in ("fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf)
        for k in (False, True)
    ],
    "matrix_power": lambda xp, m: [
        xp.linalg.matrix_power(m("float64", (2, 3, 3)), n) for n in (0, 1, 3, -1)
    ],
    "matrix_rank": lambda xp, m: [
        xp.linalg.matrix_rank(m("float64", (2, 3, 4))),
        xp.linalg.matrix_rank(xp.ones((3, 3), dtype=xp.float32)),
        xp.linalg.matrix_rank(m("float64", (2, 3, 4)), rtol=0.5),
    ],
    "matrix_transpose": lambda xp, m: xp.linalg.matrix_transpose(m("int8", (2, 3, 4))),
    "outer": lambda xp, m: [xp.linalg.outer(m(d, (3,)), m(d, (4,))) for d in NUMERIC],
    "pinv": lambda xp, m: (
        [xp.linalg.pinv(m(d)) for d in FLOATING] + [xp.linalg.pinv(m("float64"), rtol=0.4)]
    ),
    "qr": lambda xp, m: [
        xp.abs(p)
        for k in ("reduced", "complete")
        for p in xp.linalg.qr(m("float64", (4, 3)), mode=k)
    ],
    "slogdet": lambda xp, m: [xp.linalg.slogdet(m(d, (2, 3, 3))) for d in FLOATING],
    "solve": lambda xp, m: [
        xp.linalg.solve(m("float64", (2, 3, 3)), m("float64", s))
        for s in ((3,), (3, 2), (2, 3, 1), (3, 3))
    ],
    "svd": lambda xp, m: [
        p
        for full in (False, True)
        for p in map(xp.abs, xp.linalg.svd(m("float64", (3, 3)), full_matrices=full))
    ],
    "svdvals": lambda xp, m: [xp.linalg.svdvals(m(d)) for d in FLOATING],
    "tensordot": lambda xp, m: [
        xp.tensordot(m("float64"), m("float64", (4, 3)), axes=1),
        xp.tensordot(m("int32"), m("int32"), axes=((1,), (1,))),
        xp.tensordot(m("float64"), m("float64"), axes=0),
    ],
    "trace": lambda xp, m: (
        [xp.linalg.trace(m(d, (2, 3, 3))) for d in NUMERIC if d != "uint8"]
        + [xp.linalg.trace(m("int8", (3, 3)), offset=1, dtype=xp.float64)]
    ),
    "vecdot": lambda xp, m: (
        [xp.vecdot(m(d), m(d, (4,), 1)) for d in NUMERIC]
        + [xp.vecdot(m("float64"), m("float64"), axis=-2)]
    ),
    "vector_norm": lambda xp, m: (
        [
            xp.linalg.vector_norm(m("float64", CUBE), ord=o, **k)
            for o in (2, 1, 0, 3, np.inf, -np.inf)
            for k in ({}, {"axis": 1}, {"axis": (0, 2), "keepdims": True})
        ]
        + [xp.linalg.vector_norm(m("complex64"))]
    ),
}
FFT = {
    "complex": lambda xp, m: [
        f(m(d), n=n, axis=a, norm=o)
        for f in (xp.fft.fft, xp.fft.ifft)
        for d in COMPLEX
        for n in (None, 3)
        for a in (0, -1)
        for o in ("backward", "ortho", "forward")
    ],
    "real": lambda xp, m: (
        [xp.fft.rfft(m(d), n=n) for d in REAL for n in (None, 5)]
        + [f(m(d), n=n) for f in (xp.fft.irfft, xp.fft.hfft) for d in COMPLEX for n in (None, 5)]
        + [xp.fft.ihfft(m("float64"))]
    ),
    "several axes": lambda xp, m: (
        [
            f(m("complex128", CUBE), s=s, axes=a)
            for f in (xp.fft.fftn, xp.fft.ifftn, xp.fft.irfftn)
            for s, a in ((None, None), ((2, 3), (0, 1)), (None, (1, 2)))
        ]
        + [xp.fft.rfftn(m("float64", CUBE)), xp.fft.rfftn(m("float32", CUBE), axes=(0, 1))]
    ),
    "frequencies": lambda xp, m: [
        f(n, d=0.5, dtype=xp.float64) for f in (xp.fft.fftfreq, xp.fft.rfftfreq) for n in (4, 5)
    ],
    "shifts": lambda xp, m: [
        f(m("float64"), axes=a)
        for f in (xp.fft.fftshift, xp.fft.ifftshift)
        for a in (None, 0, (0, 1))
    ],
}


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, id=f"{group}-{name}")
        for group, cases in (
            ("creation", CREATION),
            ("arrangement", ARRANGEMENT),
            ("selection", SELECTION),
            ("statistics", STATISTICS),
            ("linalg", LINALG),
            ("fft", FFT),
        )
        for name, case in cases.items()
    ],
)
def test_functions(case):
    check(case, 2e-4)
