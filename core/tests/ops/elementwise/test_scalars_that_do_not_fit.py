"""Numbers that become elements: every dtype takes and refuses what PyTorch's does, with the same
kind of error, and no warning of NumPy's is seen (warnings are errors here)."""

import warnings

import numpy as np
import pytest

import rushlight

torch = pytest.importorskip("torch")

DTYPES = [
    "float16", "bfloat16", "float32", "float64", "int8", "uint8", "int16", "int32", "int64", "bool",
    "complex64",
]  # fmt: skip
INFINITY = float("inf")
NUMBERS = [
    0.5, -1, 300, -200, 70000, 2**31, -(2**31) - 1, 2**40, 2**63 - 1, 2**63, 2**64 - 1, 2**64,
    -(2**63) - 1, 2**100, 65504, 65519.9, 65520.0, 1e5, -1e9, 1e39, -1e39, 1e300, 3.4028235e38,
    3.4028236e38, INFINITY, -INFINITY, float("nan"), True, 1e39j,
]  # fmt: skip


def _set(index):
    def write(lib, x, number):
        x[lib.ones(2, 3, dtype=lib.bool) if index == "mask" else index] = number
        return x

    return write


def _rows(lib):
    return lib.zeros(1, 3, dtype=lib.int64)


# Call(library, zeros of the dtype, number) of what writes a number into a tensor and has no typed
# signature; the others are in tests/compat/test_numbers_that_do_not_fit.py.
CALLS = {
    "full of a size": lambda lib, x, n: lib.full([2], n, dtype=x.dtype),
    "scatter_ add": lambda lib, x, n: x.scatter_(0, _rows(lib), n, reduce="add"),
    "pad": lambda lib, x, n: lib.nn.functional.pad(x, (1, 1), value=n),
    "constant_": lambda lib, x, n: lib.nn.init.constant_(x, n),
    "x[0]": _set(0),
    "x[mask]": _set("mask"),
    "tensor": lambda lib, x, n: lib.tensor([n], dtype=x.dtype),
}
# Not the same here, with the reason.
APART = {
    ("pad", 2**63 - 1): "goes through a float there, which int64 does not hold: the result wraps",
    ("pad", 2**63): "the same",
    **{(w, n): "ValueError there for integers of more than 63 bits, OverflowError or taken here"
       for w in ("x[0]", "x[mask]", "tensor") for n in NUMBERS
       if isinstance(n, int) and not -(2**63) <= n < 2**63},
}  # fmt: skip


def _outcome(lib, dtype, call, number):
    try:
        found = call(lib, lib.zeros(2, 3, dtype=getattr(lib, dtype)), number)
    except Exception as error:
        if isinstance(error, Warning):
            raise
        return type(error).__name__
    return (found.float() if dtype == "bfloat16" else found).numpy()


def _same(ours, theirs):
    if isinstance(ours, str) or isinstance(theirs, str):
        return type(ours) is type(theirs) and ours == theirs
    return np.array_equal(ours, theirs, equal_nan=True)


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_numbers(dtype, name):
    wrong = []
    for number in NUMBERS:
        if (name, number) in APART:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            ours = _outcome(rushlight, dtype, CALLS[name], number)
            again = _outcome(rushlight, dtype, CALLS[name], number)  # by the short way
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            theirs = _outcome(torch, dtype, CALLS[name], number)
        if not (_same(ours, theirs) and _same(again, theirs)):
            wrong.append(f"{number!r}: {ours!r} and {again!r}, PyTorch {theirs!r}")
    assert not wrong, "\n".join(wrong)


def test_the_message_names_the_dtype():
    with pytest.raises(RuntimeError, match="converted to type float16 without overflow"):
        rushlight.zeros(2).half().masked_fill(rushlight.tensor([True, False]), -1e9)


@pytest.mark.parametrize(
    "data",
    [
        1e39, [1e39, -1e300], [[1.0, 2.0], [1e39, 3.0]], [3e38, 3e38, -3e38], [10**30, 1],
        [1.0, float("nan")], [float("inf"), -1.0],
    ],
)  # fmt: skip
def test_numbers_beyond_float32_are_infinite(data):
    """In rows of plain numbers too, and nothing warns."""
    for dtype in ("float32", "float64"):
        found = rushlight.tensor(data, dtype=getattr(rushlight, dtype)).numpy()
        wanted = torch.tensor(data, dtype=getattr(torch, dtype)).numpy()
        np.testing.assert_array_equal(found, wanted)
