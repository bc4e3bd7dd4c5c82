"""Margin losses against NumPy: labels at both ends, none, NaN, several chunks."""

import numpy as np
import pytest

import rushlight
import rushlight.nn.functional as F
from rushlight.kernels.losses import margins as kernels

SHAPES = [(1, 1), (3, 4), (17, 33), (300, 200)]


def _scores(shape, dtype, seed=0):
    rng = np.random.default_rng(seed)
    scores = 2 * rng.standard_normal(shape)
    scores[0, 0] = np.nan
    return scores.astype(dtype), rng


def _tolerance(dtype):
    return {"rtol": 1e-5, "atol": 1e-5} if dtype == "float32" else {"rtol": 1e-12, "atol": 1e-12}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize("weighted", [False, True])
def test_one_label_a_sample(dtype, shape, reduction, p, weighted):
    scores, rng = _scores(shape, dtype)
    target = rng.integers(0, shape[1], shape[0])
    target[-1] = shape[1] - 1
    weight = rng.random(shape[1]).astype(dtype) if weighted else None
    given = scores, target, weight, p, 0.7, reduction
    got, wanted = kernels.margins(*given), kernels.margins.reference(*given)
    assert got.dtype == wanted.dtype == np.dtype(dtype)
    np.testing.assert_allclose(got, wanted, **_tolerance(dtype))
    grad = rng.standard_normal(got.shape).astype(dtype)
    got = kernels.margins_backward(grad, *given)
    np.testing.assert_allclose(
        got, kernels.margins_backward.reference(grad, *given), **_tolerance(dtype)
    )


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_several_labels_a_sample(dtype, shape, reduction):
    scores, rng = _scores(shape, dtype, 1)
    target = rng.integers(-1, shape[1], shape)
    target[-1] = 0  # the same label again and again
    got = kernels.label_margins(scores, target, reduction)
    wanted = kernels.label_margins.reference(scores, target, reduction)
    assert got.dtype == wanted.dtype == np.dtype(dtype)
    np.testing.assert_allclose(got, wanted, **_tolerance(dtype))
    grad = rng.standard_normal(got.shape).astype(dtype)
    got = kernels.label_margins_backward(grad, scores, target, reduction)
    wanted = kernels.label_margins_backward.reference(grad, scores, target, reduction)
    scale = max(1, np.abs(wanted).max())  # many parts are added at one label
    np.testing.assert_allclose(got / scale, wanted / scale, **_tolerance(dtype))


def test_values_by_hand():
    scores = rushlight.tensor([[0.1, 0.2, 0.4, 0.8]], requires_grad=True)
    loss = F.multilabel_margin_loss(scores, rushlight.tensor([[3, 0, -1, 1]]))
    loss.backward()
    # 0.25 * ((1 - (0.1 - 0.2)) + (1 - (0.1 - 0.4)) + (1 - (0.8 - 0.2)) + (1 - (0.8 - 0.4)))
    np.testing.assert_allclose(loss.item(), 0.85, rtol=1e-6)
    np.testing.assert_allclose(scores.grad.numpy(), [[-0.5, 0.5, 0.5, -0.5]], rtol=1e-6)
    loss = F.multi_margin_loss(scores, rushlight.tensor([3]))  # 0.25 * (0.3 + 0.4 + 0.6)
    np.testing.assert_allclose(loss.item(), 0.325, rtol=1e-6)


def test_second_order():
    scores = rushlight.randn(3, 4, dtype=rushlight.float64, requires_grad=True)
    target = rushlight.tensor([0, 3, 1])
    assert rushlight.autograd.gradgradcheck(
        lambda x: F.multi_margin_loss(x, target, p=2, reduction="none"), scores
    )
    with rushlight.enable_grad():
        (slope,) = rushlight.autograd.grad(
            F.multi_margin_loss(scores, target), scores, create_graph=True
        )
    (second,) = rushlight.autograd.grad(slope.sum(), scores)
    assert not second.any()


@pytest.mark.parametrize("bad", [4, -1])
def test_a_label_out_of_range(bad):
    with pytest.raises(RuntimeError, match="multi_margin_loss: target out of range"):
        F.multi_margin_loss(rushlight.zeros(2, 4), rushlight.tensor([0, bad]))


@pytest.mark.parametrize("bad", [4, -2])
def test_labels_out_of_range(bad):
    with pytest.raises(RuntimeError, match="multilabel_margin_loss: target out of range"):
        F.multilabel_margin_loss(rushlight.zeros(1, 4), rushlight.tensor([[0, -1, bad, 0]]))
