"""ctc_loss: the compiled kernel against PyTorch and against the reference in logarithms."""

import numpy as np
import pytest

import rushlight
from rushlight.kernels.launch.execution import REFERENCE
from rushlight.kernels.losses import alignment


def batch(steps=12, samples=6, classes=5, width=4, seed=0, dtype=np.float64):
    """Log-probabilities, labels with repeats, and lengths from zero to too long."""
    random = np.random.default_rng(seed)
    scores = random.standard_normal((steps, samples, classes)) * 3
    scores -= np.log(np.exp(scores).sum(2, keepdims=True))
    labels = random.integers(1, classes, (samples, width))
    inputs = random.integers(width + 1, steps + 1, samples)
    targets = random.integers(0, width + 1, samples)
    inputs[0], targets[0], targets[1] = 2, width, 0
    return scores.astype(dtype), labels, inputs, targets


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("zero_infinity", [False, True])
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("joined", [False, True])
def test_losses_and_gradients_agree_with_torch(joined, reduction, zero_infinity, dtype):
    torch = pytest.importorskip("torch")
    scores, labels, inputs, targets = batch(dtype=dtype)
    rows = zip(labels, targets, strict=True)
    labels = np.concatenate([row[:n] for row, n in rows]) if joined else labels
    found = []
    for library in (rushlight, torch):
        x = library.tensor(scores, requires_grad=True)
        arguments = [library.tensor(a) for a in (labels, inputs, targets)]
        call = library.nn.functional.ctc_loss
        loss = call(x.log_softmax(-1), *arguments, 0, reduction, zero_infinity)
        with library.no_grad():
            alone = call(x.log_softmax(-1), *arguments, 0, reduction, zero_infinity)
        grad = None
        if zero_infinity:  # the gradient of an infinite loss is not a number
            grad = library.autograd.grad(loss.sum(), x)[0].numpy()
        found.append([loss.detach().numpy(), alone.numpy(), grad])
    tolerance = 1e-5 if dtype is np.float32 else 1e-10
    for ours, theirs in zip(*found, strict=True):
        if theirs is not None:
            np.testing.assert_allclose(ours, theirs, tolerance, tolerance)


@pytest.mark.skipif(REFERENCE, reason="there is no kernel then")
@pytest.mark.parametrize("width", [0, 1, 4, 30])
def test_kernel_agrees_with_the_reference(width):
    scores, labels, inputs, targets = batch(70, 5, 6, width, seed=width)
    scores[3:5, :, 1] = -np.inf
    scores[:, 2] *= 1000  # improbable beyond every float64
    scores[40:, 3, 2:] = -1e30
    filled = np.where(np.arange(width) < targets[:, None], labels, 0)
    expected = alignment.ctc(scores, filled, inputs, targets, 0)
    found = alignment.ctc_compiled(scores, labels, inputs, targets, 0, True)
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, 1e-9, 1e-9)
    alone = alignment.ctc_compiled(scores, labels, inputs, targets, 0, False)
    np.testing.assert_array_equal(alone, found[0])


def test_labels_past_the_lengths_do_not_matter_and_others_are_checked():
    scores, labels, inputs, targets = (rushlight.tensor(a) for a in batch())
    call = rushlight.nn.functional.ctc_loss
    expected = call(scores, labels, inputs, targets, zero_infinity=True)
    changed = labels.clone()
    changed[1] = 99  # its target is empty
    assert call(scores, changed, inputs, targets, zero_infinity=True) == expected
    changed[0, 0] = 99
    for recorded in (False, True):
        scores.requires_grad_(recorded)
        with pytest.raises(RuntimeError, match="class numbers from 0 to 4"):
            call(scores, changed, inputs, targets)


def test_strided_scores_and_other_integers():
    scores, labels, inputs, targets = (rushlight.tensor(a) for a in batch())
    call = rushlight.nn.functional.ctc_loss
    expected = call(scores, labels, inputs, targets, reduction="none")
    turned = scores.permute(1, 2, 0).contiguous().permute(2, 0, 1)
    found = call(turned, labels.int(), inputs.int(), targets.tolist(), reduction="none")
    np.testing.assert_array_equal(found.numpy(), expected.numpy())


