"""Resampling against the definition: a sum over samples of a windowed sinc."""

import math
import subprocess
import sys

import numpy as np
import pytest

import rushlight as rl
from rushlight_audio import functional as F
from rushlight_audio import transforms as T
from rushlight_audio.functional import sinc_sums
from rushlight_audio.functional.resample import apply_kernel, reduced_rates, sinc_kernel
from rushlight_audio.functional.sinc import SincFilter
from rushlight_audio.functional.sinc_products import grouped_weights, resample_by_products


def noise(*shape):
    return np.random.default_rng(3).standard_normal(shape)


def by_sum(x, orig, new, width=6, rolloff=0.99, beta=None):
    """y(t) = sum over n of x[n] h(t - n / orig), with h the windowed sinc."""
    divisor = math.gcd(orig, new)
    orig, new = orig // divisor, new // divisor
    edge = min(orig, new) * rolloff
    n = np.arange(len(x))
    out = []
    for k in range(math.ceil(len(x) * new / orig)):
        t = np.clip((n / orig - k / new) * edge, -width, width)
        if beta is None:
            window = np.cos(t * np.pi / width / 2) ** 2
        else:
            window = np.i0(beta * np.sqrt(np.maximum(1 - (t / width) ** 2, 0))) / np.i0(beta)
            window[np.abs(t) == width] = 0
        out.append((x * np.sinc(t) * window).sum() * edge / orig)
    return np.array(out)


RATES = [(16000, 8000), (8000, 16000), (44100, 16000), (16000, 22050), (3, 7)]


@pytest.mark.parametrize(("orig", "new"), RATES)
def test_resample_is_the_sum(orig, new):
    x = noise(700)
    ours = F.resample(rl.from_numpy(x), orig, new)
    np.testing.assert_allclose(ours.numpy(), by_sum(x, orig, new), atol=1e-12)


def test_width_and_rolloff():
    x = noise(300)
    ours = F.resample(rl.from_numpy(x), 3, 2, lowpass_filter_width=16, rolloff=0.85)
    np.testing.assert_allclose(ours.numpy(), by_sum(x, 3, 2, 16, 0.85), atol=1e-12)


@pytest.mark.parametrize("beta", [None, 6.5])
def test_kaiser_window(beta):
    x = noise(300)
    ours = F.resample(rl.from_numpy(x), 3, 2, resampling_method="sinc_interp_kaiser", beta=beta)
    # The edge of a Kaiser window is 1 / I0(beta), not 0, but sinc(6) is.
    expected = by_sum(x, 3, 2, beta=14.769656459379492 if beta is None else beta)
    np.testing.assert_allclose(ours.numpy(), expected, atol=1e-12)


def test_transform_is_the_function():
    x = rl.from_numpy(noise(2, 3, 500).astype(np.float32))
    steps = T.Resample(44100, 16000)
    assert list(steps.state_dict()) == ["kernel"]
    assert steps(x).shape == (2, 3, 182)
    assert rl.equal(steps(x), F.resample(x, 44100, 16000))
    exact = T.Resample(44100, 16000, dtype=rl.float64)
    assert rl.equal(exact(x.double()), F.resample(x.double(), 44100, 16000))


def test_equal_rates_give_the_waveform():
    x = rl.zeros(10)
    assert F.resample(x, 8000, 8000) is x
    assert T.Resample(8000, 8000)(x) is x
    assert T.Resample()(x) is x


def test_a_tone_keeps_its_frequency():
    time = np.arange(8000) / 8000
    x = rl.from_numpy(np.sin(2 * np.pi * 440 * time))
    ours = F.resample(x, 8000, 11025).numpy()
    expected = np.sin(2 * np.pi * 440 * np.arange(11025) / 11025)
    assert np.abs(ours - expected)[200:-200].max() < 2e-3


def test_gradient():
    x, y = noise(100), noise(67)
    waveform = rl.from_numpy(x).requires_grad_()
    out = F.resample(waveform, 3, 2)
    (out * rl.from_numpy(y)).sum().backward()
    # Linear, so <grad, x> is <y, out>.
    assert waveform.grad.numpy() @ x == pytest.approx(out.detach().numpy() @ y)


COPRIME = [(44101, 48017), (48017, 44101), (9973, 1009), (1009, 9973), (100003, 7), (7, 100003)]


@pytest.mark.parametrize(("orig", "new"), COPRIME)
@pytest.mark.parametrize("beta", [None, 6.5])
def test_rates_without_a_divisor(orig, new, beta):
    x = noise(2, 500 if new < 10000 else 90 if orig > 10000 else 9)
    method = "sinc_interp_hann" if beta is None else "sinc_interp_kaiser"
    ours = F.resample(rl.from_numpy(x), orig, new, resampling_method=method, beta=beta)
    assert ours.shape == (2, math.ceil(x.shape[1] * new / orig))
    some = np.linspace(0, ours.shape[1] - 1, min(50, ours.shape[1])).astype(int)
    sure = np.stack([by_sum_at(row, orig, new, some, beta) for row in x])
    np.testing.assert_allclose(ours[:, some].numpy(), sure, atol=1e-11)


