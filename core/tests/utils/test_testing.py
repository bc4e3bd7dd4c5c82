"""`assert_close` and `make_tensor`, against PyTorch's."""

import numpy as np
import pytest

import rushlight
from rushlight.testing import assert_close, make_tensor

CASES = {
    "values": lambda t: (t.tensor([1.0, 2.0, 3.0]), t.tensor([1.0, 2.5, 3.0])),
    "matrix": lambda t: (t.zeros(2, 3), t.ones(2, 3)),
    "integers": lambda t: (t.tensor([1, 2]), t.tensor([1, 4])),
    "scalar tensor": lambda t: (t.tensor(1.0), t.tensor(2.0)),
    "numbers": lambda t: (1.0, 2.0),
    "whole numbers": lambda t: (1, 2),
    "shape": lambda t: (t.zeros(2), t.zeros(3)),
    "sequence": lambda t: ([t.zeros(2), t.zeros(1)], [t.zeros(2), t.ones(1)]),
    "length": lambda t: ([1.0], [1.0, 2.0]),
    "keys": lambda t: ({"a": 1, "b": 2}, {"a": 1, "c": 3}),
    "nested": lambda t: ({"a": [t.zeros(1)]}, {"a": [t.ones(1)]}),
    "none": lambda t: (None, 1.0),
    "booleans": lambda t: (True, False),
}


@pytest.mark.parametrize("name", CASES)
def test_messages_are_pytorchs(name):
    torch = pytest.importorskip("torch")
    with pytest.raises(AssertionError) as ours:
        assert_close(*CASES[name](rushlight))
    with pytest.raises(AssertionError) as theirs:
        torch.testing.assert_close(*CASES[name](torch))
    assert str(ours.value).replace("rushlight.", "torch.") == str(theirs.value)


def test_what_is_close_passes():
    nan = float("nan")
    assert_close(rushlight.tensor([1.0, nan]), rushlight.tensor([1 + 1e-7, nan]), equal_nan=True)
    assert_close({"a": [1.0, (rushlight.ones(2), None)]}, {"a": [1.0, (rushlight.ones(2), None)]})
    assert_close(rushlight.ones(2), rushlight.ones(2).double(), check_dtype=False)
    assert_close(np.ones(3), np.ones(3))
    assert_close(rushlight.tensor([1.0]), rushlight.tensor([1.4]), rtol=0.0, atol=0.5)


def test_attributes_and_wrong_calls():
    with pytest.raises(AssertionError, match="attribute 'dtype' do not match"):
        assert_close(rushlight.ones(2), rushlight.ones(2).double())
    with pytest.raises(AssertionError, match=r"attribute 'stride\(\)' do not match"):
        assert_close(rushlight.ones(2, 3), rushlight.ones(3, 2).t(), check_stride=True)
    with pytest.raises(ValueError, match="but got no rtol"):
        assert_close(1.0, 1.0, atol=0.1)
    with pytest.raises(TypeError, match="No comparison pair was able to handle"):
        assert_close("a", "a")
    with pytest.raises(AssertionError, match="^mine: Tensor-likes"):
        assert_close(rushlight.zeros(2), rushlight.ones(2), msg=lambda text: f"mine: {text}")


MIXED = {
    "array": lambda t: (t.ones(3), np.ones(3, "f")),
    "first array": lambda t: (np.ones(3, "f"), t.ones(3)),
    "number": lambda t: (t.tensor(1.0), 1.0),
    "first number": lambda t: (1.0, t.tensor(1.0)),
    "list": lambda t: (t.ones(2), [1.0, 1.0]),
    "array and list": lambda t: (np.ones(2), [1.0, 1.0]),
    "scalar of NumPy": lambda t: (np.float32(1), t.tensor(1.0)),
    "in a list": lambda t: ([t.ones(3)], [np.ones(3, "f")]),
    "text": lambda t: ("a", "a"),
    "dict and list": lambda t: ({"a": t.ones(1)}, [t.ones(1)]),
}


@pytest.mark.parametrize("name", MIXED)
def test_different_kinds_are_refused_as_by_pytorch(name):
    torch = pytest.importorskip("torch")
    with pytest.raises(TypeError) as ours:
        assert_close(*MIXED[name](rushlight))
    with pytest.raises(TypeError) as theirs:
        torch.testing.assert_close(*MIXED[name](torch))
    ours = str(ours.value).replace("rushlight.tensor.tensor.", "torch.")
    assert ours == str(theirs.value)


def test_numbers_of_numpy_are_numbers():
    assert_close(np.float32(1), 1.0)
    assert_close(rushlight.nn.Parameter(rushlight.ones(2)), rushlight.ones(2))
    with pytest.raises(AssertionError, match=r"types do not match: <class 'int'> != <class 'flo"):
        assert_close(np.int64(1), np.float32(1))


@pytest.mark.parametrize("name", "bool uint8 int8 int64 float16 bfloat16 float32 complex64".split())
def test_made_tensors_keep_their_bounds(name):
    dtype = getattr(rushlight, name)
    made = make_tensor(50, 40, dtype=dtype, device="cpu")
    assert made.dtype is dtype and made.shape == (50, 40) and made.is_contiguous()
    values = rushlight.view_as_real(made) if made.is_complex() else made.double()
    low, high = {"bool": (0, 1), "uint8": (0, 9)}.get(name, (-9, 9))
    assert values.min() >= low and values.max() <= high and values.max() > values.min()
    gaps = make_tensor((4, 5), dtype=dtype, device="cpu", noncontiguous=True)
    assert gaps.shape == (4, 5) and not gaps.is_contiguous()
    if name != "bool":
        narrow = make_tensor(300, dtype=dtype, device="cpu", low=1, high=3, exclude_zero=True)
        assert (narrow != 0).all()
        ends = rushlight.view_as_real(narrow) if narrow.is_complex() else narrow
        assert ends.double().min() >= 1 and ends.double().max() <= 3


def test_made_tensors_with_gradients_and_wrong_calls():
    assert make_tensor((), dtype=rushlight.float32, device="cpu", requires_grad=True).requires_grad
    with pytest.raises(ValueError, match="not supported for boolean and integral dtypes"):
        make_tensor(1, dtype=rushlight.int8, device="cpu", requires_grad=True)
    with pytest.raises(ValueError, match="`low` to be less than `high`"):
        make_tensor(1, dtype=rushlight.int8, device="cpu", low=3, high=2)
    with pytest.raises(ValueError, match="cannot be NaN"):
        make_tensor(1, dtype=rushlight.float32, device="cpu", low=float("nan"))
    with pytest.raises(ValueError, match="mutually exclusive"):
        make_tensor(1, dtype=rushlight.float32, device="cpu", noncontiguous=True,
                    memory_format=rushlight.contiguous_format)  # fmt: skip
