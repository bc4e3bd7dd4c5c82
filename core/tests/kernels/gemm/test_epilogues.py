"""Elementwise ops behind products and convolutions, in one step: the bits of two steps."""

import numpy as np
import pytest

import rushlight
from rushlight.kernels.gemm import plans as gemm
from rushlight.kernels.gemm import products as matrix
from rushlight.kernels.gemm.panels import PanelProduct
from rushlight.machine.processors import fuses_vectors
from rushlight.nn import functional as F
from rushlight.ops.elementwise import activation as ops
from rushlight.ops.neural.epilogues import convolution_then, epilogue_of, linear_then

pytestmark = pytest.mark.skipif(
    rushlight.settings.kernels_mode() == "reference" or not fuses_vectors(),
    reason="elementwise kernels that are not compiled take two steps",
)

ACTIVATIONS = {
    "relu": (ops.relu, (), {}),
    "relu6": (ops.relu6, (), {}),
    "leaky_relu": (ops.leaky_relu, (0.2,), {}),
    "hardtanh": (ops.hardtanh, (-0.25, 0.5), {}),
    "hardswish": (ops.hardswish, (), {}),
    "silu": (ops.silu, (), {}),
    "gelu": (ops.gelu, (), {"approximate": "tanh"}),
}
# m, n, k: whole and half-filled panels, several blocks of k, single rows, little work
PRODUCTS = [
    (64, 128, 784), (37, 45, 129), (300, 257, 1100), (32, 1024, 256), (1, 1000, 512),
    (1000, 1, 64), (64, 8, 200), (64, 64, 40), (13, 2048, 4200),
]  # fmt: skip


def images_words(m, n, k, transposed):
    """Argument words of one matrix times many, as `gemm.images_plan` has them."""
    words = [0] * gemm.WORDS
    words[gemm.M], words[gemm.N], words[gemm.K] = m, n, k
    words[gemm.A_ROW], words[gemm.B_ROW] = 4 * (m if transposed else k), 4 * n
    words[gemm.C_ROW], words[gemm.TRANS_A], words[gemm.BY_ROWS] = 4 * n, transposed, True
    return words


def random(*shape):
    x = rushlight.randn(*shape)
    x.view(-1)[::37] = float("nan")
    x.view(-1)[5::41] = float("inf")
    return x


@pytest.fixture(params=[1, 2, 5])
def threads(request):
    before = rushlight.get_num_threads()
    rushlight.set_num_threads(request.param)
    yield request.param
    rushlight.set_num_threads(before)


@pytest.fixture(params=[False, True], ids=["panels", "blocks"])
def blocked(request, monkeypatch):
    """Both ways to multiply, whichever this processor takes."""
    monkeypatch.setattr(gemm, "BLOCKED", request.param)
    matrix.forget_plans()
    yield
    matrix.forget_plans()


@pytest.mark.parametrize("name", ACTIVATIONS)
@pytest.mark.parametrize("biased", [False, True])
@pytest.mark.parametrize("size", PRODUCTS, ids=str)
def test_products(size, biased, name, blocked):
    (m, n, k), (function, more, keywords) = size, ACTIVATIONS[name]
    rushlight.manual_seed(0)
    x, w, bias = random(m, k), rushlight.randn(n, k), rushlight.randn(n) if biased else None
    with rushlight.no_grad():
        expected = function(F.linear(x, w, bias), *more, **keywords)
        found = linear_then(x, w, bias, epilogue_of(function, *more, **keywords))
    assert np.array_equal(found.numpy(), expected.numpy(), equal_nan=True)


def test_products_on_any_threads(threads):
    rushlight.manual_seed(0)
    x, w, bias = rushlight.randn(3, 70, 333), rushlight.randn(500, 333), rushlight.randn(500)
    with rushlight.no_grad():
        expected = F.relu(F.linear(x, w, bias))
        found = linear_then(x, w, bias, epilogue_of(ops.relu))
    assert found.shape == (3, 70, 500)
    assert rushlight.equal(found, expected)


