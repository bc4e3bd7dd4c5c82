"""Shapes, strides, aliasing and the layout of results."""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np
import pytest

import rushlight
from rushlight.compiler import compile_kernel, reference, xp
from rushlight.compiler.cost import CHEAP_LIMIT
from rushlight.compiler.layout import (
    CHUNKS,
    LEAST_RUN,
    LONG_REST,
    broadcast_strides,
    chunk,
    collapse,
    contiguous_strides,
    plan,
)
from rushlight.machine import threads

A = np.random.default_rng(2).standard_normal((37, 53)).astype(np.float32)
WIDE = A[0, 0] + np.arange(840, dtype=np.float32).reshape(4, 3, 2, 5, 7)
ONE = A[:1, :1].reshape(())
PAIRS = {
    "same": (A, A),
    "row": (A, A[0]),
    "column": (A, A[:, :1]),
    "row and column": (A[0], A[:, :1]),
    "one element": (A, A[:1, :1]),
    "transposed": (A.T, A.T),
    "transposed and column": (A.T, A[:, 0]),
    "stepped": (A[::2, ::3], A[::2, ::-3]),
    "backwards": (A[::-1, ::-1], A),
    "no rows": (A[:0], A[:0]),
    "no columns": (A[:, :0], A[:, :0]),
    "none and one": (A[:0], ONE),
    "0-d first": (ONE, A),
    "0-d": (ONE, ONE),
    "outer": (A[:, None, :5], A[None, :, :5]),
    "outer, other steps": (A[:, None, 9::-2], A[None, ::-1, 3:8]),
    "offset": (A.ravel()[1:], A.ravel()[:-1]),
    "five dimensions": (WIDE.transpose(4, 0, 2, 1, 3), WIDE.transpose(4, 0, 2, 1, 3)[:, :, ::-1]),
    "stride 0": (np.broadcast_to(A[0, 0], (9, 9)), np.broadcast_to(A[0, :9], (9, 9))),
    "long rows": (WIDE.reshape(4, -1)[:, 5:200], WIDE.reshape(4, -1)[:, :195]),
    "middle": (WIDE, WIDE[:, :1, :, :1]),
    "eight dimensions": (A[:16, :16].reshape((2,) * 8).transpose(7, 1, 3, 5, 0, 2, 4, 6), ONE),
}
XY = {"x": "f32", "y": "f32"}


@pytest.fixture(scope="module")
def add():
    return compile_kernel(lambda x, y, alpha: x + alpha * y, XY, XY, {"alpha": "f64"}, {}, ("f32",))


@pytest.mark.parametrize("name", PAIRS)
def test_any_operands(add, name):
    x, y = PAIRS[name]
    want = x + 2 * y
    for _ in range(3):  # the first call plans, later ones use what it planned
        got = add(x, y, 2)
        assert type(got) is np.ndarray and got.shape == want.shape
        np.testing.assert_array_equal(got, want)
    np.testing.assert_array_equal(add(x, y, -1.5), x + np.float32(-1.5) * y)


def _every_other(shape):
    """An array of a shape whose elements lie two apart."""
    return np.zeros((*shape, 2), np.float32)[..., 0:1].squeeze(-1)


@pytest.mark.parametrize("name", PAIRS)
def test_strided_output(add, name):
    x, y = PAIRS[name]
    want = x + 2 * y
    for target in (
        _every_other(want.shape),
        np.zeros(want.shape[::-1], np.float32).T,
        np.zeros(want.shape, np.float32)[(slice(None, None, -1),) * want.ndim + (...,)],
    ):
        for _ in range(3):
            target[...] = 7
            add.into((target,), x, y, 2)
            np.testing.assert_array_equal(target, want)


@pytest.mark.parametrize("kind", ["compiled", "reference"])
@pytest.mark.parametrize("shift", [-40, -1, 0, 1, 3, 600])
@pytest.mark.parametrize("step", [1, 2])
def test_aliasing(kind, shift, step):
    """In place is safe; partial overlap acts as if the operand had been copied."""
    maker = compile_kernel if kind == "compiled" else reference
    double = maker(lambda x, y: x + 2 * y, XY, XY, {}, {}, ("f32",))
    for _ in range(2):
        b = A.ravel().copy()
        low, high = max(0, -shift), max(0, shift)
        source = b[low : b.size - high : step]
        target = b[high : b.size - low : step]
        want = source * 3
        double.into((target,), source, source)
        np.testing.assert_array_equal(target, want)


