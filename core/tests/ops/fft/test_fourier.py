"""Fourier transforms: all names, scales and sizes against PyTorch, derivatives by differences."""

import numpy as np
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


@pytest.mark.parametrize("norm", [None, "backward", "ortho", "forward"])
@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft"])
@pytest.mark.parametrize(
    "shape", [(24,), (1, 20), (3, 64), (2, 3, 400), (64, 16), (3, 15), (2, 75)]
)
def test_repeated_calls_of_single_precision(name, norm, shape):
    """By the door of the first call and by what is remembered."""
    dtypes = ["float32"] if name == "rfft" else ["float32", "complex64"]
    for dtype in dtypes:
        for seed in range(3):
            values = random(*shape, dtype=dtype, seed=seed)
            n = 2 * (shape[-1] - 1) if name == "irfft" else shape[-1]
            for given in (None, n, n - 1):
                for dim in (-1, len(shape) - 1, 0):
                    if shape[dim] > 1:
                        agree(f"fft.{name}", values, given, dim, norm, rtol=3e-5)


def test_repeated_calls_keep_what_tensors_are():
    x = random(2, 64, dtype="float32")
    expected = fft.rfft(x.double()).to(rushlight.complex64)
    for _ in range(3):
        assert rushlight.allclose(fft.rfft(x), expected, atol=1e-5)
        assert not fft.rfft(x).requires_grad
        assert rushlight.allclose(fft.rfft(x.t().contiguous().t()), expected, atol=1e-5)
        leaf = x.clone().requires_grad_()
        assert fft.rfft(leaf).requires_grad
        with rushlight.no_grad():
            assert not fft.rfft(leaf).requires_grad
        with rushlight.inference_mode():
            assert fft.rfft(x).is_inference()
        assert fft.rfft(x).is_contiguous()
        x, expected = -x, -expected
    assert fft.rfft(x[:0]).shape == (0, 33)
    with pytest.raises(TypeError):
        fft.rfft(x, dim=-1.0)
    with pytest.raises(RuntimeError, match="normalization"):
        fft.rfft(x, norm="none")
    with pytest.raises(IndexError):
        fft.rfft(x, dim=2)
    with pytest.raises(RuntimeError, match="real input"):
        fft.rfft(fft.fft(x))


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


@pytest.mark.parametrize("shape", [(8, 8), (10, 12), (3, 16, 64), (2, 3, 5, 4), (30, 11), (7, 4)])
@pytest.mark.parametrize("norm", [None, "ortho", "forward"])
@pytest.mark.parametrize("name", ["fft2", "ifft2", "rfft2", "irfft2"])
def test_planes_of_single_precision(name, norm, shape):
    """The first call and those that are prepared, of dense planes and of others, of any values."""
    draws = np.random.default_rng(0)
    real, imaginary = (draws.standard_normal((3, *shape)).astype(np.float32) for _ in range(2))
    kinds = [real] if name == "rfft2" else [real, real + 1j * imaginary]
    for values in kinds:
        function = getattr(rushlight.fft, name)
        for array in values:
            expected = getattr(np.fft, name)(array, norm=norm)
            scale = max(1.0, np.abs(expected).max(initial=0))
            x = rushlight.tensor(array)
            for given in (x, x.transpose(-2, -1).contiguous().transpose(-2, -1)):
                found = function(given, norm=norm).numpy()
                assert found.dtype == expected.astype(found.dtype).dtype
                np.testing.assert_allclose(found, expected, rtol=0, atol=3e-6 * scale)
            if len(shape) > 2:
                found = function(x, dim=(0, 1), norm=norm).numpy()
                wanted = getattr(np.fft, name)(array, axes=(0, 1), norm=norm)
                np.testing.assert_allclose(found, wanted, rtol=0, atol=3e-6 * scale)


def test_planes_are_recorded_where_they_must_be():
    x = rushlight.rand(4, 6, requires_grad=True)
    rushlight.fft.fft2(x.detach())
    rushlight.fft.fft2(x.detach())
    (rushlight.fft.fft2(x).abs() ** 2).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), 2 * 24 * x.detach().numpy(), rtol=1e-4)
    with pytest.raises(RuntimeError, match="normalization"):
        rushlight.fft.fft2(x.detach(), norm="other")
