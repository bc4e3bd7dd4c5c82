"""Gradients of basic indices: values and strides are PyTorch's."""

import numpy as np
import pytest

import rushlight

torch = pytest.importorskip("torch")
S = slice
INDICES = [
    (S(1, 3),),
    (S(None), S(2, None)),
    (..., S(1, 3)),
    (S(None), 2),
    (-1, ..., 0),
    (S(1, 2), None, S(0, 2)),
    (S(None, None, 2), S(1, None)),
    (..., S(2, 2)),
    (...,),
    (S(None), None),
    (1, 2, 3, 0),
    (S(-2, None), 1, S(None, -1)),
]


@pytest.mark.parametrize("index", INDICES, ids=str)
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64"])
@pytest.mark.parametrize("turned", [False, True])
def test_agree_with_the_oracle(index, dtype, turned):
    rng = np.random.default_rng(0)
    values, found = rng.standard_normal((3, 4, 5, 2)).astype(dtype), []
    for library in (rushlight, torch):
        x = library.tensor(values, requires_grad=True)
        out = x[index]
        grad = library.tensor(np.random.default_rng(1).standard_normal(out.shape).astype(dtype))
        if turned and grad.ndim:
            grad = grad.transpose(0, -1).contiguous().transpose(0, -1)
        (given,) = library.autograd.grad(out, x, grad)
        found.append(given)
    ours, theirs = found
    assert np.array_equal(ours.numpy(), theirs.numpy())
    assert ours.stride() == theirs.stride()


def test_second_derivatives_of_slices():
    x = rushlight.arange(12.0).reshape(3, 4).requires_grad_()
    (first,) = rushlight.autograd.grad((x[1:, :3] ** 3).sum(), x, create_graph=True)
    (second,) = rushlight.autograd.grad(first.sum(), x)
    expected = np.zeros((3, 4))
    expected[1:, :3] = 6 * np.arange(12.0).reshape(3, 4)[1:, :3]
    assert np.allclose(second.numpy(), expected)
