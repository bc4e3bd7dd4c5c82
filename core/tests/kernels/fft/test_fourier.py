"""Compiled transforms of rows against NumPy's in double precision."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rushlight
from rushlight.kernels.fft import rows_and_columns as fourier
from rushlight.kernels.fft import whole_rows as row_fourier
from rushlight.kernels.launch.execution import REFERENCE
from rushlight.kernels.launch.prepared import Remembered
from rushlight.machine import threads
from rushlight.machine.language.element_vectors import VL

if REFERENCE:
    pytest.skip("the reference is NumPy", allow_module_level=True)

SIZES = [4, 5, 6, 7, 8, 9, 12, 14, 15, 16, 20, 32, 40, 49, 64, 100, 210, 400, 512, 1024, 1050, 8192]


def complex_values(rng, *shape):
    return (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(np.complex64)


def check(found, exact, limit=1.5e-7):
    """Errors of a row depend on that row alone; `limit`: of the mean."""
    size = np.abs(exact).max(-1, keepdims=True)
    assert (np.abs(found - exact) <= 3 * limit * size + 1e-30).all()
    error = np.square(np.abs(found - exact)).mean() / np.square(np.abs(exact)).mean()
    assert np.sqrt(error) < limit


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("rows", [4, 16, 37])
def test_complex_rows(rng, n, rows):
    x = complex_values(rng, rows, n) * 10.0 ** np.arange(-4, rows - 4)[:, None].clip(-4, 4)
    x = x.astype(np.complex64)
    check(fourier.complex_rows(x, True, 1.0), np.fft.fft(x.astype(complex)))
    check(fourier.complex_rows(x, False, 1 / n), np.fft.ifft(x.astype(complex)))


@pytest.mark.parametrize("n", [n for n in SIZES if n % 2 == 0 and n > 6] + [2048, 16384])
@pytest.mark.parametrize("rows", [4, 16, 37])
def test_real_rows(rng, n, rows):
    x = rng.standard_normal((rows, n)).astype(np.float32)
    x *= (10.0 ** np.arange(-4, rows - 4).clip(-4, 4)).astype(np.float32)[:, None]
    x[1] = 0
    check(fourier.real_rows(x, 0.5), np.fft.rfft(x.astype(float)) * 0.5)
    check(fourier.real_rows(x, 1.0, whole=True), np.fft.fft(x.astype(float)))
    half = complex_values(rng, rows, n // 2 + 1)  # with imaginary parts that do not count
    check(fourier.rows_back(half, n, 1 / n), np.fft.irfft(half.astype(complex), n=n))
    assert not fourier.real_rows(x, 1.0)[1].any()


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("columns", [4, 15, 16, 33])
def test_complex_columns(rng, n, columns):
    x = complex_values(rng, 2, n, columns)
    x[1] *= 1000
    exact = np.fft.fft(x.astype(complex), axis=1)
    found = fourier.complex_columns(x, 1, True, 1.0)
    assert np.array_equal(found[1:], fourier.complex_columns(x[1:], 1, True, 1.0))
    check(found.swapaxes(1, 2), exact.swapaxes(1, 2))
    found = fourier.complex_columns(x, 1, False, 0.25)
    exact = np.fft.ifft(x.astype(complex), axis=1) * (n / 4)
    check(found.swapaxes(1, 2), exact.swapaxes(1, 2))
    x[1, n // 2, columns - 1] = np.nan
    wrong = np.isnan(fourier.complex_columns(x, 1, True, 1.0))
    assert wrong[1, :, columns - 1].all()
    assert wrong.sum() == n


@pytest.mark.parametrize(
    ("rows", "n"),
    [(1, 11025), (2, 16384), (19, 16384), (2, 1 << 15), (1, 53760), (5, 53760), (1, 1 << 18)],
)
def test_long_rows(rng, rows, n):
    x = complex_values(rng, rows, n) * 10.0 ** np.arange(rows)[:, None].clip(0, 4)
    x = x.astype(np.complex64)
    assert fourier._is_long(x, x.dtype, n)
    check_rows(rng, x, n, 2e-7)


SHORT = [1, 2, 3, 4, 5, 6, 7, 8, 10, 15, 16, 30, 49, 60, 64, 100, 120, 128, 200, 256, 400, 512]
SHORT += [1000, 1024, 1050, 2048, 2100, 4096, 8000, 8192]


@pytest.mark.parametrize("n", SHORT)
@pytest.mark.parametrize("rows", [3, 7])
@pytest.mark.parametrize("one_by_one", [True, False])
def test_few_rows(rng, monkeypatch, rows, n, one_by_one):
    monkeypatch.setattr(row_fourier, "_is_few", lambda *shape: one_by_one)
    monkeypatch.setattr(fourier, "_known", Remembered())
    x = complex_values(rng, rows, n) * 10.0 ** np.arange(rows)[:, None].clip(0, 4)
    check_rows(rng, x.astype(np.complex64), n, 1.7e-7)
    real = rng.standard_normal((rows, 2 * n)).astype(np.float32)
    exact = np.fft.fft(real.astype(float), norm="ortho")
    check(fourier.real_rows(real, (2 * n) ** -0.5, whole=True), exact, 1.7e-7)


@pytest.mark.parametrize("n", [3, 5, 7, 9, 15, 21, 25, 49, 75, 225, 441, 1125, 3675])
@pytest.mark.parametrize("rows", [3, 8, 37])
def test_odd_rows(rng, rows, n):
    x = rng.standard_normal((rows, n)).astype(np.float32)
    x[1] = 0
    exact = np.fft.rfft(x.astype(float), norm="ortho")
    exact[:, 0] *= 0.25
    check(fourier.real_rows(x, n**-0.5, ends=0.25), exact, 1.7e-7)
    check(fourier.real_rows(x, 1.0, whole=True), np.fft.fft(x.astype(float)), 1.7e-7)
    half = complex_values(rng, rows, n // 2 + 1)  # the first with an imaginary part
    exact = half.astype(complex)
    exact[:, 0] *= 4
    exact = np.fft.irfft(exact, n=n)
    if row_fourier.takes("rows_back", rows, n):
        check(fourier.rows_back(half, n, 1 / n, ends=4.0), exact, 1.7e-7)
    else:
        assert fourier.rows_back(half, n, 1 / n, ends=4.0) is None
    assert row_fourier.takes("rows_back", 3, 75)
    x[1, n // 2] = np.nan
    assert np.isnan(fourier.real_rows(x, 1.0)).any(1).tolist() == [i == 1 for i in range(rows)]


@pytest.mark.parametrize("n", [16, 60, 128, 256, 400, 1024])
def test_rows_do_not_depend_on_the_others(rng, n):
    """Within those that are transformed one by one."""
    rows = max(r for r in range(1, 9) if row_fourier._is_few(r, n))
    x = complex_values(rng, rows, n)
    for forward in (True, False):
        together = fourier.complex_rows(x, forward, 0.5)
        for row, found in zip(x, together, strict=True):
            assert np.array_equal(fourier.complex_rows(row, forward, 0.5), found)


def test_the_way_follows_from_shapes():
    assert not row_fourier._is_few(4, 4)
    assert not row_fourier._is_few(64, 64)
    rows = min(4, VL // 2)  # where vectors are short, a few rows fill them
    assert all(row_fourier._is_few(rows, n) for n in (128, 512, 1024, 4096, 8192))


def check_rows(rng, x, n, limit):
    rows = len(x)
    check(fourier.complex_rows(x, True, 0.5), np.fft.fft(x.astype(complex)) * 0.5, limit)
    check(fourier.complex_rows(x, False, 1 / n), np.fft.ifft(x.astype(complex)), limit)
    real = np.stack((x.real, x.imag), -1).reshape(rows, 2 * n)
    exact = np.fft.rfft(real.astype(float))
    exact[:, [0, -1]] *= 0.25
    check(fourier.real_rows(real, 1.0, ends=0.25), exact, limit)
    half = complex_values(rng, rows, n + 1)  # with imaginary parts that do not count
    exact = half.astype(complex)
    exact[:, [0, -1]] *= 4
    exact = np.fft.irfft(exact, n=2 * n) * n
    check(fourier.rows_back(half, 2 * n, 0.5, ends=4.0), exact, limit)


@pytest.mark.parametrize("n", [256, 4096, 1 << 15, 1 << 17])
def test_values_that_are_not_finite_stay_in_their_long_rows(rng, n):
    x = rng.standard_normal((3, n)).astype(np.float32)
    x[1, 77] = np.nan
    found = fourier.real_rows(x, 1.0)
    assert np.isnan(found[1]).all() and not np.isnan(found[[0, 2]]).any()
    assert np.array_equal(found[2:], fourier.real_rows(x[2:], 1.0))


@given(st.integers(1, 2100), st.integers(1, 40), st.sampled_from(["backward", "ortho", "forward"]))
@settings(max_examples=60, deadline=None)
def test_any_size_and_norm(n, rows, norm):
    rng = np.random.default_rng(n)
    x = complex_values(rng, rows, n)
    wide = x.astype(complex)
    limit = 1.5e-7 if fourier._fits(x, x.dtype, n) else 6e-7  # NumPy's: large primes; long rows
    check(fourier.transform(x, (1,), norm), np.fft.fft(wide, norm=norm), limit)
    check(fourier.transform_back(x, (1,), norm), np.fft.ifft(wide, norm=norm), limit)
    real = x.real.copy()
    limit = 1.5e-7 if n % 2 == 0 and fourier._fits(real, real.dtype, n // 2) else 6e-7
    check(fourier.real_transform(real, (1,), norm), np.fft.rfft(wide.real, norm=norm), limit)


def test_several_axes_and_layouts(rng):
    x = complex_values(rng, 6, 8, 12)
    for axes in ((2,), (1, 2), (0, 1, 2), (0, 2), (1,)):
        exact = np.fft.fftn(x.astype(complex), axes=axes)
        check(fourier.transform(x, axes, "backward").reshape(1, -1), exact.reshape(1, -1))
        exact = np.fft.fftn(x.real.astype(float), axes=axes, norm="ortho")
        check(fourier.transform(x.real, axes, "ortho").reshape(1, -1), exact.reshape(1, -1))
    big = np.full((20, 40), np.nan, np.complex64)
    big[1::2, ::4] = x[:, 0, :10].repeat(2, 0)[:10]
    view = big[1::2, ::4]
    check(fourier.transform(view, (1,), "ortho"), np.fft.fft(view.astype(complex), norm="ortho"))


def test_values_that_are_not_finite_stay_in_their_rows(rng):
    x = rng.standard_normal((40, 64)).astype(np.float32)
    x[3, 5], x[20, 0] = np.nan, np.inf
    for found in (fourier.real_rows(x, 1.0), fourier.complex_rows(x.astype(np.complex64), True, 1)):
        bad = ~np.isfinite(found).all(-1)
        assert bad.nonzero()[0].tolist() == [3, 20]


def test_bits_do_not_depend_on_threads(rng):
    x = complex_values(rng, 100, 240)
    count, found = threads.get_num_threads(), []
    try:
        for number in (1, 2, 5):
            threads.set_num_threads(number)
            half = fourier.real_rows(x.real.copy(), 1.0)
            back, columns = fourier.rows_back(half, 240, 1), x.reshape(4, 25, 240)
            columns = fourier.complex_columns(columns, 1, False, 0.5)
            long = fourier.real_rows(x.real.reshape(1, -1).copy(), 1.0)
            long = (long, fourier.rows_back(long, 24000, 1.0))
            few = fourier.real_rows(x[:, :160].real.reshape(8, 2000), 0.5)
            few = (few, fourier.rows_back(few, 2000, 1.0))
            few = (*few, fourier.complex_rows(x.reshape(2, -1), True, 1.0))
            found.append((fourier.complex_rows(x, True, 1.0), half, back, columns, *long, *few))
    finally:
        threads.set_num_threads(count)
    for other in found[1:]:
        assert all(np.array_equal(a, b) for a, b in zip(found[0], other, strict=True))


@pytest.mark.parametrize("n", [8, 9, 30, 64, 2 * 37])
@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("norm", ["backward", "ortho", "forward"])
def test_transposed_halves(rng, n, kind, norm):
    x = rng.standard_normal((37, n)).astype(kind)
    half = (rng.standard_normal((37, n // 2 + 1)) * (1 + 2j)).astype(np.result_type(kind, 1j))
    twice = np.full(n // 2 + 1, 2.0)
    twice[0] = 1
    if n % 2 == 0:
        twice[-1] = 1
    before = half.copy()
    found = fourier.half_transposed(x, (-1,), norm)
    assert found.dtype == half.dtype
    check(found, np.fft.rfft(x.astype(float), norm=norm) * twice, 6e-7)
    found = fourier.half_transposed_back(half, (-1,), n, norm)
    assert found.dtype == kind
    check(found, np.fft.irfft(half.astype(complex) / twice, n=n, norm=norm), 6e-7)
    assert np.array_equal(half, before)


@pytest.mark.parametrize("n", [16, 30])
@pytest.mark.parametrize(
    "name", ["fft", "ifft", "rfft", "irfft", "hfft", "fft2", "rfft2", "irfft2", "rfftn"]
)
def test_gradients_are_pytorchs(name, n):
    torch = pytest.importorskip("torch")
    start = np.random.default_rng(n).standard_normal((5, 8, n)).astype(np.float32)
    results = []
    for library in (rushlight, torch):
        x = library.tensor(start.tolist(), requires_grad=True)
        given = x * (1 + 0.5j) if name in ("ifft", "irfft", "hfft", "irfft2") else x
        out = getattr(library.fft, name)(given)
        (out.abs() ** 2 + out.real).sum().backward()
        results.append((out.detach(), x.grad))
    for ours, theirs in zip(*results, strict=True):
        ours, theirs = np.array(ours.resolve_conj().tolist()), np.array(theirs.tolist())
        assert np.abs(ours - theirs).max() <= 2e-6 * np.abs(theirs).max()
