"""Rolls along no, one and several dimensions against NumPy, and positions repeated."""

import numpy as np
import pytest

import rushlight

ROLLS = [(3, None), (-1, None), (2, 0), ((1, 2), (0, 1)), ((1, -2), (1, 0)), ((1, 1), (0, 0))]


@pytest.mark.parametrize("dtype", ["float32", "int64", "bfloat16", "bool"])
@pytest.mark.parametrize("shape", [(4, 5), (2, 3, 4), (0, 3)])
@pytest.mark.parametrize(("shifts", "dims"), ROLLS)
def test_rolls(dtype, shape, shifts, dims):
    array = np.random.default_rng(1).integers(0, 9, shape)
    x = rushlight.tensor(array).to(getattr(rushlight, dtype))
    array = x.double().numpy()
    found = rushlight.roll(x, shifts, () if dims is None else dims)
    np.testing.assert_array_equal(found.double().numpy(), np.roll(array, shifts, dims))
    found = rushlight.roll(x.transpose(0, 1), shifts, () if dims is None else dims)
    np.testing.assert_array_equal(
        found.double().numpy(), np.roll(array.swapaxes(0, 1), shifts, dims)
    )


def test_positions_repeated():
    counts = rushlight.tensor([1, 0, 3])
    assert rushlight.repeat_interleave(counts).tolist() == [0, 2, 2, 2]
    assert rushlight.repeat_interleave(counts, output_size=4).dtype is rushlight.int64
    assert rushlight.repeat_interleave(counts.int()).dtype is rushlight.int32
    assert rushlight.repeat_interleave(counts[:0]).shape == (0,)
    with pytest.raises(RuntimeError, match="only accept 1D vector"):
        rushlight.repeat_interleave(rushlight.ones(1, 1, dtype=rushlight.int64))
    with pytest.raises(NotImplementedError, match="use int64"):
        rushlight.repeat_interleave(rushlight.ones(2))
    with pytest.raises(RuntimeError, match="repeats can not be negative"):
        rushlight.repeat_interleave(rushlight.tensor([-1, 1]))
    with pytest.raises(RuntimeError, match="repeats can not be negative"):
        rushlight.repeat_interleave(rushlight.ones(2), rushlight.tensor([-1, 1]))
