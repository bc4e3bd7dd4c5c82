"""`F.embedding` again and again: machine code that has learned a call answers like the first."""

from __future__ import annotations

import numpy as np
import pytest

import rushlight
from rushlight.nn import functional as F

torch = pytest.importorskip("torch")
CALLS = 6  # machine code has learned a layout before the last one
INDEX = np.array([[1, 4, 4], [0, 2, 1]])


def table(library, shape=(5, 3), **options):
    """A table of different numbers."""
    rows = np.arange(np.prod(shape), dtype="f4").reshape(shape) - 6
    return library.tensor(rows, **options)


@pytest.mark.parametrize(
    "options", [{}, {"padding_idx": 4}, {"padding_idx": -1}, {"scale_grad_by_freq": True}]
)
@pytest.mark.parametrize("width", [1, 3, 32])
def test_rows_and_gradients(options, width):
    for _ in range(CALLS):
        results = []
        for library in (rushlight, torch):
            weight = table(library, (5, width), requires_grad=True)
            rows = library.nn.functional.embedding(library.tensor(INDEX), weight, **options)
            (rows * rows).sum().backward()
            results.append((rows.detach().numpy(), weight.grad.numpy()))
        for ours, theirs in zip(*results, strict=True):
            np.testing.assert_array_equal(ours, theirs)


def test_modes():
    index, weight = rushlight.tensor(INDEX), table(rushlight, requires_grad=True)
    for _ in range(CALLS):
        assert F.embedding(index, weight).grad_fn.name() == "EmbeddingBackward0"
        with rushlight.no_grad():
            rows = F.embedding(index, weight)
        assert not rows.requires_grad and not rows.is_inference()
        with rushlight.inference_mode():
            assert F.embedding(index, weight).is_inference()

    class Seen(rushlight.overrides.TorchFunctionMode):
        names: list = []

        def __torch_function__(self, function, types, args=(), kwargs=None):
            self.names.append(function.__name__)
            return function(*args, **(kwargs or {}))

    with Seen():
        F.embedding(index, weight)
    assert any("embedding" in name for name in Seen.names)


def test_errors_stay():
    index, weight = rushlight.tensor(INDEX), table(rushlight)
    for _ in range(CALLS):
        F.embedding(index, weight)
        with pytest.raises(IndexError, match="index out of range"):
            F.embedding(index + 1, weight)
        with pytest.raises(AssertionError, match="within num_embeddings"):
            F.embedding(index, weight, padding_idx=5)
        with pytest.raises(RuntimeError, match="Long, Int"):
            F.embedding(index.float(), weight)
        with pytest.raises(RuntimeError, match="must be 2-D"):
            F.embedding(index, weight[0])


def test_max_norm_renormalizes_every_time():
    index = rushlight.tensor(INDEX)
    for _ in range(CALLS):
        weight = table(rushlight)
        F.embedding(index, weight, max_norm=1.0)
        assert weight[index].norm(dim=-1).max() < 1.0001
