"""Recurrent layers on the emulator, against the CPU's reference in float64."""

import numpy as np
import pytest
from kernel_cases import FLOATS, both_orders, close, on_device, wide

from rushlight.kernels.recurrent import cuda as recurrence
from rushlight.kernels.recurrent import sequences as cpu

STEPS, ROWS, WIDTH = 4, 3, 7


def draw(*shape, dtype, seed):
    generator = np.random.default_rng(seed)
    return (generator.standard_normal(shape) * 0.7).astype(dtype)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("kind", ["lstm", "gru", "tanh", "relu"])
@pytest.mark.parametrize("backwards", [False, True])
def test_all_steps(kind, backwards, dtype):
    many = recurrence.GATES[kind] * WIDTH
    gates = draw(STEPS, ROWS, many, dtype=dtype, seed=0)
    hidden = draw(ROWS, WIDTH, dtype=dtype, seed=1)
    cell = draw(ROWS, WIDTH, dtype=dtype, seed=2) if kind == "lstm" else None
    weight = draw(many, WIDTH, dtype=dtype, seed=3)
    bias = draw(many, dtype=dtype, seed=4) if kind == "gru" else None
    given = (gates, hidden, cell, weight, bias)
    found = both_orders(
        lambda: recurrence.recurrence_forward(*map(on_device, given), kind, backwards)
    )
    full = [None if a is None else wide(a) for a in given]
    expected = cpu.recurrence_forward(*full, kind, backwards)
    for a, b in zip(found[:2], expected[:2], strict=True):
        if b is not None:
            close(a, b, dtype, 4)
    grad = draw(STEPS, ROWS, WIDTH, dtype=dtype, seed=5)
    dcell = draw(ROWS, WIDTH, dtype=dtype, seed=6) if kind == "lstm" else None
    saved = (found[0], found[2], found[3])
    got = both_orders(
        lambda: recurrence.recurrence_backward(
            *map(on_device, (grad, dcell, hidden, cell, weight)),
            tuple(map(on_device, saved)), kind, backwards,
        )
    )  # fmt: skip
    kept = tuple(None if a is None else wide(a) for a in saved)
    wanted = cpu.recurrence_backward(
        wide(grad), None if dcell is None else wide(dcell), full[1], full[2], full[3], kept, kind,
        backwards,
    )  # fmt: skip
    for a, b in zip(got, wanted, strict=True):
        assert (a is None) == (b is None)
        if b is not None:
            close(a, b, dtype, 6)