def by_sum_at(x, orig, new, outputs, beta):
    """Some outputs of `by_sum`."""
    edge, n, out = min(orig, new) * 0.99, np.arange(len(x)), []
    for k in outputs:
        t = np.clip((n / orig - k / new) * edge, -6, 6)
        window = np.cos(t * np.pi / 12) ** 2
        if beta is not None:
            window = np.i0(beta * np.sqrt(np.maximum(1 - (t / 6) ** 2, 0))) / np.i0(beta)
            window[np.abs(t) == 6] = 0
        out.append((x * np.sinc(t) * window).sum() * edge / orig)
    return np.array(out)


def test_sums_are_the_convolution(monkeypatch):
    x = rl.from_numpy(noise(3, 700)).requires_grad_()
    for orig, new in RATES:
        filters = SincFilter(*reduced_rates(orig, new), 6, 0.99, "sinc_interp_hann", None, x.dtype)
        with monkeypatch.context() as patch:
            for name, value in (("BLOCK", 300), ("FEWEST", 40), ("MOST_SAMPLES", 7)):
                patch.setattr(sinc_sums, name, value)
            sums = sinc_sums.resample_by_sums(x, filters)
            expected = F.resample(x, orig, new)
            np.testing.assert_allclose(sums.detach(), expected.detach(), atol=1e-12)
            weight = rl.from_numpy(noise(*sums.shape))
            found, wanted = (
                rl.autograd.grad((out * weight).sum(), x)[0] for out in (sums, expected)
            )
        np.testing.assert_allclose(found, wanted, atol=1e-12)


def test_gradients_of_sums():
    x = rl.from_numpy(noise(2, 20)).requires_grad_()
    resample = lambda x: F.resample(x, 44101, 48017)
    assert rl.autograd.gradcheck(resample, (x,))
    assert rl.autograd.gradgradcheck(resample, (x,))
    half = F.resample(rl.from_numpy(noise(2, 200)).half(), 44101, 48017)
    assert half.dtype is rl.float16


