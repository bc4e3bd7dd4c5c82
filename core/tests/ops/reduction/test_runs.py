"""Runs of equal elements of every dtype and layout against a loop."""

import itertools

import numpy as np
import pytest

import rushlight

NAN = float("nan")


def _runs(values):
    """First elements, the run of each element, lengths."""
    first, numbers, lengths = [], [], []
    for i, value in enumerate(values):
        if not i or value != values[i - 1]:
            first.append(value)
            lengths.append(0)
        lengths[-1] += 1
        numbers.append(len(first) - 1)
    return first, numbers, lengths


@pytest.mark.parametrize(
    "dtype", ["float32", "float64", "int32", "int64", "int16", "uint8", "bool", "bfloat16"]
)
@pytest.mark.parametrize("count", [0, 1, 2, 40, 5000])
def test_runs(dtype, count):
    values = np.random.default_rng(count).integers(0, 2, count)
    x = rushlight.tensor(values).to(getattr(rushlight, dtype))
    strided = rushlight.stack([x, x], 1)[:, 0] if count else x
    expected = _runs(values.tolist())
    for given, inverse, counts in itertools.product((x, strided), (False, True), (False, True)):
        for dim in (None, 0):
            found = rushlight.unique_consecutive(given, inverse, counts, dim)
            found = found if isinstance(found, tuple) else (found,)
            assert found[0].dtype is x.dtype
            assert found[0].double().tolist() == expected[0]
            wanted = [expected[1]] * inverse + [expected[2]] * counts
            assert [part.tolist() for part in found[1:]] == wanted
            assert all(part.dtype is rushlight.int64 for part in found[1:])


def test_runs_of_numbers_that_equal_nothing_and_of_zeros():
    x = rushlight.tensor([NAN, NAN, 0.0, -0.0, 1.0, 1.0])
    values, numbers, lengths = rushlight.unique_consecutive(x, True, True)
    assert str(values.tolist()) == "[nan, nan, 0.0, 1.0]"
    assert numbers.tolist() == [0, 1, 2, 2, 3, 3] and lengths.tolist() == [1, 1, 2, 2]


def test_runs_of_several_dimensions():
    x = rushlight.tensor([[1, 1], [1, 2], [1, 2]])
    values, numbers, lengths = rushlight.unique_consecutive(x, True, True)
    assert values.tolist() == [1, 2, 1, 2] and lengths.tolist() == [3, 1, 1, 1]
    assert numbers.tolist() == [[0, 0], [0, 1], [2, 3]]
    values, numbers = rushlight.unique_consecutive(x, True, dim=0)
    assert values.tolist() == [[1, 1], [1, 2]] and numbers.tolist() == [0, 1, 1]
