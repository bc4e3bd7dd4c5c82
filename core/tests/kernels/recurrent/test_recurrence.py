"""Recurrent sequences by compiled kernels against the formulas in float64."""

import numpy as np
import pytest

from rushlight.kernels.recurrent import sequences as recurrence
from rushlight.machine import threads

SIZES = [(1, 1, 1), (5, 3, 4), (7, 15, 33), (12, 29, 16), (3, 64, 70)]


def problem(rng, kind, steps, rows, width):
    gates = recurrence.GATES[kind]

    def make(*shape):
        return rng.standard_normal(shape).astype(np.float32)

    cell = make(rows, width) if kind == "lstm" else None
    bias = make(gates * width) if kind == "gru" else None
    weight = make(gates * width, width) * width**-0.5
    return make(steps, rows, gates * width), make(rows, width), cell, weight, bias


def wide(arrays):
    return [None if a is None else a.astype(np.float64) for a in arrays]


def agree(found, wanted, bound):
    for got, right in zip(found, wanted, strict=True):
        assert (got is None) == (right is None)
        if got is not None:
            assert got.shape == right.shape
            assert got.dtype == np.float32
            assert np.allclose(got, right, rtol=0, atol=bound * max(1, np.abs(right).max()))


@pytest.mark.parametrize("kind", recurrence.GATES)
@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("size", SIZES)
def test_against_float64(rng, kind, backwards, size):
    arrays = problem(rng, kind, *size)
    found = recurrence.recurrence_forward(*arrays, kind, backwards)
    wanted = recurrence.recurrence_forward.reference(*wide(arrays), kind, backwards)
    agree(found, wanted, 2e-6)
    grad = rng.standard_normal(found[0].shape).astype(np.float32)
    grad_cell = rng.standard_normal(found[1].shape).astype(np.float32) if kind == "lstm" else None
    _, hidden, cell, weight, _ = arrays
    out, _, acts, cells = found
    got = recurrence.recurrence_backward(
        grad, grad_cell, hidden, cell, weight, (out, acts, cells), kind, backwards
    )
    out, _, acts, cells = wanted
    right = recurrence.recurrence_backward(
        *wide((grad, grad_cell, hidden, cell, weight)), wide((out, acts, cells)), kind, backwards
    )
    agree(got, right, 1e-5)


@pytest.mark.parametrize("kind", recurrence.GATES)
@pytest.mark.parametrize("rows", [1, 50, 131])
def test_same_bits_for_any_number_of_threads(rng, dtype, kind, rows):
    arrays = [a if a is None else a.astype(dtype) for a in problem(rng, kind, 6, rows, 40)]
    grad = rng.standard_normal((6, rows, 40)).astype(dtype)
    results, before = [], threads.get_num_threads()
    try:
        for count in (1, 2, 5):
            threads.set_num_threads(count)
            found = recurrence.recurrence_forward(*arrays, kind, False)
            out, _, acts, cells = found
            back = recurrence.recurrence_backward(
                grad, None, *arrays[1:4], (out, acts, cells), kind, False
            )
            results.append([None if a is None else a.tobytes() for a in (*found, *back)])
    finally:
        threads.set_num_threads(before)
    assert results[0] == results[1] == results[2]


def test_parts_of_sequences():
    from rushlight.kernels.launch.execution import FLOAT32, FLOAT64
    from rushlight.kernels.recurrent.sequences import _blocks

    for rows, count, parts in ((1, 2, 1), (14, 2, 1), (32, 2, 2), (64, 2, 2), (64, 3, 3),
                               (64, 16, 5), (100, 2, 4), (128, 3, 6), (1000, 5, 25)):  # fmt: skip
        assert _blocks(rows, 14, count, FLOAT32) == parts
        assert _blocks(rows, 14, count, FLOAT64) == _blocks(rows, 14, 1, FLOAT64)


@pytest.mark.parametrize("kind", recurrence.GATES)
@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("size", SIZES)
def test_float64_against_its_formulas(rng, kind, backwards, size):
    arrays = wide(problem(rng, kind, *size))
    arrays[0][0, 0, 0] = 800.0  # beyond the exponential
    arrays[0][-1, -1, -1] = -800.0
    found = recurrence.recurrence_forward(*arrays, kind, backwards)
    wanted = recurrence.recurrence_forward.reference(*arrays, kind, backwards)
    for got, right in zip(found, wanted, strict=True):
        assert (got is None) == (right is None)
        assert got is None or np.allclose(got, right, rtol=1e-14, atol=1e-14)
    grad = rng.standard_normal(found[0].shape)
    grad_cell = rng.standard_normal(found[1].shape) if kind == "lstm" else None
    out, _, acts, cells = wanted
    saved, (_, hidden, cell, weight, _) = (out, acts, cells), arrays
    args = grad, grad_cell, hidden, cell, weight, saved, kind, backwards
    for got, right in zip(
        recurrence._steps_back(*args), recurrence._steps_back_reference(*args), strict=True
    ):
        assert (got is None) == (right is None)
        assert got is None or np.allclose(got, right, rtol=1e-12, atol=1e-12)


def test_nan_stays_in_its_sequence_in_float64(rng):
    arrays = wide(problem(rng, "lstm", 4, 5, 6))
    arrays[0][1, 2, 3] = np.nan
    out = recurrence.recurrence_forward(*arrays, "lstm", False)[0]
    assert not np.isnan(out[0]).any()
    assert np.isnan(out[2, 2]).all()
    assert not np.isnan(out[:, [0, 1, 3, 4]]).any()


@pytest.mark.parametrize("kind", recurrence.GATES)
@pytest.mark.parametrize("width", [5, 33, 70, 200])
def test_rows_have_the_same_bits_in_any_batch(rng, kind, width):
    """One or two rows take several panels of the weight at a time."""
    gates, hidden, cell, weight, bias = problem(rng, kind, 4, 8, width)
    whole = recurrence.recurrence_forward(gates, hidden, cell, weight, bias, kind, False)
    for rows in (1, 2, 3):
        first = None if cell is None else cell[:rows]
        found = recurrence.recurrence_forward(
            gates[:, :rows], hidden[:rows], first, weight, bias, kind, False
        )
        assert found[0].tobytes() == whole[0][:, :rows].tobytes()


@pytest.mark.parametrize("kind", recurrence.GATES)
@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("size", [(1, 1, 1), (5, 3, 4), (4, 1, 70), (12, 29, 16)])
def test_packed_weights_give_the_same_bits(rng, kind, backwards, size):
    from rushlight.kernels.recurrent.packed import PackedRecurrence

    gates, hidden, cell, weight, bias = problem(rng, kind, *size)
    layer = PackedRecurrence(weight, bias, kind, backwards)
    expected = recurrence.recurrence_forward(gates, hidden, cell, weight, bias, kind, backwards)
    weight[:] = np.nan  # it is not read any more
    for _ in range(2):
        out, last = layer.run(gates, hidden, cell)
        assert out.tobytes() == expected[0].tobytes()
        assert last.tobytes() == (b"" if cell is None else expected[1].tobytes())