def test_memory_is_that_of_input_and_output():
    code = (
        "import resource, rushlight as rl, rushlight_audio.functional as F\n"
        "x = rl.randn(1000)\n"
        "F.resample(x[:100], 44101, 48017)\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "for orig, new in ((44101, 48017), (100003, 99991), (1, 100003), (100003, 1)):\n"
        "    F.resample(x, orig, new) if new < 1e5 else F.resample(x[:9], orig, new)\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(run.stdout) < 100_000  # kB; the filters of all phases would be 10 GB


def test_the_transform_keeps_no_large_filter():
    x = rl.from_numpy(noise(2, 300).astype(np.float32))
    steps = T.Resample(44101, 48017)
    assert list(steps.state_dict()) == []
    assert rl.equal(steps(x), F.resample(x, 44101, 48017))


@pytest.mark.parametrize(("orig", "new"), [(3, 2), (44101, 48017)])
def test_nothing_to_resample(orig, new):
    for shape in ((0,), (2, 0), (0, 300), (2, 0, 300)):
        x = rl.zeros(shape, requires_grad=True)
        for out in (F.resample(x, orig, new), T.Resample(orig, new)(x)):
            assert out.shape == (*shape[:-1], -(-shape[-1] * new // orig))


def test_bad_input():
    x = rl.zeros(100)
    with pytest.raises(TypeError, match="orig_freq must be an integer, got 44100.5"):
        F.resample(x, 44100.5, 16000)
    with pytest.raises(ValueError, match="new_freq must be positive, got 0"):
        T.Resample(16000, 0)
    with pytest.raises(ValueError, match="resampling_method must be one of .*got 'linear'"):
        F.resample(x, 2, 3, resampling_method="linear")
    with pytest.raises(ValueError, match="lowpass_filter_width must be positive, got 0"):
        F.resample(x, 2, 3, lowpass_filter_width=0)
    with pytest.raises(TypeError, match="floating-point type, got rushlight.int16"):
        F.resample(x.to(rl.int16), 2, 3)
    with pytest.raises(TypeError, match="Resample.*must be a tensor, not list"):
        T.Resample(2, 3)([0.0])


RATES = [
    *[(2, 1), (1, 2), (3, 7), (441, 160), (160, 441), (147, 160), (5, 64)],
    *[(50, 3), (1, 100), (100, 1), (97, 89)],
]


@pytest.mark.parametrize("rates", RATES)
@pytest.mark.parametrize("length", [1, 20, 700])
def test_products_are_the_convolution(rates, length):
    """Grouped products of matrices give what the convolution by phases gives, gradients too."""
    filters = SincFilter(*rates, 6, 0.99, "sinc_interp_hann", None, rl.float64)
    kernel = sinc_kernel(filters)[0]
    found = []
    for way in ("convolution", "products"):
        x = rl.from_numpy(noise(2, 3, length)).requires_grad_()
        if way == "convolution":
            out = apply_kernel(x, kernel, *rates)
        else:
            out = resample_by_products(x, filters, grouped_weights(filters, kernel))
        (grad,) = rl.autograd.grad(out.square().sum(), x)
        found.append([out.detach().numpy(), grad.numpy()])
    for ours, expected in zip(*found, strict=True):
        np.testing.assert_allclose(ours, expected, 1e-10, 1e-12)


def test_second_derivative_of_products():
    x = rl.from_numpy(noise(2, 30)).requires_grad_()
    assert rl.autograd.gradgradcheck(lambda x: F.resample(x, 3, 2), (x,))


def test_a_kernel_that_is_changed_is_used():
    module = T.Resample(3, 2)
    x = rl.randn(30)
    first = module(x)
    with rl.no_grad():
        module.kernel *= 2
    rl.testing.assert_close(module(x), 2 * first)
    module.load_state_dict(T.Resample(3, 2).state_dict())
    rl.testing.assert_close(module(x), first)
    assert list(module.double()(x.double()).shape) == list(first.shape)
    module.kernel = module.kernel.clone().requires_grad_()
    module(x.double()).sum().backward()
    assert module.kernel.grad.shape == module.kernel.shape


@pytest.mark.parametrize("rates", [(3, 2), (10007, 9973)])
def test_function_transforms(rates):
    x = rl.from_numpy(noise(3, 2, 60))
    call = lambda y: F.resample(y, *rates)  # noqa: E731
    rl.testing.assert_close(rl.func.vmap(call)(x), call(x))
    rl.testing.assert_close(rl.func.vmap(call, 1)(x), call(x).transpose(0, 1))
    rl.testing.assert_close(rl.func.jvp(call, (x,), (x,))[1], call(x))
    slope = rl.func.grad(lambda y: call(y).square().sum())
    rl.testing.assert_close(rl.func.vmap(slope)(x), slope(x))
    forward, reverse = (way(call)(x[0, 0]) for way in (rl.func.jacfwd, rl.func.jacrev))
    rl.testing.assert_close(forward, reverse)
    second = rl.func.hessian(lambda y: call(y).square().sum())(x[0, 0, :9])
    rl.testing.assert_close(second, 2 * (lambda j: j.T @ j)(rl.func.jacrev(call)(x[0, 0, :9])))


def test_meta_tensors_have_shapes():
    assert F.resample(rl.zeros(2, 90, device="meta"), 3, 2).shape == (2, 60)
    assert F.resample(rl.zeros(2, 4411, device="meta"), 4411, 1600).shape == (2, 1600)
    assert T.Resample(3, 2).to("meta")(rl.zeros(2, 90, device="meta")).shape == (2, 60)


@pytest.mark.parametrize("rates", [(44100, 16000), (16000, 44100), (3, 2), (4411, 1600)])
@pytest.mark.parametrize("dtype", [rl.bfloat16, rl.float16])
def test_autocast_is_that_of_a_convolution(rates, dtype):
    x = rl.tensor(noise(2, 3000), dtype=rl.float32)
    filters = SincFilter(*reduced_rates(*rates), 6, 0.99, "sinc_interp_hann", None, rl.float32)
    kernel, wanted = sinc_kernel(filters)[0], x.clone().requires_grad_()
    with rl.autocast("cpu", dtype=dtype):
        expected = apply_kernel(x, kernel, filters.orig, filters.new)
        found = [T.Resample(*rates)(wanted), F.resample(x, *rates)]
        wide = F.resample(x.double(), *rates)
    assert expected.dtype is dtype and wide.dtype is rl.float64
    for each in found:
        assert each.dtype is dtype
        error = (each - expected).float().abs().max().item()
        assert error <= 2 * rl.finfo(dtype).eps * expected.float().abs().max().item()
    found[0].float().sum().backward()
    exact = x.clone().requires_grad_()
    apply_kernel(exact, kernel, filters.orig, filters.new).sum().backward()
    assert wanted.grad.dtype is rl.float32
    np.testing.assert_allclose(wanted.grad.numpy(), exact.grad.numpy(), atol=1e-3)


@pytest.mark.parametrize("former", ["sinc_interpolation", "kaiser_window"])
def test_former_names_of_windows_warn(former):
    wave = rl.sin(rl.arange(40.0))
    with pytest.warns(UserWarning, match=f'"{former}" resampling method name is being deprecated'):
        found = F.resample(wave, 4, 3, resampling_method=former)
    wanted = F.resample(wave, 4, 3, resampling_method="sinc_interp_kaiser")
    assert rl.equal(found, wanted)
    with pytest.warns(UserWarning, match="is being deprecated"):
        again = T.Resample(4, 3, resampling_method=former)(wave)
    assert rl.equal(again, wanted)