# image (N, C, H, W), weight, stride, padding, dilation, groups: all ways to convolve
CONVOLUTIONS = {
    "few channels": ((2, 3, 33, 31), (16, 3, 3, 3), 1, 1, 1, 1),
    "first layer": ((2, 3, 61, 64), (64, 3, 7, 7), 2, 3, 1, 1),
    "Winograd": ((2, 64, 30, 27), (70, 64, 3, 3), 1, 1, 1, 1),
    "small Winograd": ((1, 64, 7, 7), (64, 64, 3, 3), 1, 1, 1, 1),
    "strided": ((2, 40, 29, 28), (51, 40, 3, 3), 2, 1, 1, 1),
    "dilated": ((2, 64, 20, 21), (64, 64, 3, 3), 1, 2, 2, 1),
    "short sums": ((2, 16, 9, 11), (24, 16, 1, 1), 1, 0, 1, 1),
    "pixels": ((2, 64, 28, 28), (130, 64, 1, 1), 1, 0, 1, 1),
    "pixels, short sums": ((2, 24, 56, 56), (140, 24, 1, 1), 1, 0, 1, 1),
    "rows of 7": ((3, 256, 7, 7), (64, 256, 1, 1), 1, 0, 1, 1),
    "depthwise": ((2, 33, 15, 14), (33, 1, 3, 3), 1, 1, 1, 33),
    "depthwise, small planes": ((3, 33, 7, 7), (33, 1, 3, 3), 1, 1, 1, 33),
    "depthwise, stride 3": ((2, 8, 20, 20), (16, 1, 5, 5), 3, 2, 1, 8),
    "groups": ((2, 96, 28, 28), (96, 32, 3, 3), 1, 1, 1, 3),
    "groups of few": ((2, 32, 28, 28), (32, 8, 3, 3), 1, 1, 1, 4),
    "patches": ((2, 3, 64, 64), (32, 3, 16, 16), 16, 0, 1, 1),
    "whole windows": ((2, 32, 5, 5), (40, 32, 5, 5), 1, 0, 1, 1),
}


@pytest.mark.parametrize("name", ACTIVATIONS)
@pytest.mark.parametrize("biased", [False, True])
@pytest.mark.parametrize("case", CONVOLUTIONS)
def test_convolutions(case, biased, name):
    image, weight, *settings, groups = CONVOLUTIONS[case]
    settings = (*((value, value) for value in settings), groups)
    function, more, keywords = ACTIVATIONS[name]
    rushlight.manual_seed(0)
    x, w = rushlight.randn(*image), rushlight.randn(*weight)
    bias = rushlight.randn(weight[0]) if biased else None
    with rushlight.no_grad():
        expected = function(F.conv2d(x, w, bias, *settings), *more, **keywords)
        epilogue = epilogue_of(function, *more, **keywords)
        found = convolution_then(2, x, w, bias, settings, epilogue)
    assert rushlight.equal(found, expected)


@pytest.mark.parametrize("transposed", [False, True])
def test_many_images_by_one_launch(transposed):
    rushlight.manual_seed(0)
    w = rushlight.randn(*((64, 70) if transposed else (70, 64)))
    x, bias = rushlight.randn(5, 64, 300), rushlight.randn(70)
    plan = PanelProduct(images_words(70, 300, 64, transposed), np.dtype(np.float32), 5)
    out = rushlight.full((5, 70, 300), float("nan"))
    given = w.numpy(), x.numpy(), out.numpy(), bias.numpy()
    plan.run(*given)
    expected = F.relu(out)
    plan.run(*given, epilogue_of(ops.relu))
    assert rushlight.equal(out, expected)
    exact = (w.T if transposed else w).double() @ x.double() + bias.double()[:, None]
    assert float((out - exact.relu()).abs().max()) < 1e-4


