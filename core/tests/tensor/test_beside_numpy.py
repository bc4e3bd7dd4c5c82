"""Operators between tensors and NumPy arrays, and NumPy's functions of tensors, as in PyTorch."""

from __future__ import annotations

import operator

import numpy as np
import pytest

import rushlight

ARRAYS = {
    "float64": lambda: np.array([2.0, 0.5, 4.0]),
    "float32": lambda: np.array([2.0, 0.5, 4.0], np.float32),
    "int64": lambda: np.array([1, 2, 3]),
    "column": lambda: np.array([[2.0], [3.0]]),
    "one number": lambda: np.array(2.0),
}
TENSORS = {
    "float32": lambda L: L.tensor([1.0, 2.0, 3.0]),
    "int64": lambda L: L.tensor([1, 2, 3]),
}
OPERATORS = (
    "add sub mul truediv floordiv mod pow matmul eq lt ge and_ iadd isub imul itruediv".split()
)


def outcome(function):
    """What a call gives: the kind, dtype and numbers of its result, or its kind of error."""
    try:
        found = function()
    except (TypeError, ValueError) as error:
        return type(error).__name__
    array = found.numpy() if hasattr(found, "numpy") else found
    array = array if array.dtype == bool else np.round(array, 4)  # sin differs in its last bit
    return type(found).__name__, str(array.dtype), array.tolist()


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("name", OPERATORS)
@pytest.mark.parametrize("kind", TENSORS)
@pytest.mark.parametrize("array", ARRAYS)
@pytest.mark.parametrize("first", ["tensor", "array"])
def test_operators(name, kind, array, first):
    torch = pytest.importorskip("torch")
    call = getattr(operator, name)

    def of(L):
        pair = TENSORS[kind](L), ARRAYS[array]()
        return outcome(lambda: call(*pair if first == "tensor" else pair[::-1]))

    assert of(rushlight) == of(torch)


def test_inequality_is_by_element():
    x = rushlight.tensor([1.0, 2.0])
    assert (x != np.array([1.0, 3.0])).tolist() == [False, True]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize(
    "function",
    [
        np.sin,
        np.isnan,
        lambda x: np.add(x, np.ones(3)),
        lambda x: np.multiply(np.ones((2, 1)), x),
        lambda x: np.greater(x, 1),
        np.cumsum,
        np.argsort,
        lambda x: np.clip(x, 0, 1),
        lambda x: np.concatenate([x, x]),
        lambda x: np.where(x > 1, x, 0),
        lambda x: np.reshape(x, (3, 1)),
    ],
)
def test_functions_of_numpy(function):
    torch = pytest.importorskip("torch")
    expected = outcome(lambda: function(torch.tensor([3.0, 1.0, 2.0])))
    assert outcome(lambda: function(rushlight.tensor([3.0, 1.0, 2.0]))) == expected


def test_what_is_refused():
    x, array = rushlight.tensor([1.0, 2.0, 3.0]), np.ones(3)
    for call in (rushlight.add, rushlight.pow, rushlight.remainder, rushlight.matmul):
        with pytest.raises(TypeError, match=r"must be Tensor.*not ndarray"):
            call(x, array)
    with pytest.raises(TypeError, match="must be Tensor"):
        x.add_(array)
    with pytest.raises(RuntimeError, match="requires grad"):
        x.requires_grad_() + array


def test_arange_of_a_numpy_float():
    assert rushlight.arange(np.float32(3)).dtype is rushlight.float32
    assert rushlight.arange(np.int64(3)).dtype is rushlight.int64