def test_the_same_bits_for_any_number_of_threads():
    scores, labels, inputs, targets = batch(60, 16, 20, 20, dtype=np.float32)
    found, before = [], rushlight.get_num_threads()
    try:
        for threads in (1, 2):
            rushlight.set_num_threads(threads)
            x = rushlight.tensor(scores, requires_grad=True)
            given = (rushlight.tensor(a) for a in (labels, inputs, targets))
            loss = rushlight.nn.functional.ctc_loss(x, *given, zero_infinity=True)
            loss.backward()
            found.append((loss.item(), x.grad.numpy().tobytes()))
    finally:
        rushlight.set_num_threads(before)
    assert found[0] == found[1]


def _settings(joined, seed=4):
    """Scores, and a function of them: losses of impossible, empty and ordinary targets."""
    scores, labels, inputs, targets = batch(7, 4, 4, 3, seed)
    rows = zip(labels, targets, strict=True)
    labels = np.concatenate([row[:n] for row, n in rows]) if joined else labels

    def losses(x, library, reduction):
        given = [library.tensor(a) for a in (labels, inputs, targets)]
        call = library.nn.functional.ctc_loss
        return call(x.log_softmax(-1), *given, 0, reduction, zero_infinity=True)

    return scores, losses


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("joined", [False, True])
def test_second_derivatives(joined, reduction):
    scores, losses = _settings(joined)
    x = rushlight.tensor(scores, requires_grad=True)
    check = rushlight.autograd.gradgradcheck
    assert check(lambda x: losses(x, rushlight, reduction), (x,))


def test_second_derivatives_are_differences_of_torchs_gradients():
    """PyTorch has no second derivatives: its gradients a little to both sides give them."""
    torch = pytest.importorskip("torch")
    scores, losses = _settings(False)
    move = np.random.default_rng(1).standard_normal(scores.shape)
    sides = []
    for step in (1e-6, -1e-6):
        x = torch.tensor(scores + step * move, requires_grad=True)
        sides.append(torch.autograd.grad(losses(x, torch, "sum"), x)[0].numpy())
    x = rushlight.tensor(scores, requires_grad=True)
    (first,) = rushlight.autograd.grad(losses(x, rushlight, "sum"), x, create_graph=True)
    (second,) = rushlight.autograd.grad((first * rushlight.tensor(move)).sum(), x)
    np.testing.assert_allclose(second.numpy(), (sides[0] - sides[1]) / 2e-6, 1e-6, 1e-8)


def test_gradients_with_a_history_are_those_without():
    """Impossible letters included, and states that have no way to the end."""
    scores, losses = _settings(False)
    scores[2:4, 2:, 1] = -np.inf
    x = rushlight.tensor(scores, requires_grad=True)
    total = losses(x, rushlight, "sum")
    (plain,) = rushlight.autograd.grad(total, x, retain_graph=True)
    (first,) = rushlight.autograd.grad(total, x, create_graph=True)
    assert first.requires_grad and not plain.requires_grad
    np.testing.assert_allclose(first.detach().numpy(), plain.numpy(), 1e-12, 1e-14)
    (second,) = rushlight.autograd.grad(first.square().sum(), x, create_graph=True)
    assert second.isfinite().all()


def test_an_infinite_loss_has_the_same_gradient_with_a_history():
    x = rushlight.zeros(3, 2, 4, requires_grad=True)
    given = rushlight.tensor([[1, 1, 1], [1, 2, 3]]), (3, 3), (3, 3)
    losses = rushlight.nn.functional.ctc_loss(x.log_softmax(-1), *given, reduction="none")
    (plain,) = rushlight.autograd.grad(losses.sum(), x, retain_graph=True)
    (first,) = rushlight.autograd.grad(losses.sum(), x, create_graph=True)
    assert rushlight.equal(first.isnan(), plain.isnan())
    assert not first[:, 1].isnan().any()
