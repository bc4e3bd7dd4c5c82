"""Products on matrix units: exact to float32, at every size, layout and special value."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rushlight.kernels.gemm import matrix_units
from rushlight.kernels.gemm.precision import float32_precision, set_float32_precision
from rushlight.kernels.launch.execution import REFERENCE
from rushlight.machine import threads

if REFERENCE or not matrix_units.available():
    pytest.skip("this processor has no matrix units", allow_module_level=True)

from rushlight.kernels.gemm import plans as gemm
from rushlight.kernels.gemm import products as matrix
from rushlight.kernels.gemm.microkernel import START_BIAS, START_C
from rushlight.kernels.gemm.split import SplitProduct

GUARD = 64  # elements of NaN before and after every buffer
SIZES = [(32, 32, 32), (1, 1, 1), (33, 31, 65), (64, 96, 128), (100, 45, 770), (31, 200, 97),
         (70, 33, 1601), (33, 801, 65), (70, 1000, 900)]  # fmt: skip


def guarded(values, transposed=False):
    """The same matrix inside of NaN, stored by rows or by columns."""
    stored = values.T if transposed else values
    room = np.full(stored.size + 2 * GUARD, np.nan, values.dtype)
    inside = room[GUARD : GUARD + stored.size].reshape(stored.shape)
    inside[...] = stored
    return room, (inside.T if transposed else inside)


def product(a, b, planes=3, bias=None, start=None):
    """Run the plan itself, and look at the guards of C."""
    size = a.itemsize
    (m, k), n = a.shape, b.shape[1]
    begin = np.full((m, n), np.nan) if start is None else start
    room, out = guarded(begin.astype(a.dtype))
    layouts = [gemm.layout(x.shape, x.strides, size) for x in (a, b)]
    mode = START_BIAS if start is None else START_C
    SplitProduct(m, n, k, *layouts, mode, planes).run(a, b, out, bias)
    assert np.isnan(room[:GUARD].astype(np.float32)).all()
    assert np.isnan(room[-GUARD:].astype(np.float32)).all()
    return out


def relative_error(result, a, b, extra=0):
    """Root mean square error over that of the exact result."""
    exact = a.astype(np.float64) @ b.astype(np.float64) + extra
    return np.sqrt(np.square(result - exact).mean() / np.square(exact).mean())


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("transposed", [(False, False), (False, True), (True, False), (True, True)])
def test_as_exact_as_float32(rng, size, transposed):
    m, n, k = size
    _, a = guarded(rng.standard_normal((m, k)).astype(np.float32), transposed[0])
    _, b = guarded(rng.standard_normal((k, n)).astype(np.float32), transposed[1])
    bias = rng.standard_normal(n).astype(np.float32)
    start = rng.standard_normal((m, n)).astype(np.float32)
    assert relative_error(product(a, b), a, b) < 4e-7
    assert relative_error(product(a, b, bias=bias), a, b, bias) < 4e-7
    assert relative_error(product(a, b, start=start), a, b, start) < 4e-7


def test_no_less_exact_than_vector_units(rng, monkeypatch):
    a = rng.standard_normal((96, 900)).astype(np.float32)
    b = rng.standard_normal((900, 96)).astype(np.float32)
    with monkeypatch.context() as without:
        without.setattr(gemm, "fit_matrix_units", lambda m, n, k: False)
        plain = gemm.Product(a.shape, a.strides, b.shape, b.strides, a.dtype, False)
    assert plain.split is None
    out = np.empty((96, 96), np.float32)
    plain.run(a, b, out, None)
    assert relative_error(product(a, b), a, b) < 1.2 * relative_error(out, a, b)


@settings(max_examples=40, deadline=None)
@given(
    st.tuples(
        st.integers(1, 140),
        st.one_of(st.integers(1, 140), st.integers(760, 1100)),
        st.integers(1, 140),
    ),
    st.tuples(st.booleans(), st.booleans()),
    st.integers(0, 2**32 - 1),
)
def test_any_shape(size, transposed, seed):
    rng = np.random.default_rng(seed)
    m, n, k = size
    _, a = guarded(rng.standard_normal((m, k)).astype(np.float32), transposed[0])
    _, b = guarded(rng.standard_normal((k, n)).astype(np.float32), transposed[1])
    result = product(a, b)
    scale = np.abs(a).astype(np.float64) @ np.abs(b)
    exact = a.astype(np.float64) @ b
    assert (np.abs(result - exact) <= 4e-7 * scale).all()


def test_exact_where_float32_is():
    """Products and sums of integers below 2**24 have no error at all."""
    rng = np.random.default_rng(1)
    a = rng.integers(-4095, 4096, (64, 64)).astype(np.float32)
    b = np.eye(64, dtype=np.float32) * 4093
    np.testing.assert_array_equal(product(a, b), a * 4093)


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan, 3.4e38, 1e-39, 1e-44])
@pytest.mark.parametrize("where", ["a", "b"])
@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("columns", [40, 900])  # packed whole, and by the parts that use them
def test_special_values(rng, value, where, transposed, columns):
    """One value splitting cannot carry: as with ordinary arithmetic."""
    _, a = guarded(rng.standard_normal((70, 65)).astype(np.float32), transposed)
    b = rng.standard_normal((65, columns)).astype(np.float32)
    (a if where == "a" else b)[3, 5] = value
    with np.errstate(all="ignore"):
        exact = (a.astype(np.float64) @ b.astype(np.float64)).astype(np.float32)
    np.testing.assert_allclose(product(a, b), exact, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("scale", [1e-30, 1e-18, 1e18])
def test_small_and_large(rng, scale):
    """Operands whose pieces would underflow go to the vector units."""
    a = (rng.standard_normal((64, 64)) * scale).astype(np.float32)
    b = rng.standard_normal((64, 64)).astype(np.float32)
    assert relative_error(product(a, b), a, b) < 4e-7
    assert relative_error(product(b, a), b, a) < 4e-7
    tiny = (rng.standard_normal((64, 64)) * 1e-17).astype(np.float32)
    assert relative_error(product(tiny, tiny), tiny, tiny) < 4e-7


def test_zero_operands(rng):
    a, b = np.zeros((64, 64), np.float32), rng.standard_normal((64, 64)).astype(np.float32)
    np.testing.assert_array_equal(product(a, b), a)
    np.testing.assert_array_equal(product(b, a), a)


@pytest.fixture
def results():
    """Run a function with several numbers of threads: up to four pack for themselves."""
    before = threads.get_num_threads()

    def run(function, counts=(1, 2, 3, 4, 5, 8)):
        found = []
        for count in counts:
            threads.set_num_threads(count)
            found.append(function())
        return found

    yield run
    threads.set_num_threads(before)


@pytest.mark.parametrize(
    "size", [(300, 500, 260), (260, 3000, 70), (40, 1700, 700), (33, 70, 900), (1100, 900, 500)]
)
@pytest.mark.parametrize("transposed", [(False, False), (False, True), (True, False), (True, True)])
def test_bits_do_not_depend_on_threads(rng, results, size, transposed):
    m, k, n = size
    _, a = guarded(rng.standard_normal((m, k)).astype(np.float32), transposed[0])
    _, b = guarded(rng.standard_normal((k, n)).astype(np.float32), transposed[1])
    bias = rng.standard_normal(n).astype(np.float32)
    first, *others = results(lambda: product(a, b, bias=bias))
    for other in others:
        np.testing.assert_array_equal(first, other)


@pytest.mark.parametrize("value", [np.inf, np.nan, 3.4e38, 1e-44])
@pytest.mark.parametrize("where", ["a", "b"])
def test_special_values_with_any_number_of_threads(rng, results, value, where):
    a = rng.standard_normal((200, 900)).astype(np.float32)
    b = rng.standard_normal((900, 130)).astype(np.float32)
    (a if where == "a" else b)[101, 77] = value
    with np.errstate(all="ignore"):
        exact = (a.astype(np.float64) @ b.astype(np.float64)).astype(np.float32)
    first, *others = results(lambda: product(a, b))
    np.testing.assert_allclose(first, exact, rtol=1e-4, atol=1e-4)
    for other in others:
        np.testing.assert_array_equal(first, other)


def test_long_sums_of_a_large_product_are_as_exact(rng, results):
    """Several passes over k where operands are packed first, several chunks where not."""
    a = rng.standard_normal((2500, 1000)).astype(np.float32).T
    b = rng.standard_normal((2500, 300)).astype(np.float32)
    one, eight = results(lambda: product(a, b), (1, 8))
    assert relative_error(one, a, b) < 4e-7
    np.testing.assert_array_equal(one, eight)


@pytest.mark.parametrize("planes", [(2, 4e-5, 1e-7), (1, 1e-2, 1e-4)])
def test_fewer_planes(rng, planes):
    count, most, least = planes
    a = rng.standard_normal((64, 256)).astype(np.float32)
    b = rng.standard_normal((256, 64)).astype(np.float32)
    assert least < relative_error(product(a, b, count), a, b) < most


def test_chosen_precision(rng):
    """`set_float32_matmul_precision` reaches products planned before it."""
    a = rng.standard_normal((256, 256)).astype(np.float32)
    assert float32_precision() == "highest"
    errors = []
    try:
        for precision in ("highest", "high", "medium", "highest"):
            set_float32_precision(precision)
            errors.append(relative_error(matrix.matmul(a, a), a, a))
    finally:
        set_float32_precision("highest")
    assert errors[0] == errors[3] < 4e-7 < errors[1] < 4e-5 < errors[2] < 1e-2


@pytest.mark.parametrize("size", [*SIZES, (128, 64, 5000)])
@pytest.mark.parametrize("transposed", [(False, False), (False, True), (True, False), (True, True)])
def test_bfloat16(rng, size, transposed):
    """bfloat16 operands: summed in float32, rounded once."""
    m, n, k = size
    kind = ml_dtypes.bfloat16
    _, a = guarded(rng.standard_normal((m, k)).astype(kind), transposed[0])
    _, b = guarded(rng.standard_normal((k, n)).astype(kind), transposed[1])
    bias = rng.standard_normal(n).astype(np.float32)
    result = product(a, b, 0, bias).astype(np.float64)
    exact = a.astype(np.float64) @ b.astype(np.float64) + bias
    scale = np.abs(a.astype(np.float64)) @ np.abs(b.astype(np.float64))
    assert (np.abs(result - exact) <= np.abs(exact) * 2.0**-8 + scale * 1e-6).all()


def test_bfloat16_special_values(rng):
    kind = ml_dtypes.bfloat16
    a = rng.standard_normal((64, 64)).astype(kind)
    a[3, 4], a[5, 6] = np.inf, np.nan
    b = rng.standard_normal((64, 64)).astype(kind)
    with np.errstate(all="ignore"):
        exact = a.astype(np.float32) @ b.astype(np.float32)
    result = matrix.matmul(a, b).astype(np.float32)
    assert result.dtype == np.float32
    np.testing.assert_allclose(result, exact, rtol=1e-2, atol=1e-2)


def test_linear_in_bfloat16_twice(rng):
    """The second call finds the plan of the first."""
    kind = ml_dtypes.bfloat16
    x, w = (rng.standard_normal((64, 64)).astype(kind) for _ in range(2))
    bias = rng.standard_normal(64).astype(kind)
    exact = x.astype(np.float32) @ w.astype(np.float32).T + bias.astype(np.float32)
    for _ in range(2):
        assert matrix.planned_linear(x, w, bias) is None
        result = matrix.linear(x, w, bias).astype(np.float32)
        np.testing.assert_allclose(result, exact, rtol=2e-2, atol=2e-2)