@pytest.mark.parametrize("case", ["Winograd", "strided", "pixels", "depthwise"])
def test_infinities_and_nan(case):
    image, weight, *settings, groups = CONVOLUTIONS[case]
    settings = (*((value, value) for value in settings), groups)
    rushlight.manual_seed(0)
    x, w = random(*image), rushlight.randn(*weight)
    with rushlight.no_grad():
        expected = F.relu(F.conv2d(x, w, None, *settings))
        found = convolution_then(2, x, w, None, settings, epilogue_of(ops.relu))
    assert np.array_equal(found.numpy(), expected.numpy(), equal_nan=True)


@pytest.mark.parametrize("case", ["Winograd", "strided", "pixels", "depthwise", "few channels"])
def test_convolutions_on_any_threads(case, threads):
    image, weight, *settings, groups = CONVOLUTIONS[case]
    settings = (*((value, value) for value in settings), groups)
    rushlight.manual_seed(0)
    x, w = rushlight.randn(*image), rushlight.randn(*weight)
    with rushlight.no_grad():
        expected = F.relu6(F.conv2d(x, w, None, *settings))
        found = convolution_then(2, x, w, None, settings, epilogue_of(ops.relu6))
    assert rushlight.equal(found, expected)


@pytest.mark.parametrize("count", [1, 3])
def test_other_dims(count):
    x, w = rushlight.randn(2, 5, *[9] * count), rushlight.randn(7, 5, *[3] * count)
    settings = (1,) * count, (1,) * count, (1,) * count, 1
    convolve = getattr(F, f"conv{count}d")
    with rushlight.no_grad():
        expected = F.relu(convolve(x, w, None, *settings))
        found = convolution_then(count, x, w, None, settings, epilogue_of(ops.relu))
    assert rushlight.equal(found, expected)


def test_two_steps_where_one_cannot_be():
    epilogue, settings = epilogue_of(ops.relu), ((1, 1), (1, 1), (1, 1), 1)
    x, w = rushlight.randn(2, 8, 9, 9), rushlight.randn(8, 8, 3, 3)
    a, b = rushlight.randn(64, 128), rushlight.randn(32, 128)
    with rushlight.no_grad():
        assert convolution_then(2, x[:1], w, None, settings, epilogue) is None  # not met before
        assert linear_then(a, b, None, epilogue) is None
        F.conv2d(x, w, None, *settings), F.linear(a, b)
        assert convolution_then(2, x, w, None, settings, epilogue) is not None
        assert linear_then(a, b, None, epilogue) is not None
        last = x.contiguous(memory_format=rushlight.channels_last)
        F.conv2d(last, w, None, *settings)
        assert convolution_then(2, last, w, None, settings, epilogue) is None
        for dtype in (rushlight.float64, rushlight.bfloat16):
            F.conv2d(x.to(dtype), w.to(dtype), None, *settings)
            assert convolution_then(2, x.to(dtype), w.to(dtype), None, settings, epilogue) is None
            assert linear_then(a.to(dtype), b.to(dtype), None, epilogue) is None
        assert convolution_then(2, x, w, None, settings, None) is None
    w.requires_grad_(), b.requires_grad_()
    assert convolution_then(2, x, w, None, settings, epilogue) is None
    assert linear_then(a, b, None, epilogue) is None


def test_what_is_no_epilogue():
    assert epilogue_of(ops.leaky_relu, rushlight.tensor(0.1)) is None
    assert epilogue_of(ops.leaky_relu, 0.1) is epilogue_of(ops.leaky_relu, 0.1)
    from rushlight.kernels.gemm.epilogues import Epilogue

    kernel = epilogue_of(ops.leaky_relu, 0.1).kernel
    with pytest.raises(ValueError, match="at most 2 numbers, got 3"):
        Epilogue(kernel, (1.0, 2.0, 3.0))
