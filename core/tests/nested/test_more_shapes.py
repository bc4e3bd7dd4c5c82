"""Dimensions, parts and products of nested tensors that came later, compared with PyTorch."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import rushlight

sys.path.insert(0, str(Path(__file__).parent))
from alike import compare, numbers, sequences

BOTH, JAGGED, STRIDED = ("jagged", "strided"), ("jagged",), ("strided",)
CALLS = {
    "unsqueeze 1": (BOTH, lambda L, x: x.unsqueeze(1)),
    "split": (JAGGED, lambda L, x: x.split(2, -1)),
    "select": (JAGGED, lambda L, x: x.select(-1, 1)),
    "narrow": (JAGGED, lambda L, x: x.narrow(-1, 1, 2)),
    "expand": (JAGGED, lambda L, x: x.unsqueeze(-1).expand(3, -1, 4, 2)),
    "argmax": (JAGGED, lambda L, x: x.argmax(-1)),
    "full_like": (JAGGED, lambda L, x: L.full_like(x, 2.0)),
    "copy_": (BOTH, lambda L, x: L.zeros_like(x).copy_(x)),
    "bmm": (BOTH, lambda L, x: L.bmm(x, numbers(L, 3, 4, 2))),
    "matmul": (JAGGED, lambda L, x: L.matmul(x, numbers(L, 3, 4, 2))),
    "each with its own": (JAGGED, lambda L, x: x.transpose(1, 2) @ x),
    "values": (BOTH, lambda L, x: x.values()),
    "dropout": (BOTH, lambda L, x: L.nn.functional.dropout(x, 0.0)),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("layout", BOTH)
def test_like_torch(name, layout):
    layouts, call = CALLS[name]
    if layout in layouts:
        compare(lambda L: call(L, sequences(L, layout)))


@pytest.mark.parametrize("name", ["expand", "copy_", "bmm", "matmul"])
def test_gradients(name):
    def found(L):
        x = sequences(L, "jagged", grad=True)
        out = CALLS[name][1](L, x)
        (out * out).values().sum().backward()
        return x.grad

    compare(found)


MAKING = {
    "ragged later": lambda L: L.nested.nested_tensor(
        [numbers(L, 2, 3), numbers(L, 2, 4)], layout=L.jagged
    ),
    "ragged later, strided": lambda L: L.nested.nested_tensor([numbers(L, 2, 3), numbers(L, 2, 4)]),
    "jagged_dim": lambda L: L.nested.nested_tensor_from_jagged(
        numbers(L, 2, 6, 4), L.tensor([0, 2, 5, 6]), jagged_dim=2
    ),
    "shortest and longest": lambda L: [
        sequences(L, "jagged")._get_min_seqlen(),
        sequences(L, "jagged")._get_max_seqlen(),
    ],
    "narrow": lambda L: L.nested.narrow(
        numbers(L, 3, 5, 2), 1, L.tensor([0, 1, 2]), L.tensor([2, 3, 1]), layout=L.jagged
    ),
    "dtype of the first": lambda L: L.nested.nested_tensor(
        [numbers(L, 2, 3), numbers(L, 2, 3).double()]
    ),
    "attention across": lambda L: L.nn.functional.scaled_dot_product_attention(
        L.nested.nested_tensor([numbers(L, 2, 2, 4), numbers(L, 2, 3, 4)]),
        *[L.nested.nested_tensor([numbers(L, 2, 3, 4), numbers(L, 2, 1, 4)])] * 2,
    ),
}


@pytest.mark.parametrize("name", MAKING)
def test_making(name):
    compare(MAKING[name])


def test_refusals():
    x = sequences(rushlight, "jagged")
    with pytest.raises(RuntimeError, match="strided"):
        rushlight.nested.narrow(numbers(rushlight, 3, 5), 1, 0, rushlight.tensor([2, 3, 1]))
    with pytest.raises(RuntimeError, match="jagged_dim"):
        rushlight.nested.nested_tensor_from_jagged(
            numbers(rushlight, 6), rushlight.tensor([0, 6]), jagged_dim=2
        )
    with pytest.raises(RuntimeError, match="same size"):
        x.copy_(rushlight.nested.nested_tensor([numbers(rushlight, 6, 4)], layout=x.layout))
    with pytest.raises(RuntimeError, match="3 matrices"):
        rushlight.bmm(x, numbers(rushlight, 2, 4, 2))
    for call in (
        lambda: x.split(1, 1),
        lambda: x.narrow(1, 0, 1),
        lambda: x.unsqueeze(0),
        lambda: x.copy_(numbers(rushlight, 6, 4)),
    ):
        with pytest.raises(NotImplementedError):
            call()
