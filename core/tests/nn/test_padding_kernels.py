"""pad in its modes: values, gradients and derivatives of these, against PyTorch."""

import numpy as np
import pytest

import rushlight
from rushlight.autograd import gradgradcheck
from rushlight.ops.neural.padding import _composed

F = rushlight.nn.functional
CONTINUED = [
    ((2, 3, 5), [(1, 2), (0, 4), (4, 0)]),
    ((3, 5), [(2, 1)]),
    ((2, 3, 4, 6), [(1, 2, 3, 0), (0, 0, 1, 1), (5, 5, 3, 3)]),
    ((2, 2, 3, 4, 5), [(1, 2, 0, 1, 2, 1), (0, 0, 0, 0, 1, 1)]),
    ((1, 1, 20, 40), [(1, 1, 1, 1)]),
]
AMOUNTS = [(1, 2), (-1, 2), (2, -2), (1, 1, -1, 0), (0, 3, 2, 1), (1, 2, 3, 0, 1, 1),
           (-1, -1, -1, -1, 0, -1), (0, 0, 0, 0, 2, -1), (-3, 1)]  # fmt: skip


def agree(torch, x, *settings):
    found = []
    for library in (rushlight, torch):
        leaf = library.tensor(x, requires_grad=True)
        out = library.nn.functional.pad(leaf, *settings)
        grad = np.cos(np.arange(out.numel())).reshape(tuple(out.shape)).astype(x.dtype)
        (back,) = library.autograd.grad(out, leaf, library.tensor(grad))
        found.append([out.detach().numpy(), back.numpy()])
    np.testing.assert_array_equal(found[0][0], found[1][0])
    np.testing.assert_allclose(found[0][1], found[1][1], 1e-5, 1e-5)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("mode", ["reflect", "replicate", "circular"])
def test_continuing_agrees_with_torch(mode, dtype):
    torch = pytest.importorskip("torch")
    for shape, amounts in CONTINUED:
        x = np.random.default_rng(0).standard_normal(shape).astype(dtype)
        for pad in amounts:
            agree(torch, x, pad, mode)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(7,), (3, 5), (2, 3, 4), (2, 3, 4, 5), (2, 2, 3, 4, 5)])
def test_a_constant_and_cropping_agree_with_torch(shape, dtype):
    torch = pytest.importorskip("torch")
    x = np.random.default_rng(0).standard_normal(shape).astype(dtype)
    for pad in AMOUNTS:
        if len(pad) <= 2 * len(shape):
            agree(torch, x, pad, "constant", 1.5)


@pytest.mark.parametrize("mode", ["reflect", "replicate", "circular"])
def test_derivatives_of_derivatives_and_layouts(mode):
    x = rushlight.rand(2, 3, 4, 5, dtype=rushlight.float64, requires_grad=True)
    pad = (2, 1, 0, 3)
    assert gradgradcheck(lambda x: F.pad(x * x, pad, mode), (x,))
    expected = _composed(x.detach(), pad, mode).numpy()
    last = x.detach().contiguous(memory_format=rushlight.channels_last)
    out = F.pad(last, pad, mode)
    np.testing.assert_array_equal(out.numpy(), expected)
    assert out.is_contiguous(memory_format=rushlight.channels_last) == (mode != "circular")
    np.testing.assert_array_equal(
        rushlight.func.vmap(lambda x: F.pad(x, pad, mode))(x.detach()).numpy(), expected
    )
    whole = F.pad((x.detach() * 100).int(), pad, mode).numpy()
    np.testing.assert_array_equal(whole, _composed((x.detach() * 100).int(), pad, mode).numpy())
