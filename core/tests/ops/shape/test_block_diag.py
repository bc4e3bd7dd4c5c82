"""Matrices on a diagonal: values, gradients, dtypes and transforms."""

import numpy as np

import rushlight


def _expected(blocks):
    out = np.zeros(np.sum([b.shape for b in blocks], 0))
    row = column = 0
    for block in blocks:
        rows, columns = block.shape
        out[row : row + rows, column : column + columns] = block
        row, column = row + rows, column + columns
    return out


def test_values_and_gradients():
    draw = np.random.default_rng(0)
    blocks = [draw.standard_normal(shape) for shape in ((2, 3), (1, 4), (0, 2), (3, 1))]
    tensors = [rushlight.tensor(b, requires_grad=True) for b in blocks]
    out = rushlight.block_diag(*tensors)
    np.testing.assert_array_equal(out.detach().numpy(), _expected(blocks))
    factors = draw.standard_normal(out.shape)
    (out * rushlight.tensor(factors)).sum().backward()
    np.testing.assert_array_equal(tensors[1].grad.numpy(), factors[2:3, 3:7])
    np.testing.assert_array_equal(tensors[3].grad.numpy(), factors[3:, 9:])
    assert rushlight.autograd.gradgradcheck(rushlight.block_diag, tensors)


def test_vectors_numbers_and_dtypes():
    out = rushlight.block_diag(
        rushlight.tensor([1, 2]), rushlight.tensor(0.5), rushlight.ones(1, 1)
    )
    assert out.dtype is rushlight.float32
    assert out.tolist() == [[1, 2, 0, 0], [0, 0, 0.5, 0], [0, 0, 0, 1]]
    meta = rushlight.block_diag(
        rushlight.ones(2, 2, device="meta"),
        rushlight.ones(3, 1, dtype=rushlight.float64).to("meta"),
    )
    assert meta.shape == (5, 3) and meta.dtype is rushlight.float64


def test_under_vmap():
    x, y = rushlight.rand(4, 1, 2), rushlight.rand(4, 2)
    out = rushlight.func.vmap(rushlight.block_diag)(x, y)
    np.testing.assert_array_equal(out[3].numpy(), rushlight.block_diag(x[3], y[3]).numpy())
