"""Embedding and embedding bags with their gradients."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from rushlight.kernels.indexing import embedding
from rushlight.machine import threads


def close(got, want, bound=1e-5):
    return got.shape == want.shape and np.allclose(got, want, rtol=bound, atol=bound)


@pytest.mark.parametrize("shape", [(7,), (3, 5), (2, 3, 4), (), (0,), (2000,)])
@pytest.mark.parametrize("kind", [np.int64, np.int32])
def test_rows(rng, dtype, shape, kind):
    weight = rng.standard_normal((50, 9)).astype(dtype)
    indices = np.asarray(rng.integers(0, 50, shape), kind)
    want = weight[indices]
    assert np.array_equal(embedding.embedding_forward(weight, indices), want)
    turned = np.ascontiguousarray(weight.T).T
    assert np.array_equal(embedding.embedding_forward(turned, indices), want)
    assert np.array_equal(embedding.embedding_forward.reference(weight, indices), want)


@pytest.mark.parametrize("shape", [(7,), (3, 5), (), (0,), (2000,)])
@pytest.mark.parametrize("padding", [-1, 4])
@pytest.mark.parametrize("by_frequency", [False, True])
def test_gradient(rng, dtype, shape, padding, by_frequency):
    indices = np.asarray(rng.integers(0, 20, shape), np.int64)
    grad = rng.standard_normal((*shape, 9)).astype(dtype)
    args = (indices, 20, padding, by_frequency)
    got = embedding.embedding_backward(grad, *args)
    assert got.dtype == dtype
    assert close(got, embedding.embedding_backward.reference(grad.astype(np.float64), *args), 1e-4)


@pytest.mark.parametrize("kind", [np.float16, ml_dtypes.bfloat16, np.int64])
def test_other_dtypes(rng, kind):
    weight = rng.integers(-9, 9, (10, 3)).astype(kind)
    indices = np.array([3, 3, 9])
    got = embedding.embedding_forward(weight, indices)
    assert got.dtype == kind
    assert np.array_equal(got, weight[indices])


BAGS = [
    (np.array([1, 2, 4, 5, 4, 3, 2, 9]), np.array([0, 4, 4, 6]), False),
    (np.array([1, 2, 4, 5, 4, 3, 2, 9]), np.array([0, 4, 4, 6]), True),
    (np.array([[1, 2, 4], [4, 0, 4]]), None, False),
    (np.zeros(0, np.int64), np.array([0, 0]), False),
    (np.zeros(0, np.int64), np.zeros(0, np.int64), False),
]


@pytest.mark.parametrize("case", range(len(BAGS)))
@pytest.mark.parametrize("mode", ["sum", "mean", "max", "weighted"])
@pytest.mark.parametrize("padding", [-1, 4])
def test_bags(rng, dtype, case, mode, padding):
    indices, offsets, last = BAGS[case]
    weight = rng.standard_normal((10, 5)).astype(dtype)
    scales = rng.standard_normal(indices.shape).astype(dtype) if mode == "weighted" else None
    mode = "sum" if mode == "weighted" else mode
    args = (indices, offsets, mode, scales, last, padding)
    out, saved = embedding.embedding_bag_forward(weight, *args)
    want, want_saved = embedding.embedding_bag_forward.reference(weight, *args)
    assert out.dtype == dtype
    assert close(out, want)
    assert np.array_equal(saved[2], want_saved[2])
    grad = rng.standard_normal(out.shape).astype(dtype)
    got = embedding.embedding_bag_backward(grad, saved, 10, mode, scales, padding)
    want = embedding.embedding_bag_backward.reference(grad, want_saved, 10, mode, scales, padding)
    assert close(got, want)
    if scales is not None:
        got = embedding.embedding_bag_scale_gradient(grad, weight, saved, padding)
        assert got.dtype == dtype and got.shape == (indices.size,)
        want = embedding.embedding_bag_scale_gradient.reference(grad, weight, want_saved, padding)
        assert close(got, want)


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
@pytest.mark.parametrize("padding", [None, 4])
@pytest.mark.parametrize("last", [False, True])
def test_bags_oracle(rng, mode, padding, last):
    torch = pytest.importorskip("torch")
    indices, offsets, _ = BAGS[0]
    if last:
        offsets = np.append(offsets, len(indices))
    weight = rng.standard_normal((10, 5)).astype(np.float32)
    tensor = torch.tensor(weight, requires_grad=True)
    want = torch.nn.functional.embedding_bag(
        torch.tensor(indices), tensor, torch.tensor(offsets), mode=mode, padding_idx=padding,
        include_last_offset=last,
    )  # fmt: skip
    want.backward(torch.ones_like(want))
    number = -1 if padding is None else padding
    out, saved = embedding.embedding_bag_forward(weight, indices, offsets, mode, None, last, number)
    assert close(out, want.detach().numpy())
    got = embedding.embedding_bag_backward(np.ones_like(out), saved, 10, mode, None, number)
    assert close(got, tensor.grad.numpy())


def test_same_bits_for_any_number_of_threads(rng):
    indices = rng.integers(0, 300, 20_000)
    grad = rng.standard_normal((20_000, 32)).astype(np.float32)
    before, results = threads.get_num_threads(), []
    for count in (1, 2, 5):
        threads.set_num_threads(count)
        results.append(embedding.embedding_backward(grad, indices, 300, -1, False))
    threads.set_num_threads(before)
    assert all(np.array_equal(results[0], other) for other in results)


def test_maxima_have_the_same_bits_for_any_number_of_threads(rng):
    weight = rng.standard_normal((50, 70)).astype(np.float32)
    indices = rng.integers(0, 50, (3000, 4))
    out, saved = embedding.embedding_bag_forward(weight, indices, None, "max", None, False, -1)
    grad = rng.standard_normal(out.shape).astype(np.float32)
    before, results = threads.get_num_threads(), []
    for count in (1, 2, 5):
        threads.set_num_threads(count)
        results.append(embedding.embedding_bag_backward(grad, saved, 50, "max", None, -1))
    threads.set_num_threads(before)
    assert all(np.array_equal(results[0], other) for other in results)
    want = embedding.embedding_bag_backward.reference(grad, saved, 50, "max", None, -1)
    assert close(results[0], want, 1e-4)


@pytest.mark.parametrize("bad", [10, -1])
def test_index_errors(bad):
    weight, indices = np.zeros((10, 3), np.float32), np.array([0, bad])
    for call in (
        lambda: embedding.embedding_forward(weight, indices),
        lambda: embedding.embedding_forward.reference(weight, indices),
        lambda: embedding.embedding_backward(np.ones((2, 3), "f"), indices, 10, -1, False),
        lambda: embedding.embedding_bag_forward(
            weight, indices, np.array([0]), "sum", None, False, -1
        ),
    ):
        with pytest.raises(IndexError, match="^index out of range in self$"):
            call()


def test_other_errors():
    weight, indices = np.zeros((10, 3), np.float32), np.array([0, 1])
    with pytest.raises(TypeError, match="must be integers"):
        embedding.embedding_forward(weight, indices.astype(np.float32))
    with pytest.raises(ValueError, match="offsets"):
        embedding.embedding_bag_forward(weight, indices, None, "sum", None, False, -1)
    with pytest.raises(ValueError, match="increase"):
        embedding.embedding_bag_forward(weight, indices, np.array([0, 5]), "sum", None, False, -1)
    with pytest.raises(ValueError, match="'sum', 'mean' or 'max'"):
        embedding.embedding_bag_forward(weight, indices, np.array([0]), "mid", None, False, -1)
    with pytest.raises(NotImplementedError, match="mode='sum'"):
        embedding.embedding_bag_forward(
            weight, indices, np.array([0]), "max", np.ones(2, "f"), False, -1
        )
    with pytest.raises(ValueError, match="grad has shape"):
        embedding.embedding_backward(np.ones((3, 3), "f"), indices, 10, -1, False)
