"""Transducers and best paths: kernels against references, numerical gradients, enumeration."""

import itertools

import numpy as np
import pytest

import rushlight
from rushlight.autograd import gradcheck, gradgradcheck


def batch(steps=7, width=4, classes=9, samples=4, seed=0, dtype=np.float64):
    random = np.random.default_rng(seed)
    scores = random.standard_normal((samples, steps, width + 1, classes)).astype(dtype)
    labels = random.integers(0, classes - 1, (samples, width))
    inputs, targets = random.integers(1, steps + 1, samples), random.integers(0, width + 1, samples)
    inputs[0], targets[0], inputs[1], targets[1] = steps, width, 1, 0
    return scores, labels, inputs, targets


def test_cost_is_the_sum_over_all_alignments():
    scores, labels = (each[:1] for each in batch(3, 2, 4, 2)[:2])
    log_probs = scores - np.log(np.exp(scores).sum(-1, keepdims=True))
    total = 0.0
    for moves in set(itertools.permutations("bbll")):  # the third blank ends it
        t = u = 0
        chance = 0.0
        for move in (*moves, "b"):
            chance += log_probs[0, t, u, 3 if move == "b" else labels[0, u]]
            t, u = (t + 1, u) if move == "b" else (t, u + 1)
        total += np.exp(chance)
    given = [rushlight.tensor(each) for each in (scores, labels, [3], [2])]
    found = rushlight.signal.transducer_loss(*given, reduction="sum")
    assert float(found) == pytest.approx(-np.log(total), rel=1e-12)


@pytest.mark.parametrize("fused", [False, True])
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_gradients(fused, reduction):
    scores, *labelled = batch(4, 3, 3)
    x = rushlight.tensor(scores, requires_grad=True)
    labelled = [rushlight.tensor(each) for each in labelled]

    def call(x):
        return rushlight.signal.transducer_loss(
            x, *labelled, reduction=reduction, fused_log_softmax=fused
        )

    assert gradcheck(call, (x,))
    with rushlight.no_grad():
        np.testing.assert_allclose(call(x).numpy(), call(x.requires_grad_()).numpy())


def test_errors():
    scores, labels, inputs, targets = (rushlight.tensor(each) for each in batch())
    call = rushlight.signal.transducer_loss
    with pytest.raises(ValueError, match="reduction"):
        call(scores, labels, inputs, targets, reduction="max")
    with pytest.raises(RuntimeError, match="blank must be within"):
        call(scores, labels, inputs, targets, blank=9)
    with pytest.raises(RuntimeError, match="targets must be int32 or int64"):
        call(scores, labels.float(), inputs, targets)
    with pytest.raises(RuntimeError, match="targets must be from 0 to 8"):
        call(scores, labels + 9, inputs, targets)
    with pytest.raises(RuntimeError, match="logit_lengths must be from 0 to 7"):
        call(scores, labels, inputs + 7, targets)


def test_best_path_has_the_best_score_and_the_labels():
    random = np.random.default_rng(1)
    scores = random.standard_normal((1, 6, 4))
    labels = [2, 2, 1]
    best = max(
        (path for path in itertools.product(range(4), repeat=6) if _collapsed(path) == labels),
        key=lambda path: sum(scores[0, t, c] for t, c in enumerate(path)),
    )
    given = [rushlight.tensor(each) for each in (scores, [labels], [6], [3])]
    assert rushlight.signal.ctc_alignment(*given).tolist() == [list(best)]


def _collapsed(path):
    return [c for t, c in enumerate(path) if c and (t == 0 or path[t - 1] != c)]


def test_errors_of_best_paths():
    scores, one = rushlight.zeros(1, 2, 4), rushlight.tensor([[1, 1]])
    with pytest.raises(RuntimeError, match="too long for CTC.*number of repeats: 1"):
        rushlight.signal.ctc_alignment(scores, one, rushlight.tensor([2]), rushlight.tensor([2]))
    with pytest.raises(RuntimeError, match="expected targets of shape"):
        rushlight.signal.ctc_alignment(scores, one[0], rushlight.tensor([2]), rushlight.tensor([2]))


@pytest.mark.parametrize("dtype", [rushlight.float16, rushlight.bfloat16])
def test_half_precision(dtype):
    scores, *labelled = batch(5, 3, 6)
    labelled = [rushlight.tensor(each) for each in labelled]
    low = rushlight.tensor(scores).to(dtype).requires_grad_()
    wide = low.detach().float().requires_grad_()
    found = [rushlight.signal.transducer_loss(x, *labelled, reduction="none") for x in (low, wide)]
    rushlight.testing.assert_close(found[0], found[1].to(dtype), rtol=1e-2, atol=1e-2)
    grads = [
        rushlight.autograd.grad(f.sum(), x)[0] for f, x in zip(found, (low, wide), strict=True)
    ]
    assert grads[0].dtype is dtype
    rushlight.testing.assert_close(grads[0], grads[1].to(dtype), rtol=1e-2, atol=1e-2)


def test_labels_that_cannot_be():
    scores = rushlight.zeros(1, 4, 3, 5)
    scores[..., 0] = -rushlight.inf
    labels = rushlight.zeros(1, 2, dtype=rushlight.int64)
    given = labels, rushlight.tensor([4]), rushlight.tensor([2])
    assert float(rushlight.signal.transducer_loss(scores, *given)) == rushlight.inf
    scores[0, 0, 0, 1] = rushlight.nan
    assert rushlight.signal.transducer_loss(scores, *given).isnan()


def test_no_samples_and_no_labels():
    none = rushlight.zeros(0, dtype=rushlight.int64)
    labels = rushlight.zeros(0, 2, dtype=rushlight.int64)
    scores = rushlight.zeros(0, 4, 3, 5)
    assert rushlight.signal.transducer_loss(scores, labels, none, none, reduction="none").shape == (
        0,
    )
    scores, length = rushlight.zeros(1, 4, 1, 5), rushlight.tensor([4])
    labels = rushlight.zeros(1, 0, dtype=rushlight.int64)
    found = rushlight.signal.transducer_loss(scores, labels, length, length * 0)
    assert float(found) == pytest.approx(4 * np.log(5))


@pytest.mark.parametrize("fused", [False, True])
def test_second_derivative(fused):
    scores, *labelled = batch(3, 2, 3, 2)
    x = rushlight.tensor(scores, requires_grad=True)
    labelled = [rushlight.tensor(each) for each in labelled]

    def call(x):
        return rushlight.signal.transducer_loss(
            x, *labelled, reduction="none", fused_log_softmax=fused
        )

    assert gradgradcheck(call, (x,))
    plain, recorded = (
        rushlight.autograd.grad(call(x).sum(), x, create_graph=recorded)[0]
        for recorded in (False, True)
    )
    rushlight.testing.assert_close(recorded.detach(), plain, atol=1e-12, rtol=1e-9)


def test_second_derivative_within_bounds():
    scores, *labelled = batch(5, 3, 4)
    x = rushlight.tensor(scores, requires_grad=True)
    labelled = [rushlight.tensor(each) for each in labelled]
    loss = rushlight.signal.transducer_loss(x, *labelled, clamp=0.1, reduction="sum")
    (first,) = rushlight.autograd.grad(loss, x, create_graph=True)
    assert float(first.abs().max()) == pytest.approx(0.1)
    (second,) = rushlight.autograd.grad(first.square().sum(), x)
    assert second.isfinite().all()
    assert second.abs().max() > 0
