"""Calls of convolutions whose like has been met before: results, dtypes and errors as at first."""

from __future__ import annotations

import numpy as np
import pytest

import rushlight
from rushlight.nn import functional as F

torch = pytest.importorskip("torch")

FORMS = [
    (F.conv2d, (2, 6, 9, 8), (4, 6, 3, 2), {"stride": (2, 1), "padding": [1, 0]}),
    (F.conv2d, (2, 6, 9, 8), (4, 3, 3, 3), {"groups": 2, "dilation": 2, "padding": "same"}),
    (F.conv2d, (6, 9, 8), (4, 6, 1, 1), {}),
    (F.conv2d, (3, 4, 8, 8), (4, 1, 3, 3), {"groups": 4, "padding": 1}),
    (F.conv1d, (2, 6, 9), (4, 6, 4), {"padding": "same"}),
    (F.conv3d, (2, 3, 5, 6, 4), (4, 3, 2, 2, 2), {"stride": 2}),
]


@pytest.mark.filterwarnings("ignore:Using padding='same'")
@pytest.mark.parametrize(("function", "image", "kernel", "settings"), FORMS)
@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "complex64"])
def test_again_and_again(function, image, kernel, settings, dtype):
    theirs = getattr(torch.nn.functional, function.__name__)
    draw = np.random.default_rng(0)
    for turn in range(3):
        for with_bias in (False, True):
            numbers = [draw.standard_normal(s) for s in (image, kernel, kernel[:1])]
            found = []
            for library, call in ((rushlight, function), (torch, theirs)):
                kind = getattr(library, dtype)
                x, w, b = (library.tensor(n).to(kind) for n in numbers)
                x = x.transpose(-1, -2).contiguous().transpose(-1, -2) if turn == 2 else x
                with library.no_grad():
                    out = call(x, w, b if with_bias else None, **settings)
                assert out.dtype is kind
                found.append(out.to(library.complex128).numpy())
            bound = {"bfloat16": 5e-2, "float64": 1e-12}.get(dtype, 1e-4)
            np.testing.assert_allclose(*found, bound, bound)


def test_recorded_and_not():
    x, w = rushlight.randn(2, 3, 5, 5), rushlight.randn(4, 3, 3, 3, requires_grad=True)
    for _ in range(2):
        assert F.conv2d(x, w).grad_fn is not None
        with rushlight.no_grad():
            assert F.conv2d(x, w).grad_fn is None
        with rushlight.inference_mode():
            assert F.conv2d(x, w).is_inference()
        assert not F.conv2d(x, w.detach()).is_inference()


def test_errors_remain():
    x, w, b = rushlight.zeros(2, 3, 5, 5), rushlight.zeros(4, 3, 3, 3), rushlight.zeros(4)
    for _ in range(2):
        F.conv2d(x, w, b)
        with pytest.raises(RuntimeError, match="should be the same"):
            F.conv2d(x, w.double(), b)
        with pytest.raises(RuntimeError, match="should be the same"):
            F.conv2d(x, w, b.double())
        with pytest.raises(RuntimeError, match="bias to be 1-dimensional with 4"):
            F.conv2d(x, w, b[:3])
        with pytest.raises(RuntimeError, match="greater than zero"):
            F.conv2d(x, w, b, stride=0)
        with pytest.raises(RuntimeError, match="Kernel size can't be greater"):
            F.conv2d(x[:, :, :2], w, b)
        with pytest.raises(RuntimeError, match="expected input"):
            F.conv2d(x, w, b, groups=2)
        with pytest.raises(TypeError):
            F.conv2d(x, w, b, stride=1.0)


@pytest.mark.parametrize("channels", [16, 40])
@pytest.mark.parametrize("outputs", [30, 100])
@pytest.mark.parametrize("side", [(16, 16), (17, 19), (33, 31)])
def test_one_matrix_times_many_images(channels, outputs, side):
    """1 x 1 convolutions and the gradients of their inputs, with a bias and without."""
    draw = np.random.default_rng(1)
    x = draw.standard_normal((5, channels, *side)).astype(np.float32)
    w = draw.standard_normal((outputs, channels, 1, 1)).astype(np.float32)
    b, g = draw.standard_normal(outputs).astype(np.float32), None
    for bias in (b, None):
        image, weight = rushlight.tensor(x, requires_grad=True), rushlight.tensor(w)
        out = F.conv2d(image, weight, None if bias is None else rushlight.tensor(bias))
        want = np.einsum("oc,nchw->nohw", w[:, :, 0, 0].astype(np.float64), x)
        want = want if bias is None else want + bias[:, None, None]
        np.testing.assert_allclose(out.detach().numpy(), want, 1e-4, 1e-4)
        g = draw.standard_normal(out.shape).astype(np.float32)
        out.backward(rushlight.tensor(g))
        want = np.einsum("oc,nohw->nchw", w[:, :, 0, 0].astype(np.float64), g)
        np.testing.assert_allclose(image.grad.numpy(), want, 1e-4, 1e-4)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("dims", [1, 2, 3])
