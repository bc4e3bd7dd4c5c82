"""Fourier transforms: all names, scales and sizes against PyTorch, derivatives by differences."""

import pytest

import rushlight
from rushlight import fft
from rushlight.autograd import gradcheck, gradgradcheck
from rushlight.testing.agreement import agree, random

ONE = ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"]
MANY = [name + end for name in ONE for end in ("2", "n")]
REAL = ("rfft", "ihfft")


def checked(function, *inputs):
    """First and second derivatives agree with finite differences."""
    leaves = [x.detach().requires_grad_() for x in inputs]
    return gradcheck(function, leaves) and gradgradcheck(function, leaves)


@pytest.mark.parametrize("norm", [None, "ortho", "forward"])
@pytest.mark.parametrize("name", ONE)
def test_one_dimension(name, norm):
    for dtype in ("float64", "complex128"):
        if dtype == "complex128" and name in REAL:
            continue
        for n in (None, 3, 8):
            for dim in (-1, 0):
                agree(f"fft.{name}", random(4, 5, dtype=dtype), n, dim, norm)
        assert checked(lambda x: getattr(fft, name)(x, norm=norm), random(2, 5, dtype=dtype))
        assert checked(lambda x: getattr(fft, name)(x, 6), random(2, 5, dtype=dtype))


@pytest.mark.parametrize("name", MANY)
def test_several_dimensions(name):
    dtype = "float64" if name.startswith(REAL) else "complex128"
    values = random(3, 4, 5, dtype=dtype)
    for options in ({}, {"s": (5, 3)}, {"dim": (0, 2), "norm": "ortho"}, {"s": (2, -1)}):
        agree(f"fft.{name}", values, **options)
    assert checked(lambda x: getattr(fft, name)(x, (3, 4)), values)


@pytest.mark.parametrize("n", [1, 2, 7, 8])
def test_frequencies_and_shifts(n):
    agree("fft.fftfreq", n, 0.5)
    agree("fft.rfftfreq", n, 0.5, dtype=rushlight.float64)
    values = random(n, 3)
    agree("fft.fftshift", values)
    agree("fft.ifftshift", values, 0)
    assert rushlight.equal(fft.ifftshift(fft.fftshift(values)), values)


def test_precision_stays():
    assert fft.fft(random(4, dtype="float32")).dtype is rushlight.complex64
    assert fft.irfft(random(4, dtype="complex64")).dtype is rushlight.float32
    assert fft.fft(rushlight.arange(4)).dtype is rushlight.complex64


def test_bad_input():
    with pytest.raises(RuntimeError, match="float16"):
        fft.fft(rushlight.ones(4, dtype=rushlight.float16))
    with pytest.raises(RuntimeError, match="real input"):
        fft.rfft(random(4, dtype="complex64"))
    with pytest.raises(RuntimeError, match="nonsense"):
        fft.fft(random(4), norm="nonsense")
    with pytest.raises(RuntimeError, match=r"data points \(0\)"):
        fft.fft(random(4), 0)
    with pytest.raises(RuntimeError, match="unique"):
        fft.fftn(random(4, 4), dim=(0, 0))


def test_overflow_and_nan_are_silent():
    inf, nan = float("inf"), float("nan")
    values = rushlight.tensor([[inf, -inf, 1.0, 0.0], [nan, 3e38, 3e38, 3e38]])
    for name in ("fft", "rfft", "irfft", "hfft"):
        found = getattr(fft, name)(values)
        assert not bool(found.isfinite().all())


def test_meta_shapes():
    values = rushlight.empty(3, 8, device="meta")
    assert fft.rfft(values).shape == (3, 5) and fft.rfft(values).dtype is rushlight.complex64
    assert fft.irfftn(fft.rfftn(values)).shape == (3, 8)
    assert fft.fft2(values).is_meta