def test_in_place_with_other_operands(add):
    for x, y in (PAIRS["row"], PAIRS["transposed"], PAIRS["stepped"], PAIRS["0-d"]):
        for _ in range(3):
            target, before = x.copy(order="K"), x.copy()
            add.into((target,), target, y, 2)
            np.testing.assert_array_equal(target, before + 2 * y)
    square = A[:37, :37].copy()
    want = square + 2 * square.T
    add.into((square,), square, square.T, 2)  # the transposed view overlaps and is copied
    np.testing.assert_array_equal(square, want)


@pytest.mark.parametrize("n", [*range(70), 127, 511, 512, 513, 1025])
def test_tails_touch_nothing_else(add, n):
    guard = np.full(n + 64, 7, np.float32)
    x = A.ravel()[:n]
    add.into((guard[:n],), x, x, 2)
    np.testing.assert_array_equal(guard[:n], x * 3)
    assert (guard[n:] == 7).all()


@pytest.mark.parametrize("n", [1, 31, 32, 33, 40, 63, 64, 65, 100, 200, 515])
@pytest.mark.parametrize("outer", [(5,), (1, 7), (3, 5), (4, 3, 2), (40, 70)])
def test_rows_touch_nothing_else(add, outer, n):
    """Rows with elements between them, against a column, a row, or what lies in other steps."""
    rng = np.random.default_rng(3)
    wide = rng.standard_normal((*outer, n + 3)).astype(np.float32)
    x, count = wide[..., 1 : n + 1], len(outer)
    columns = rng.standard_normal((*outer, 1)).astype(np.float32)
    repeated = rng.standard_normal((*outer[:-1], 1, n)).astype(np.float32)
    turned = rng.standard_normal((*outer[::-1], n)).astype(np.float32)
    turned = turned.transpose(*range(count - 1, -1, -1), count)
    for y in (columns, repeated, turned, x, wide[..., 2 : n + 2]):
        guard = np.full(wide.shape, 7, np.float32)
        for _ in range(2):
            add.into((guard[..., 2 : n + 2],), x, y, 2)
            np.testing.assert_array_equal(guard[..., 2 : n + 2], x + 2 * y)
            assert (guard[..., :2] == 7).all()
            assert (guard[..., n + 2 :] == 7).all()
        np.testing.assert_array_equal(add(columns, y, 2), columns + 2 * y)
    for y in (columns, repeated, turned):
        copy = wide.copy()
        add.into((copy[..., 1 : n + 1],), copy[..., 1 : n + 1], y, 2)
        np.testing.assert_array_equal(copy[..., 1 : n + 1], x + 2 * y)
        np.testing.assert_array_equal(copy[..., :1], wide[..., :1])
        np.testing.assert_array_equal(copy[..., n + 1 :], wide[..., n + 1 :])


@pytest.mark.parametrize("n", [*range(1, 21), 31, 32, 33, 49, 50, 64, 100, 129])
@pytest.mark.parametrize("dtype", ["u8", "bf16", "f32", "f64"])
def test_short_rows_of_several_operands(n, dtype):
    """Rows against an element each, against one row, and against both, where two outputs are
    written: every row's rest, every way in which the outer dimensions step; in place too."""
    rng = np.random.default_rng(n)
    inputs = {"c": "bool", "x": dtype, "y": dtype, "z": dtype}
    kernel = compile_kernel(
        lambda c, x, y, z: (xp.where(c, x + y, z * y), x > z),
        *(inputs, inputs, {}, {}, (dtype, "bool")),
    )
    one = compile_kernel(lambda x, y: x + y, *({"x": dtype, "y": dtype},) * 2, {}, {}, (dtype,))
    kind = ml_dtypes.bfloat16 if dtype == "bf16" else {"u8": "u1", "f32": "f4", "f64": "f8"}[dtype]

    def some(*shape):
        return rng.integers(1, 8, shape).astype(kind)  # sums and products are exact

    for outer in ((3, 5, 4), (2, 37), (41,)):
        x, row, column = some(*outer, n), some(n), some(*outer, 1)
        middle, turned = some(*outer[:-1], 1, 1), some(*outer[::-1], n + 2)[..., 1:-1]
        turned = turned.transpose(*range(len(outer) - 1, -1, -1), len(outer))
        for y, z in ((column, row), (middle, turned), (column, middle), (turned, x)):
            for c in (x > 3, column > 3, row > 3):
                room = [np.full((x.size + 128,), 7, k) for k in (kind, np.bool_)]
                outs = [r[64:-64].reshape(x.shape) for r in room]
                for _ in range(2):
                    kernel.into(outs, c, x, y, z)
                np.testing.assert_array_equal(outs[0], np.where(c, x + y, z * y))
                np.testing.assert_array_equal(outs[1], np.broadcast_to(x > z, x.shape))
                for r in room:
                    assert (r[:64] == r.dtype.type(7)).all()
                    assert (r[-64:] == r.dtype.type(7)).all()
            for other in (y, z):
                target = x.copy()
                for _ in range(2):
                    target[...] = x
                    one.into((target,), target, other)
                    np.testing.assert_array_equal(target, x + other)
    for shape in ((0, 4), (4, 0), (0,)):
        assert one(some(*shape, n), some(*shape, 1)).shape == (*shape, n)
        assert one(some(5, *shape), some(*shape[:-1], 1)).shape == (5, *shape)


