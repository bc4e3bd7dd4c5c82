"""Layers and optimizers that write to tensors of classes with ``__torch_dispatch__``."""

from __future__ import annotations

import pytest

import rushlight
from rushlight import nn
from rushlight.utils._pytree import tree_map


class Inside(rushlight.Tensor):
    """A tensor around another, on which every op runs."""

    @staticmethod
    def __new__(cls, inner):
        shape, strides = inner.shape, inner.stride()
        return rushlight.Tensor._make_wrapper_subclass(
            cls, shape, strides=strides, dtype=inner.dtype
        )

    def __init__(self, inner):
        self.inner = inner

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        args, kwargs = tree_map(_inner, args), tree_map(_inner, kwargs or {})
        out = func(*args, **kwargs)
        return tree_map(lambda v: Inside(v) if isinstance(v, rushlight.Tensor) else v, out)


def _inner(value):
    return value.inner if isinstance(value, Inside) else value


def both(value):
    """A tensor and the same inside of the class."""
    return value.clone(), Inside(value.clone())


@pytest.mark.parametrize("index", [
    lambda x: x > 2, lambda x: (x > 2, rushlight.tensor([0, 1, 1])[:0]),
    lambda x: rushlight.tensor([1, 0]), lambda x: (slice(None), rushlight.tensor([2, 0])),
    lambda x: (0, 1), lambda x: (slice(None), slice(1, 3)),
])  # fmt: skip
@pytest.mark.parametrize("value", [7.0, rushlight.tensor(5.0)])
def test_writes_at_an_index(index, value):
    plain, told = both(rushlight.arange(6.0).reshape(2, 3))
    try:
        plain[index(plain)] = value
    except IndexError:
        with pytest.raises(IndexError):
            told[index(plain)] = value
        return
    told[index(plain)] = value
    assert rushlight.equal(told.inner, plain)


@pytest.mark.parametrize("accumulate", [False, True])
def test_index_put(accumulate):
    plain, told = both(rushlight.arange(6.0).reshape(2, 3))
    index, values = (rushlight.tensor([1, 1]), rushlight.tensor([0, 2])), rushlight.tensor([7.0, 8])
    assert told.index_put_(index, Inside(values), accumulate) is told
    assert rushlight.equal(told.inner, plain.index_put_(index, values, accumulate))


def test_a_mask_of_the_class():
    told = Inside(rushlight.arange(6.0))
    told[told > 3] = Inside(rushlight.tensor(9.0))
    assert told.inner.tolist() == [0, 1, 2, 3, 9, 9]


def test_running_statistics():
    x = rushlight.arange(12.0).reshape(4, 3)
    layers = [nn.BatchNorm1d(3) for _ in range(2)]
    for name, value in list(layers[1].named_buffers()):
        setattr(layers[1], name, Inside(value.clone()))
    for name, value in list(layers[1].named_parameters()):
        setattr(layers[1], name, nn.Parameter(Inside(value.detach().clone())))
    for _ in range(2):
        expected, found = layers[0](x), layers[1](Inside(x))
    rushlight.testing.assert_close(found.detach().inner, expected.detach())
    for a, b in zip(layers[0].buffers(), layers[1].buffers(), strict=True):
        rushlight.testing.assert_close(b.inner, a)


@pytest.mark.parametrize("kind", ["Adam", "AdamW", "NAdam", "RAdam", "Adagrad", "SGD", "RMSprop"])
def test_optimizers(kind):
    results = []
    for value in both(rushlight.tensor([1.0, -2.0, 3.0])):
        parameter = nn.Parameter(value)
        optimizer = getattr(rushlight.optim, kind)([parameter], lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            (parameter * parameter).sum().backward()
            optimizer.step()
        results.append(_inner(parameter.detach()))
    rushlight.testing.assert_close(*results)


def test_data_is_a_detached_tensor_of_the_class():
    told = Inside(rushlight.ones(3))
    assert type(told.data) is Inside and told.data.inner.tolist() == [1, 1, 1]
