"""cross_entropy of (N, C, L) and (N, C, H, W): classes that lie a plane apart."""

import numpy as np
import pytest

import rushlight

torch = pytest.importorskip("torch")

SHAPES = [(2, 5, 16, 16), (3, 4, 7), (1, 1, 3), (2, 3, 5, 70), (2, 19, 70, 40), (1, 3, 2, 2, 2)]


def drawn(shape, dtype):
    random = np.random.default_rng(len(shape))
    scores = (random.standard_normal(shape) * 4).astype(dtype)
    target = random.integers(0, shape[1], (shape[0], *shape[2:]))
    target.flat[:: max(target.size // 5, 2)] = -1  # ignored below
    return scores, target, random.uniform(0.2, 2, shape[1]).astype(dtype)


def agree(shape, dtype, layout=None, weighted=False, **options):
    scores, target, weight = drawn(shape, dtype)
    found = []
    for library in (rushlight, torch):
        x = library.tensor(scores)
        if layout is not None:
            x = x.contiguous(memory_format=getattr(library, layout))
        weights = library.tensor(weight) if weighted else None
        call = library.nn.functional.cross_entropy
        alone = call(x, library.tensor(target), weights, ignore_index=-1, **options)
        x.requires_grad_()
        loss = call(x, library.tensor(target), weights, ignore_index=-1, **options)
        grad = np.cos(np.arange(loss.numel())).reshape(tuple(loss.shape)).astype(dtype)
        found.append([alone, loss, *library.autograd.grad(loss, x, library.tensor(grad))])
    tolerance = 1e-5 if dtype is np.float32 else 1e-12
    for ours, theirs in zip(*found, strict=True):
        expected = theirs.detach().numpy()
        np.testing.assert_allclose(ours.detach().numpy(), expected, tolerance, tolerance)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_agrees_with_torch(smoothing, weighted, reduction, dtype):
    for shape in SHAPES:
        options = {"reduction": reduction, "label_smoothing": smoothing}
        agree(shape, dtype, weighted=weighted, **options)
        if len(shape) == 4:
            agree(shape, dtype, "channels_last", weighted, **options)


@pytest.mark.parametrize("shape", [(2, 3, 4, 5), (2, 40, 50, 20)])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_scores_that_are_no_numbers(value, shape):
    found = []
    for library in (rushlight, torch):
        scores, target, _ = drawn(shape, np.float32)
        scores[0, 1, 2, 3], scores[1, :, 1, 1] = value, value
        x = library.tensor(scores, requires_grad=True)
        call = library.nn.functional.cross_entropy
        with np.errstate(invalid="ignore"):  # the reference is NumPy
            loss = call(x, library.tensor(target), ignore_index=-1, reduction="none")
            loss.sum().backward()
        found.append([loss.detach().numpy(), x.grad.numpy()])
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(ours, theirs, 1e-5, 1e-5)


@pytest.mark.parametrize("shape", [(2, 3, 4, 5), (2, 40, 50, 20)])
@pytest.mark.parametrize("options", [{}, {"reduction": "none"}, {"label_smoothing": 0.1}])
def test_targets_out_of_range(options, shape):
    scores, target, _ = drawn(shape, np.float32)
    target[1, 2, 3] = shape[1]
    x, target = rushlight.tensor(scores), rushlight.tensor(target)
    for recorded in (False, True):
        with pytest.raises(IndexError, match=f"Target {shape[1]} is out of bounds"):
            rushlight.nn.functional.cross_entropy(
                x.requires_grad_(recorded), target, ignore_index=-1, **options
            )


def test_every_target_ignored_and_nothing_at_all():
    call = rushlight.nn.functional.cross_entropy
    x = rushlight.zeros(2, 3, 4, 4, requires_grad=True)
    loss = call(x, rushlight.full((2, 4, 4), -100))
    assert loss.isnan()
    empty = call(rushlight.zeros(0, 3, 4, 4), rushlight.zeros(0, 4, 4, dtype=rushlight.int64))
    assert empty.isnan()


def test_the_same_bits_for_any_number_of_threads():
    scores, target, _ = drawn((3, 30, 50, 60), np.float32)
    found, before = [], rushlight.get_num_threads()
    try:
        for threads in (1, 2):
            rushlight.set_num_threads(threads)
            x = rushlight.tensor(scores, requires_grad=True)
            loss = rushlight.nn.functional.cross_entropy(
                x, rushlight.tensor(target), ignore_index=-1
            )
            loss.backward()
            found.append((loss.item(), x.grad.numpy().tobytes()))
    finally:
        rushlight.set_num_threads(before)
    assert found[0] == found[1]