BODIES = {
    "cheap": lambda x, y: xp.sqrt(xp.abs(x)) / (y + x * y),
    "long": lambda x, y: xp.exp(x) / (y + xp.tanh(x * y)),
}


@pytest.mark.parametrize("n", [1, 3, 7, 16, 20, 33, 49, 64, 192])
@pytest.mark.parametrize("body", BODIES)
def test_threads_do_not_change_bits_of_short_rows(body, n):
    rng = np.random.default_rng(n)
    body = compile_kernel(BODIES[body], XY, XY, {}, {}, ("f32",))
    x = rng.standard_normal((9, 1 + 120_000 // n // 9, n)).astype(np.float32)
    others = x[..., :1].copy(), x[:, :1].copy(), x[:1, :1].copy(), x[:1, :, :1].copy(), x[:1]
    before, found = threads.get_num_threads(), []
    try:
        for count in (1, 2, 5):
            threads.set_num_threads(count)
            found.append([body(x, y) for y in others])
    finally:
        threads.set_num_threads(before)
    want = [body(x, np.broadcast_to(y, x.shape).copy()) for y in others]
    for one, two, five, expected in zip(*found, want, strict=True):
        np.testing.assert_array_equal(one, expected)
        np.testing.assert_array_equal(one, two)
        np.testing.assert_array_equal(one, five)


@pytest.mark.parametrize(
    ("n", "limit", "in_place", "driver", "narrow"),
    [
        (15, CHEAP_LIMIT, False, "packed", False),
        (16, CHEAP_LIMIT, False, "rows", True),
        (31, CHEAP_LIMIT, False, "rows", True),
        (31, CHEAP_LIMIT // 2, False, "packed", False),
        (49, CHEAP_LIMIT // 2, False, "rows", False),
        (16, CHEAP_LIMIT, True, "rows", True),
        (25, CHEAP_LIMIT, True, "packed", False),
        (49, CHEAP_LIMIT, True, "packed", False),
        (64, CHEAP_LIMIT, True, "rows", False),
        (LONG_REST + 1, CHEAP_LIMIT, True, "rows", False),
    ],
)
def test_layouts_of_rows_against_an_element_each(n, limit, in_place, driver, narrow):
    """Rests of rows that are written in place must not be computed twice."""
    strides = [(4 * n, 4), (4 * n, 4), (4, 0)]
    found = plan((40, n), strides, [4] * 3, 1, limit, in_place)
    assert (found.driver, found.narrow) == (driver, narrow)


@pytest.mark.parametrize("rows", [1, 2, 3, 50, 700])
@pytest.mark.parametrize("n", [16, 31, 32, 33, 47, 63, 64, 65, 95, 127, 129, 511, 1025])
def test_rows_in_place(n, rows):
    """Rests of many rows are done together; what lies between the rows stays as it is."""
    strides = [(4 * n + 20, 4), (4 * n + 20, 4)]
    driver = "flat" if rows == 1 else "rows" if n >= 32 else "packed"
    assert plan((rows, n), strides, [4] * 2, 1, 1 << 14, True).driver == driver
    rng = np.random.default_rng(n)
    body = lambda x, y: (x * y + 3, x - y)  # noqa: E731
    kernel = compile_kernel(body, XY, XY, {}, {}, ("f32", "f32"))
    double = compile_kernel(lambda x: x * 2 + 1, {"x": "f32"}, {"x": "f32"}, {}, {}, ("f32",))
    for columns in (n, n + 5):
        x, y = (rng.standard_normal((rows, columns)).astype(np.float32) for _ in range(2))
        for _ in range(2):  # the first call plans
            one, two = x.copy(), y.copy()
            wanted = body(x[:, :n], y[:, :n])
            kernel.into((one[:, :n], two[:, :n]), one[:, :n], two[:, :n])
            np.testing.assert_allclose(one[:, :n], wanted[0], rtol=1e-6, atol=1e-6)
            np.testing.assert_array_equal(two[:, :n], wanted[1])
            np.testing.assert_array_equal(one[:, n:], x[:, n:])
            np.testing.assert_array_equal(two[:, n:], y[:, n:])
            one = x.copy()
            double.into((one[:, :n],), one[:, :n])
            np.testing.assert_allclose(one[:, :n], x[:, :n] * 2 + 1, rtol=1e-6, atol=1e-6)
            np.testing.assert_array_equal(one[:, n:], x[:, n:])


@pytest.mark.parametrize(
    ("n", "driver"), [(7, "packed"), (20, "packed"), (40, "packed"), (200, "rows")]
)
def test_elements_that_repeat_go_through_a_buffer(n, driver):
    """A few rows that come again: one period serves all of them, but for long rows."""
    strides = [(12 * n, 4 * n, 4), (12 * n, 4 * n, 4), (0, 4, 0)]
    assert plan((50, 3, n), strides, [4] * 3, 1, CHEAP_LIMIT).driver == driver
    rng = np.random.default_rng(n)
    multiply = compile_kernel(lambda x, y: x * y, XY, XY, {}, {}, ("f32",))
    x, y = (rng.standard_normal(s).astype(np.float32) for s in ((50, 3, n), (3, 1)))
    for _ in range(2):
        np.testing.assert_array_equal(multiply(x, y), x * y)
        np.testing.assert_array_equal(multiply(y, x), x * y)


@pytest.mark.parametrize("n", [1, 2, 3, 5, 8, 16, 20, 31])
@pytest.mark.parametrize("rows", [(7, 40), (3, 65), (2, 700), (1100, 9)])
@pytest.mark.parametrize("dtype", ["f32", "f64"])
def test_runs_with_repeated_operands_touch_nothing_else(rows, n, dtype):
    """Pairwise differences of short rows: a row of one operand repeats inside of a run."""
    kind = np.float32 if dtype == "f32" else np.float64
    types = {"x": dtype, "y": dtype}
    pairwise = compile_kernel(lambda x, y: x - y, types, types, {}, {}, (dtype,))
    rng = np.random.default_rng(n)
    x = rng.standard_normal((rows[0], 1, n)).astype(kind)
    y = rng.standard_normal((1, rows[1], n)).astype(kind)
    size = kind(0).nbytes
    own = [contiguous_strides((*rows, n), size), broadcast_strides(x, (*rows, n))]
    found = plan((*rows, n), [*own, broadcast_strides(y, (*rows, n))], [size] * 3, 1, 1 << 15)
    assert (found.driver == "repeats") == (n > 1 and n * rows[1] >= LEAST_RUN)
    for left, right in ((x, y), (y, x), (x[:, :, ::-1], y), (x[:, :, :1], y), (x, y[:, ::-1])):
        around = np.full(math.prod(rows) * n + 40, np.nan, kind)
        out = around[17:-23].reshape(*rows, n)
        pairwise.into((out,), left, right)
        np.testing.assert_array_equal(out, left - right)
        assert np.isnan(around[:17]).all()
        assert np.isnan(around[-23:]).all()


@pytest.mark.parametrize("dtype", ["bool", "u8", "i16", "f16", "bf16", "f64", "i64"])
def test_strides_of_every_item_size(dtype):
    storage = (
        ml_dtypes.bfloat16
        if dtype == "bf16"
        else np.dtype(
            {"bool": "?", "u8": "u1", "i16": "i2", "f16": "f2", "f64": "f8", "i64": "i8"}[dtype]
        )
    )
    x = (A * 3).astype(np.int64).astype(storage)
    names = {"x": dtype, "y": dtype}
    either = compile_kernel(lambda x, y: xp.maximum(x, y), names, names, {}, {}, (dtype,))
    for a, b in (
        (x, x[0]),
        (x.T, x[:, 0]),
        (x[::2, ::-3], x[::2, ::3]),
        (x[:, None, :4], x[:5, :4]),
    ):
        want = np.maximum(a, b)
        for _ in range(2):
            got = either(a, b)
            assert got.dtype == want.dtype
            np.testing.assert_array_equal(got.astype(float), want.astype(float))


def test_large_arrays_are_aligned_and_shared_among_threads(add):
    big = np.arange(5_000_003, dtype=np.float32)
    for _ in range(2):
        got = add(big, big, 2)
        np.testing.assert_array_equal(got, big * 3)
        assert got.ctypes.data % 64 == 0 and got.flags.writeable
        owner = got.base if isinstance(got.base, np.ndarray) else got
        assert owner.nbytes == got.nbytes and not isinstance(owner.base, np.ndarray)
    matrix = big[:4_000_000].reshape(2000, 2000)
    for x, y in ((matrix, matrix[0]), (matrix.T, matrix), (matrix, matrix[:, :1])):
        for _ in range(2):
            np.testing.assert_array_equal(add(x, y, 2), x + 2 * y)
            target = x.copy(order="K")
            add.into((target,), target, y, 2)
            np.testing.assert_array_equal(target, x + 2 * y)


def test_chunks_depend_on_shape_only_and_do_not_change_bits():
    for n in (1, 32768, 32769, 10**6, 10**9):
        grain = chunk(n, 1, 32768, 1024)
        assert -(-n // grain) <= CHUNKS and (n > 32768 or grain == n)
    gelu = compile_kernel(
        lambda x: 0.5 * x * (1 + xp.erf(x * 0.7071)), {"x": "f32"}, {}, {}, {}, ("f32",)
    )
    x = np.random.default_rng(0).standard_normal(70_001).astype(np.float32)
    whole = gelu(x)
    pieces = np.concatenate([gelu(part) for part in np.array_split(x, [1, 18, 518, 2449, 39999])])
    np.testing.assert_array_equal(whole, pieces)


def test_collapse_merges_what_is_adjacent():
    assert collapse((2, 1, 3, 4), [(48, 48, 16, 4)]) == ([24], [[4]])
    extent, strides = collapse((2, 3, 4), [(48, 16, 4), (0, 16, 4)])
    assert extent == [2, 12] and strides == [[48, 4], [0, 4]]


def _strides(x):
    return tuple(s // x.itemsize for s in x.strides)


N, C, H, W = 2, 3, 4, 5
IMAGE = np.arange(N * C * H * W, dtype=np.float32).reshape(N, C, H, W)
LAST = np.ascontiguousarray(IMAGE.transpose(0, 2, 3, 1)).transpose(0, 3, 1, 2)


@pytest.mark.parametrize(
    ("x", "y"),
    [
        (LAST, LAST),
        (LAST, IMAGE),
        (IMAGE, LAST),
        (LAST, ONE),
        (ONE, LAST),
        (LAST, LAST[:1, :, :1, :1]),
        (LAST[:1, :, :1, :1], LAST),
        (A.T, A.T),
        (A.T, ONE),
        (A.T, A[:, 0]),
        (A.T[::2], A.T[::2]),
        (WIDE.transpose(4, 0, 2, 1, 3), ONE),
        (WIDE[:, None, :, 0], WIDE[:1, :, 0, :1]),
        (LAST[:, :1], LAST[:, :1]),
        (LAST[:, :, :1, :1], LAST[:, :, :1, :1]),
        (IMAGE.transpose(3, 2, 1, 0), IMAGE.transpose(3, 2, 1, 0)),
    ],
)
def test_results_have_torchs_layout(add, x, y):
    torch = pytest.importorskip("torch")
    # from_numpy normalises nothing, so both start from the same strides
    want = torch.from_numpy(x) + torch.from_numpy(y)
    for _ in range(2):
        got = add(x, y, 1)
        np.testing.assert_array_equal(got, want.numpy())
        assert _strides(got) == want.stride()


def random_view(generator, shape, dtype):
    """An array of a shape in random memory order, stepped, reversed, inside a larger one."""
    order = generator.permutation(len(shape))
    steps = generator.choice([1, 1, 1, 2, -1, -3], len(shape))
    room = [abs(steps[d]) * shape[d] + int(generator.integers(0, 3)) for d in order]
    base = generator.integers(0, 100, room).astype(dtype)
    view = base.transpose(np.argsort(order))
    for d, step in enumerate(steps):
        index = [slice(None)] * len(shape)
        index[d] = slice(None, None, step)
        view = view[tuple(index)]
        index[d] = slice(0, shape[d])
        view = view[tuple(index)]
    return base, view


def random_operand(generator, shape, dtype):
    shape = [1 if generator.random() < 0.25 else n for n in shape]
    shape = (
        shape[int(generator.integers(0, len(shape) + 1)) :] if generator.random() < 0.3 else shape
    )
    return random_view(generator, shape, dtype)[1]


@pytest.mark.parametrize("seed", range(40))
def test_random_layouts(seed):
    """Mixed item sizes, two outputs, every driver; nothing outside the outputs changes."""
    inputs = {"x": "f32", "y": "u8", "z": "i64"}
    operands = dict.fromkeys(inputs, "f64")
    kernel = compile_kernel(
        lambda x, y, z, c: (x * y - c * z, x > y),
        inputs,
        operands,
        {"c": "i64"},
        {},
        ("f64", "bool"),
    )
    generator = np.random.default_rng(seed)
    kinds = (np.float32, np.uint8, np.int64)
    for _ in range(8):
        dims = int(generator.integers(0, 6))
        shape = [int(n) for n in generator.choice([0, 1, 2, 3, 5, 9, 17, 40, 70], dims)]
        while np.prod(shape) > 100_000:
            shape.pop()
        x, y, z = (random_operand(generator, shape, kind) for kind in kinds)
        wide = [a.astype(np.float64) for a in (x, y, z)]
        product = wide[0] * wide[1] - 3 * wide[2]
        want = product, np.broadcast_to(wide[0] > wide[1], product.shape)
        for _ in range(2):
            for got, expected in zip(kernel(x, y, z, 3), want, strict=True):
                np.testing.assert_array_equal(got, expected)
            pairs = [random_view(generator, product.shape, d) for d in (np.float64, np.bool_)]
            before = [base.copy() for base, _ in pairs]
            kernel.into([view for _, view in pairs], x, y, z, 3)
            for (base, view), old, expected in zip(pairs, before, want, strict=True):
                np.testing.assert_array_equal(view, expected)
                assert not ((base != old) & _outside(base, view)).any()


def _outside(base, view):
    """Elements of `base` that `view` does not show."""
    marks = np.zeros(base.shape, np.int8)
    offset = (
        view.__array_interface__["data"][0] - base.__array_interface__["data"][0]
    ) // base.itemsize
    flat = marks.reshape(-1)
    steps = [s // base.itemsize for s in view.strides]
    index = np.array(offset)
    for n, s in zip(view.shape, steps, strict=True):
        index = index[..., None] + np.arange(n) * s
    flat[index.reshape(-1)] = 1
    return marks == 0


@pytest.mark.parametrize(
    "dtype",
    ["float32", "float64", "int64", "int32", "int16", "uint8", "bool", "float16", "bfloat16"],
)
@pytest.mark.parametrize(
    "shape",
    [(256, 256), (8, 8), (16, 64), (17, 65), (15, 63), (9, 130), (3, 33, 20), (300, 7), (24, 72)],
)
def test_turned_operands_of_every_size(shape, dtype):
    """Squares in vectors, and the elements below and beside them; outputs that are turned too."""
    rng = np.random.default_rng(0)
    kind = getattr(rushlight, dtype)
    x = rushlight.from_numpy(rng.standard_normal(shape) * 9).to(kind)
    across = (*shape[:-2], shape[-1], shape[-2])
    y = rushlight.from_numpy(rng.standard_normal(across) * 9).to(kind).transpose(-1, -2)
    pairs = [(x, y), (y, x), (x[..., :-1], y[..., :-1]), (x[..., 1:, 1:], y[..., 1:, 1:])]
    for a, b in pairs:
        for f in (lambda a, b: rushlight.where(a > b, a, b), lambda a, b: b > a):
            assert rushlight.equal(f(a, b), f(a.contiguous(), b.contiguous()))
    out = rushlight.empty(across, dtype=kind).transpose(-1, -2)
    rushlight.maximum(x, y, out=out)
    assert rushlight.equal(out, rushlight.maximum(x, y.contiguous()))
