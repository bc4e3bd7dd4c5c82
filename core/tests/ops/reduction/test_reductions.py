"""Reductions and running reductions: forms and extremes that samples do not reach."""

import numpy as np
import pytest

import rushlight
from rushlight.testing.oracle import assert_same

torch = pytest.importorskip("torch")


@pytest.mark.parametrize("scale", [1.0, 600.0])
def test_logcumsumexp_neither_overflows_nor_underflows(scale):
    values = np.random.default_rng(0).normal(size=(3, 6)) * scale
    values[0, 1] = -np.inf
    ours = rushlight.from_numpy(values.copy()).requires_grad_()
    theirs = torch.from_numpy(values.copy()).requires_grad_()
    a, b = ours.logcumsumexp(1), theirs.logcumsumexp(1)
    assert_same(a, b)
    weights = np.random.default_rng(1).normal(size=(3, 6))
    a.backward(rushlight.from_numpy(weights))
    b.backward(torch.from_numpy(weights))
    assert_same(ours.grad, theirs.grad, 1e-9, 1e-12)


def test_extremes_write_out():
    x = rushlight.tensor([[1.0, 5.0], [4.0, 2.0]])
    values, indices = rushlight.empty(2), rushlight.empty(2, dtype=rushlight.int64)
    rushlight.max(x, 1, out=(values, indices))
    assert values.tolist() == [5.0, 4.0] and indices.tolist() == [1, 0]
    out = rushlight.empty(())
    assert rushlight.min(x, out=out) is out and out == 1.0
    with pytest.raises(TypeError, match="'input' must be Tensor"):
        rushlight.max(2, x)


def test_unbiased_as_first_argument():
    x = np.random.default_rng(0).normal(size=(3, 4))
    for name in ("var", "std", "var_mean", "std_mean"):
        for unbiased in (True, False):
            ours = getattr(rushlight, name)(rushlight.from_numpy(x), unbiased)
            assert_same(ours, getattr(torch, name)(torch.from_numpy(x), unbiased))


def test_nothing_to_reduce():
    empty = rushlight.empty(2, 0)
    with pytest.raises(RuntimeError, match="Specify the reduction dim"):
        empty.amax()
    with pytest.raises(IndexError, match="non-zero size"):
        empty.amax(1)
    x = rushlight.empty(0, requires_grad=True)
    x.prod().backward()
    assert x.grad.shape == (0,)


def test_running_sums_in_place():
    x = rushlight.arange(4.0)
    assert x.cumsum_(0) is x and x.tolist() == [0.0, 1.0, 3.0, 6.0]
    base = rushlight.ones(3, requires_grad=True)
    y = (base * 2).cumprod_(0)
    y.sum().backward()
    assert base.grad.tolist() == [14.0, 12.0, 8.0]


def test_order_of_bfloat16_with_nan():
    x = rushlight.tensor([2.0, float("nan"), 1.0, 3.0]).bfloat16()
    assert x.sort().indices.tolist() == [2, 0, 3, 1]
    assert x.median(0).indices == 1 and x.nanmedian() == 2.0


NAN = float("nan")


WITH_NAN = [
    [1, NAN, NAN],
    [NAN, 1, 2],
    [NAN],
    [3, NAN, 3],
    [[1, NAN], [NAN, 2]],
    [[5, 5], [NAN, 2]],
]
EXTREMES = {
    "amax": lambda L, x: L.amax(x),
    "amin over none named": lambda L, x: x.amin(()),
    "amin over all": lambda L, x: x.amin(tuple(range(x.dim()))),
    "amax over one": lambda L, x: x.amax(-1, True),
    "max": lambda L, x: x.max(),
    "min": lambda L, x: L.min(x),
    "max over one": lambda L, x: x.max(-1).values,
    "aminmax": lambda L, x: 2 * L.aminmax(x).min + L.aminmax(x).max,
    "aminmax over one": lambda L, x: x.aminmax(dim=0).max,
}


@pytest.mark.parametrize("values", [*WITH_NAN, [1, 3, 3], [[2, 1], [1, 2]]], ids=str)
@pytest.mark.parametrize("name", list(EXTREMES))
def test_gradients_of_extremes_that_are_nan(name, values):
    found = []
    for library in (rushlight, torch):
        x = library.tensor(values, dtype=library.float64, requires_grad=True)
        y = EXTREMES[name](library, x)
        (grad,) = library.autograd.grad(y, x, library.full_like(y, 3.0))
        found.append([y.detach().numpy(), grad.numpy()])
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("library", ["rushlight", "torch"])
@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (
            lambda m: m.zeros(0, 2).max(),
            RuntimeError,
            r"max\(\): Expected reduction dim to be spec",
        ),
        (lambda m: m.zeros(0).min(), RuntimeError, r"min\(\): Expected reduction dim to be specif"),
        (lambda m: m.zeros(0).amax(), RuntimeError, r"amax\(\): Expected reduction dim to be spec"),
        (lambda m: m.zeros(2, 0).amin(1), IndexError, r"amin\(\): Expected reduction dim 1 to hav"),
        (lambda m: m.zeros(2, 0).max(1), IndexError, r"max\(\): Expected reduction dim 1 to have"),
        (lambda m: m.zeros(0, 2).kthvalue(1, 0), IndexError, r"kthvalue\(\): .*dim 0 to have non-"),
    ],
)
def test_extremes_of_no_elements(library, call, error, words):
    module = pytest.importorskip(library)
    with pytest.raises(error, match=words):
        call(module)
