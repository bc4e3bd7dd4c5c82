"""`mse_loss` in one call: PyTorch's numbers, gradients of every order, what takes two calls."""

from __future__ import annotations

import functools
import warnings

import numpy as np
import pytest

import rushlight
from rushlight.nn import functional as F

torch = pytest.importorskip("torch")
SHAPES = [(), (1,), (7,), (3, 5), (65_536,), (65_537,), (2, 70_001)]
CALLS = 6  # machine code has learned a layout before the last one


def pair(shape, dtype):
    """Two arrays of normal numbers."""
    draw = np.random.default_rng(3)
    return [draw.standard_normal(shape).astype(dtype) for _ in range(2)]


def both(arrays, recorded=True):
    """The arrays as tensors of ours and of PyTorch's."""
    ours = [rushlight.tensor(a, requires_grad=recorded) for a in arrays]
    return ours, [torch.tensor(a, requires_grad=recorded) for a in arrays]


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("shape", SHAPES)
def test_loss_and_gradients(shape, dtype, reduction):
    arrays = pair(shape, dtype)
    close = {"rtol": 2e-6 if dtype == "f4" else 1e-12, "atol": 1e-7 if dtype == "f4" else 1e-14}
    for _ in range(CALLS):
        ours, theirs = both(arrays)
        losses = F.mse_loss(*ours, reduction=reduction)
        wanted = torch.nn.functional.mse_loss(*theirs, reduction=reduction)
        np.testing.assert_allclose(losses.detach().numpy(), wanted.detach().numpy(), **close)
        losses.sum().backward()
        wanted.sum().backward()
        for mine, other in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(mine.grad.numpy(), other.grad.numpy(), **close)
        with rushlight.inference_mode():
            again = F.mse_loss(*ours, reduction=reduction)
        assert again.is_inference() and rushlight.equal(again, losses)


def test_one_node():
    x, y = both(pair((4, 3), "f4"))[0]
    assert F.mse_loss(x, y).grad_fn.name() == "MseLossBackward0"
    assert F.mse_loss(x, y.detach()).grad_fn.next_functions[1][0] is None


def test_second_order():
    x, y = both(pair((4, 3), "f8"))[0]
    for reduction in ("mean", "sum"):
        loss = functools.partial(F.mse_loss, reduction=reduction)
        assert rushlight.autograd.gradcheck(loss, (x, y))
        assert rushlight.autograd.gradgradcheck(loss, (x, y))


@pytest.mark.parametrize("reduction", ["mean", "sum"])
def test_special_values(reduction):
    for value in (np.nan, np.inf, -np.inf):
        x, y = pair((100,), "f4")
        x[70] = value
        found = F.mse_loss(rushlight.tensor(x), rushlight.tensor(y), reduction=reduction)
        wanted = torch.nn.functional.mse_loss(torch.tensor(x), torch.tensor(y), reduction=reduction)
        np.testing.assert_array_equal(found.numpy(), wanted.numpy())
    nothing = rushlight.zeros(0, 3, requires_grad=True)
    loss = F.mse_loss(nothing, nothing, reduction=reduction)
    assert loss.isnan() if reduction == "mean" else loss == 0
    loss.backward()
    assert nothing.grad.shape == (0, 3)


def test_strides_and_threads():
    x, y = (rushlight.tensor(a) for a in pair((700, 300), "f4"))
    one = F.mse_loss(x, y)
    apart = rushlight.stack([x, x], 2)[:, :, 0]
    np.testing.assert_allclose(F.mse_loss(apart, y).item(), one.item(), rtol=1e-6)
    np.testing.assert_allclose(F.mse_loss(x.T, y.T).item(), one.item(), rtol=1e-6)
    before = rushlight.get_num_threads()
    try:
        for count in (1, 2, 5):
            rushlight.set_num_threads(count)
            assert rushlight.equal(F.mse_loss(x, y), one)
    finally:
        rushlight.set_num_threads(before)


def test_unlike_arguments():
    x, y = (rushlight.tensor(a) for a in pair((4, 3), "f4"))
    with pytest.warns(UserWarning, match="Using a target size"):
        assert F.mse_loss(x, y[:1]).shape == ()
    found = F.mse_loss(x, y.double())
    assert found.dtype == rushlight.float64
    half = F.mse_loss(x.half(), y.half())
    wanted = torch.nn.functional.mse_loss(
        torch.tensor(x.numpy()).half(), torch.tensor(y.numpy()).half()
    )
    assert half.dtype == rushlight.float16 and half.item() == wanted.item()
    with pytest.raises(ValueError, match="is not a valid value for reduction"):
        F.mse_loss(x, y, reduction="median")
    weighted = F.mse_loss(x, y, weight=rushlight.full((4, 3), 2.0))
    np.testing.assert_allclose(weighted.item(), F.mse_loss(x, y).item(), rtol=1e-6)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        summed = F.mse_loss(x, y, size_average=False)
    assert summed.item() == F.mse_loss(x, y, reduction="sum").item()


def test_autocast_computes_in_float32():
    x, y = (rushlight.tensor(a).bfloat16() for a in pair((4, 3), "f4"))
    with rushlight.autocast("cpu"):
        assert F.mse_loss(x, y).dtype == rushlight.float32
