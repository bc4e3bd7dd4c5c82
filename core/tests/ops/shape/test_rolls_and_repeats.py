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


REFUSED = [
    lambda t: t.tensor([1, 2]).repeat_interleave(),
    lambda t: t.repeat_interleave(),
    lambda t: t.repeat_interleave(repeats=2),
    lambda t: t.repeat_interleave(t.tensor([1, 2]), dim=0),
    *(
        lambda t, wrong=wrong: t.repeat_interleave(t.tensor([1, 2]), wrong)
        for wrong in ("a", -1, 2.0, True, [1, 2])
    ),
    lambda t: t.repeat_interleave(t.tensor([1, 2]), t.tensor([1.0, 2.0])),
    lambda t: t.repeat_interleave(t.tensor([1, 2]), t.tensor([1, 2, 3])),
    lambda t: t.repeat_interleave(t.tensor([1, 2]), t.tensor([[1, 2]])),
    lambda t: t.repeat_interleave(t.tensor([1, 2]), t.tensor([1, 2]), 1),
    lambda t: t.repeat_interleave(t.tensor([1, 2]), t.tensor([1, 2]), output_size=7),
    lambda t: t.repeat_interleave(t.tensor([1, 2]), 2, output_size=7),
    lambda t: t.tensor(1.0).roll(1, 0),
    lambda t: t.tensor(1.0).roll((1, 2), (0, 0)),
    lambda t: t.tensor(1.0).roll(1, -1),
    lambda t: t.tensor(1.0).flip(1),
    lambda t: t.tensor(1.0).flip(0, -1),
]


@pytest.mark.parametrize("call", REFUSED)
def test_calls_that_pytorch_refuses_are_refused_with_its_type(call):
    torch = pytest.importorskip("torch")
    with pytest.raises(Exception) as wanted:  # noqa: PT011 - the type is what is compared
        call(torch)
    with pytest.raises(type(wanted.value)):
        call(rushlight)


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "int64", "uint8", "bool"])
@pytest.mark.parametrize("shape", [(), (5,), (3, 4), (2, 0, 3), (2, 3, 4)])
@pytest.mark.parametrize("repeats", [0, 1, 2, 5])
def test_elements_repeated(dtype, shape, repeats):
    array = np.random.default_rng(2).integers(0, 3, shape)
    x = rushlight.tensor(array).to(getattr(rushlight, dtype))
    array = x.double().numpy()
    for _ in range(2):
        found = x.repeat_interleave(repeats)
        assert found.dtype is x.dtype
        np.testing.assert_array_equal(found.double().numpy(), array.repeat(repeats))
        for dim in range(-len(shape), len(shape)):
            found = rushlight.repeat_interleave(x, repeats, dim, output_size=repeats * shape[dim])
            np.testing.assert_array_equal(found.double().numpy(), array.repeat(repeats, dim))
            turned = x.transpose(0, -1).repeat_interleave(repeats=repeats, dim=dim)
            expected = array.swapaxes(0, -1).repeat(repeats, dim)
            np.testing.assert_array_equal(turned.double().numpy(), expected)


def test_gradients_of_elements_repeated():
    array = np.random.default_rng(3).standard_normal((3, 4))
    for dim in (0, 1, None):
        x = rushlight.tensor(array, requires_grad=True)
        found = x.repeat_interleave(3, dim)
        weights = np.random.default_rng(4).standard_normal(tuple(found.shape))
        found.backward(rushlight.tensor(weights))
        axis = 0 if dim is None else dim
        shape = (12, 3) if dim is None else (*(3, 4)[: dim + 1], 3, *(3, 4)[dim + 1 :])
        expected = weights.reshape(shape).sum(axis + 1).reshape(3, 4)
        np.testing.assert_allclose(x.grad.numpy(), expected, rtol=1e-12)


def test_repeats_by_keyword_alone():
    counts = rushlight.tensor([1, 0, 3])
    assert rushlight.repeat_interleave(repeats=counts).tolist() == [0, 2, 2, 2]
    assert rushlight.repeat_interleave(repeats=counts, output_size=4).tolist() == [0, 2, 2, 2]
    x = rushlight.tensor([5, 6, 7])
    assert rushlight.repeat_interleave(repeats=counts, input=x).tolist() == [5, 7, 7, 7]
    assert x.repeat_interleave(repeats=counts).tolist() == [5, 7, 7, 7]
