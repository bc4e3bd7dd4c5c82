"""Legacy tensor types, storages and methods."""

import numpy as np
import pytest

import rushlight

CALLS = [
    "FloatTensor(np.zeros(2))",
    "LongTensor(np.array([1.5]))",
    "LongTensor([1.5])",
    "FloatTensor(np.array(3.0))",
    "FloatTensor()",
    "FloatTensor((2, 3))",
    "FloatTensor(range(3))",
    "FloatTensor([1], device='cpu')",
    "BoolTensor([0, 2])",
    "ByteTensor([[1, 2], [3, 4]])",
    "ones(2).new((3, 4))",
    "ones(2).new(size=(3, 4)).zero_()",
    "ones(2).new(data=[1.5])",
    "ones(2).new(other=ones(3))",
    "Tensor(size=(2, 3)).zero_()",
    "Tensor(size=[]).zero_()",
    "Tensor(data=[1, 2.5])",
    "Tensor(other=ones(2))",
    "Tensor(storage=ones(2).untyped_storage())",
    "Tensor(ones(3).untyped_storage())",
    "LongTensor(size=(2, 1)).zero_()",
    "LongTensor(data=[1, 2])",
    "ones(2).new()",
    "ones(2).new(ones(3))",
    "ones(2).type(LongTensor)",
    "ones(2).to_dense(dtype=float64)",
    "ones(2).dequantize()",
    "arange(6.0).view(2, 3)[1].set_(arange(6.0).storage(), 1, (2, 2), (2, 1))",
    "ones(2).set_(arange(6.0).untyped_storage(), 1, (2, 2), (2, 1))",
    "ones(2).set_(arange(3.0))",
    "ones(2).set_()",
]
ERRORS = [
    "FloatTensor(3.0)",
    "FloatTensor('a')",
    "ones(2).new(ones(3).long())",
    "Tensor(sizes=(2, 3))",
    "Tensor(size=2)",
    "Tensor([1], size=(2,))",
    "LongTensor(2, size=(2,))",
    "ones(2).new(size=2)",
    "ones(2).set_(ones(3).long())",
    "ones(2).coalesce()",
    "ones(2).indices()",
    "FloatTensor(-1)",
]


def names(module):
    listed = "Tensor FloatTensor LongTensor BoolTensor ByteTensor ones arange float64".split()
    return {"np": np, **{name: getattr(module, name) for name in listed}}


@pytest.mark.filterwarnings("ignore:TypedStorage is deprecated")
@pytest.mark.parametrize("text", CALLS)
def test_calls_give_what_pytorch_gives(text):
    real = pytest.importorskip("torch")
    ours, theirs = eval(text, names(rushlight)), eval(text, names(real))
    assert str(ours.dtype).split(".")[1] == str(theirs.dtype).split(".")[1]
    np.testing.assert_array_equal(ours.numpy(), theirs.numpy())


@pytest.mark.parametrize("text", ERRORS)
def test_errors_are_of_pytorchs_kinds(text):
    real = pytest.importorskip("torch")
    with pytest.raises(Exception) as expected:  # noqa: B017, PT011 - its type is what is compared
        eval(text, names(real))
    with pytest.raises(expected.type, match="."):
        eval(text, names(rushlight))


def test_types_answer_by_dtype():
    x = rushlight.ones(2)
    assert isinstance(x, rushlight.FloatTensor) and not isinstance(x, rushlight.LongTensor)
    assert not isinstance(x, rushlight.cuda.FloatTensor)
    assert rushlight.LongTensor.dtype is rushlight.int64
    assert rushlight.FloatTensor(2, 3).shape == (2, 3)
    assert rushlight.ones(2, dtype=rushlight.int64).new(2, 3).dtype is rushlight.int64
    with pytest.raises(TypeError, match="cuda.FloatTensor not available"):
        rushlight.cuda.FloatTensor(2)


def test_the_default_type_is_set_by_a_type():
    with pytest.warns(UserWarning, match="deprecated"):
        rushlight.set_default_tensor_type(rushlight.DoubleTensor)
    assert rushlight.ones(1).dtype is rushlight.float64
    with pytest.warns(UserWarning, match="deprecated"):
        rushlight.set_default_tensor_type("torch.FloatTensor")
    assert rushlight.ones(1).dtype is rushlight.float32


def test_a_storage_is_the_whole_memory():
    x = rushlight.arange(6.0).view(2, 3)
    storage = x[1].storage()
    assert len(storage) == 6 and storage.tolist() == [0, 1, 2, 3, 4, 5]
    storage[0] = 9.0
    assert x[0, 0] == 9.0 and storage[0] == 9.0
    assert storage.data_ptr() == x.data_ptr() and storage.nbytes() == 24
    assert storage.type() == "rushlight.FloatStorage"


def test_set_shares_memory_and_version():
    x, y = rushlight.zeros(3), rushlight.ones(2)
    y.set_(x)
    y[0] = 5
    assert x[0] == 5 and x._version == y._version


def test_questions_about_place():
    x = rushlight.ones(2)
    assert x.get_device() == -1 and not x.is_shared() and x.to_dense() is x
    with pytest.raises(RuntimeError, match="expected a tensor on a GPU"):
        x.record_stream(None)
    with pytest.raises(NotImplementedError, match=r"write x\[indices\]"):
        x.index(0)


def test_variable_is_a_tensor():
    x = rushlight.ones(2)
    y = rushlight.autograd.Variable(x, requires_grad=True)
    assert type(y) is rushlight.Tensor and y.requires_grad and y.data_ptr() == x.data_ptr()
    assert isinstance(x, rushlight.autograd.Variable)
    with pytest.raises(RuntimeError, match="floating point"):
        rushlight.autograd.Variable(x.long(), requires_grad=True)
    with pytest.raises(TypeError, match="argument 'data'"):
        rushlight.autograd.Variable(3)


def test_foreach_functions():
    lists = [rushlight.ones(2), rushlight.ones(3)]
    rushlight._foreach_mul_(lists, 3.0)
    assert [x.tolist() for x in rushlight._foreach_add(lists, lists)] == [[6, 6], [6, 6, 6]]
    with pytest.raises(RuntimeError, match="same number of tensors, got 2 and 1"):
        rushlight._foreach_add(lists, lists[:1])
    with pytest.raises(AttributeError):
        rushlight._foreach_nothing  # noqa: B018


def test_assert_allclose_ignores_dtypes():
    with pytest.warns(FutureWarning, match="assert_close"):
        rushlight.testing.assert_allclose(rushlight.ones(2), rushlight.ones(2).double())
    with pytest.warns(FutureWarning), pytest.raises(AssertionError):
        rushlight.testing.assert_allclose(rushlight.ones(2), [1.0, 1.1])