@pytest.mark.parametrize(
    "settings", [(3, 1, 1, 0, 1, 1), (4, 2, 1, 0, 1, 1), (3, 2, 1, 1, 2, 1), (1, 1, 0, 0, 1, 1)]
)
def test_half_width_transposed_convolutions_are_rounded_once(dtype, dims, settings):
    """The bias is added before sums are rounded: it may take most of them away again."""
    size, stride, padding, extra, groups, dilation = settings
    rushlight.manual_seed(3)
    kind = getattr(rushlight, dtype)
    x = rushlight.randn(2, 8, *(5,) * dims).to(kind).requires_grad_()
    w = rushlight.randn(8, 8 // groups, *(size,) * dims).to(kind).requires_grad_()
    b = (20 * rushlight.randn(8)).to(kind).requires_grad_()
    transposed = getattr(rushlight.nn.functional, f"conv_transpose{dims}d")
    rest = stride, padding, extra, groups, dilation
    found = transposed(x, w, b, *rest)
    exact = [t.detach().double().requires_grad_() for t in (x, w, b)]
    wanted = transposed(*exact, *rest)
    scale = transposed(*(t.detach().abs() for t in exact), *rest)
    half = 2.0 ** (-8 if dtype == "bfloat16" else -11)
    tiny = 2.0 ** (-134 if dtype == "bfloat16" else -25)
    bound = wanted.abs() * half * 1.001 + scale * 1e-6 + tiny
    assert bool(((found.double() - wanted).abs() <= bound).all())
    above = rushlight.ones_like(found)
    ours = rushlight.autograd.grad(found, (x, w, b), above)
    truths = rushlight.autograd.grad(wanted, exact, above.double())
    for gradient, truth in zip(ours, truths, strict=True):
        assert gradient.dtype == kind
        assert (gradient.double() - truth).abs().max() <= 4 * half * (1 + truth.abs().max())


def test_half_width_transposed_convolutions_inside_of_transforms():
    x, w = rushlight.randn(3, 2, 4, 6).bfloat16(), rushlight.randn(4, 5, 3).bfloat16()
    b = rushlight.randn(5).bfloat16()
    transposed = rushlight.nn.functional.conv_transpose1d
    by_example = rushlight.func.vmap(lambda t: transposed(t, w, b))(x)
    assert by_example.shape == (3, 2, 5, 8)
    assert rushlight.allclose(by_example[1].float(), transposed(x[1], w, b).float(), 2e-2, 2e-2)
    out, moved = rushlight.func.jvp(lambda t: transposed(x[0], w, t), (b,), (b,))
    assert rushlight.allclose(moved.float(), b.float()[:, None].expand(2, 5, 8))
    (slope,) = rushlight.func.vjp(lambda t: transposed(x[0], w, t), b)[1](rushlight.ones_like(out))
    assert rushlight.allclose(slope.float(), rushlight.full((5,), 16.0))


@pytest.mark.parametrize(
    ("function", "image", "kernel", "groups"),
    [
        ("conv1d", (1, 3, 4), (0, 3, 1), 1),
        ("conv2d", (1, 3, 4, 4), (0, 3, 1, 1), 1),
        ("conv2d", (3, 4, 4), (0, 3, 1, 1), 1),
        ("conv3d", (1, 3, 4, 4, 4), (0, 3, 1, 1, 1), 1),
        ("conv2d", (1, 4, 4, 4), (0, 2, 1, 1), 2),
        ("conv2d", (1, 4, 4, 4), (1, 2, 1, 1), 2),
        ("conv2d", (1, 4, 4, 4), (3, 2, 1, 1), 2),
        ("conv2d", (1, 3, 4, 4), (2, 3, 1, 1), 0),
        ("conv2d", (1, 3, 4, 4), (2, 3, 0, 1), 1),
        ("conv_transpose2d", (1, 3, 4, 4), (3, 0, 1, 1), 1),
        ("conv_transpose2d", (1, 0, 4, 4), (0, 2, 1, 1), 1),
    ],
)
def test_weights_without_channels_or_windows_are_refused(function, image, kernel, groups):
    for library in (rushlight, torch):
        call = getattr(library.nn.functional, function)
        with pytest.raises(RuntimeError):
            call(library.zeros(image), library.zeros(kernel), groups=groups)
    with pytest.raises(RuntimeError, match=f"{function}: .*(weight|groups)"):
        getattr(F, function)(rushlight.zeros(image), rushlight.zeros(kernel), groups=groups)


@pytest.mark.parametrize("transposed", [False, True])
def test_convolution_by_the_name_of_traces(transposed):
    draw = np.random.default_rng(0)
    image, kernel = draw.standard_normal((2, 4, 6, 5)), draw.standard_normal((4, 2, 3, 3))
    bias = draw.standard_normal(4)
    rest = ([2, 1], [1, 0], [1, 1], transposed, [0, 0], 2, False, False, True, True)
    found = []
    for library in (rushlight, torch):
        values = [library.tensor(x) for x in (image, kernel, bias)]
        found += [
            library._convolution(*values, *rest),
            library.ops.aten._convolution(*values, *rest),
        ]
    for other in found[:3]:
        np.testing.assert_allclose(other.numpy(), found[3].numpy(), rtol=1e-12, atol=1e-12)
