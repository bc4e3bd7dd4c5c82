"""Python's bool, int, float and complex stand for dtypes wherever one is asked for."""

from __future__ import annotations

import pytest

import rushlight

torch = pytest.importorskip("torch")

CALLS = {
    "zeros": lambda L, t: L.zeros(3, dtype=t),
    "ones": lambda L, t: L.ones((2, 2), dtype=t),
    "empty": lambda L, t: L.empty(300, 300, dtype=t),
    "full": lambda L, t: L.full((2,), 1, dtype=t),
    "tensor": lambda L, t: L.tensor([1, 0], dtype=t),
    "as_tensor": lambda L, t: L.as_tensor([1, 0], dtype=t),
    "asarray": lambda L, t: L.asarray([1, 0], dtype=t),
    "zeros_like": lambda L, t: L.zeros_like(L.ones(2), dtype=t),
    "full_like": lambda L, t: L.full_like(L.ones(2), 1, dtype=t),
    "new_zeros": lambda L, t: L.ones(2).new_zeros(2, dtype=t),
    "eye": lambda L, t: L.eye(2, dtype=t),
    "to": lambda L, t: L.ones(2).to(t),
    "to by name": lambda L, t: L.ones(2).to(dtype=t),
    "sum": lambda L, t: L.ones(2, 3).sum(dtype=t),
    "sum over": lambda L, t: L.sum(L.ones(2, 3), 1, dtype=t),
    "prod": lambda L, t: L.ones(3).prod(dtype=t),
}
FLOATS = {
    "cumsum": lambda L, t: L.ones(3).cumsum(0, dtype=t),
    "mean": lambda L, t: L.ones(2, 3).mean(dtype=t),
    "softmax": lambda L, t: L.softmax(L.ones(3), 0, dtype=t),
    "linspace": lambda L, t: L.linspace(0, 1, 3, dtype=t),
    "arange": lambda L, t: L.arange(3, dtype=t),
    "rand": lambda L, t: L.rand(2, dtype=t),
    "Linear": lambda L, t: L.nn.Linear(2, 2, dtype=t).weight,
}


@pytest.mark.parametrize("name", CALLS)
def test_every_type(name):
    for kind in (bool, int, float, complex):
        found, expected = (CALLS[name](L, kind) for L in (rushlight, torch))
        assert str(found.dtype).split(".")[-1] == str(expected.dtype).split(".")[-1]
        if name != "empty":
            assert found.tolist() == expected.tolist()


@pytest.mark.parametrize("name", FLOATS)
def test_floats(name):
    assert FLOATS[name](rushlight, float).dtype is rushlight.float64


def test_integers_and_limits():
    assert rushlight.randint(0, 2, (2,), dtype=int).dtype is rushlight.int64
    assert rushlight.randperm(3, dtype=int).dtype is rushlight.int64
    assert rushlight.finfo(float).bits == 64 and rushlight.iinfo(int).bits == 64
    assert rushlight.promote_types(bool, rushlight.int8) is rushlight.int8
    assert rushlight.can_cast(bool, float)


@pytest.mark.parametrize("kind", [int, float, bool])
def test_view(kind):
    torch = pytest.importorskip("torch")
    ours, theirs = (L.tensor([1.0, 2.0]).view(kind) for L in (rushlight, torch))
    assert str(ours.dtype).partition(".")[2] == str(theirs.dtype).partition(".")[2]
    assert ours.tolist() == theirs.tolist()


@pytest.mark.parametrize("name", ["unique", "bernoulli"])
def test_functions_of_no_tensor(name):
    with pytest.raises(TypeError, match="must be Tensor"):
        getattr(rushlight, name)(3.0)
