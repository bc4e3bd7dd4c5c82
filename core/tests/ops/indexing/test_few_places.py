"""Lists of ints as indices, and the places of elements that are not zero."""

import numpy as np
import pytest

import rushlight as rl


@pytest.mark.parametrize("places", [[1, 2], [-1, 0, -1], [2], [], [0] * 70, [True, False, True]])
def test_lists_are_index_tensors(places):
    x = rl.arange(12.0).reshape(3, 4).requires_grad_()
    found = x[places]
    want = x.detach().numpy()[np.array(places, int if not any(p is True for p in places) else bool)]
    assert found.tolist() == want.tolist() and found._base is None
    found.sum().backward()
    hits = np.zeros((3, 4))
    np.add.at(hits, np.array(places, int if not any(p is True for p in places) else bool), 1)
    assert x.grad.tolist() == hits.tolist()


@pytest.mark.parametrize("places", [[3], [-4, 0], [1.5], [1 << 70]])
def test_lists_of_no_places(places):
    with pytest.raises(IndexError):
        rl.zeros(3, 4)[places]


def test_lists_index_inside_of_transforms():
    rows = rl.vmap(lambda row: row[[2, 0]])(rl.arange(12.0).reshape(3, 4))
    assert rows.tolist() == [[2, 0], [6, 4], [10, 8]]


@pytest.mark.parametrize("size", [7, 5000])
@pytest.mark.parametrize(
    "dtype", ["float32", "float64", "float16", "bfloat16", "int8", "uint8", "int64", "complex64"]
)
def test_places_of_nonzero_elements(dtype, size):
    x = (rl.arange(size) % 3).to(getattr(rl, dtype))
    want = np.arange(size)[np.arange(size) % 3 > 0]
    assert x.nonzero().flatten().tolist() == want.tolist()
    pairs = rl.stack([x, x]).t()
    assert pairs.nonzero().tolist() == [[i, j] for i in want for j in (0, 1)]


def test_not_a_number_is_not_zero():
    x = rl.tensor([float("nan"), 0.0, -0.0, 1e-40, float("inf")])
    assert x.nonzero().flatten().tolist() == [0, 3, 4]
