"""Making, printing, converting and indexing tensors."""

import copy
import pickle

import numpy as np
import pytest

import rushlight

SHOWN = [
    lambda m: m.tensor([1.0, 2.5, -3.0]),
    lambda m: m.tensor([1.0, 2.0]),
    lambda m: m.tensor([1e-10, 1.0]),
    lambda m: m.tensor([1e6, 1.5]),
    lambda m: m.tensor([float("nan"), float("inf"), 1.0]),
    lambda m: m.tensor([[True, False]]),
    lambda m: m.tensor(3),
    lambda m: m.tensor(1.5, requires_grad=True),
    lambda m: m.tensor([[1, -20], [300, 4]]),
    lambda m: m.arange(12.0).reshape(2, 2, 3),
    lambda m: m.arange(3000.0).reshape(100, 30),
    lambda m: m.zeros(0),
    lambda m: m.zeros(0, 3),
    lambda m: m.tensor([1.0, 2.0]).double(),
    lambda m: m.tensor([1.0, 2.0]).bfloat16(),
    lambda m: m.tensor([1 + 2j, 3 - 0.5j]),
    lambda m: m.ones(2, requires_grad=True) * 2,
    lambda m: m.arange(40) * 1000,
    lambda m: m.empty(2, 3, device="meta"),
]


@pytest.mark.parametrize("make", SHOWN)
def test_printing_follows_torch(make):
    torch = pytest.importorskip("torch")
    assert repr(make(rushlight)).replace("rushlight.", "torch.") == repr(make(torch))


DATA = [
    1,
    2.5,
    True,
    [],
    [[1, 2], [3, 4]],
    [1, 2.0],
    [True, 2],
    (1, (2,))[:1],
    1 + 2j,
    np.float32(2),
    np.arange(3),
    np.ones((2, 2), np.float64),
    range(3),
]


@pytest.mark.parametrize("data", DATA, ids=repr)
def test_tensor_of_data(data):
    torch = pytest.importorskip("torch")
    ours, theirs = rushlight.tensor(data), torch.tensor(data)
    assert ours.dtype.name == str(theirs.dtype)[6:] and ours.shape == tuple(theirs.shape)
    np.testing.assert_array_equal(ours.numpy(), theirs.numpy())


def test_ragged_data_is_refused():
    with pytest.raises(ValueError, match="expected sequence of length 2 at dim 1"):
        rushlight.tensor([[1, 2], [3]])
    with pytest.raises(TypeError, match="invalid data type 'str'"):
        rushlight.tensor("text")


def test_numpy_shares_memory_both_ways():
    array = np.zeros(3, np.float32)
    tensor = rushlight.from_numpy(array)
    tensor += 1
    assert array.tolist() == [1.0] * 3
    tensor.numpy()[0] = 5
    assert tensor[0].item() == 5.0
    with pytest.raises(RuntimeError, match="requires grad"):
        rushlight.ones(1, requires_grad=True).numpy()
    with pytest.raises(TypeError, match="can't convert np.ndarray of type"):
        rushlight.from_numpy(np.array(["a"]))


def test_dlpack_shares_memory():
    tensor = rushlight.arange(3.0)
    array = np.from_dlpack(tensor)
    tensor.mul_(2)
    assert array.tolist() == [0.0, 2.0, 4.0]
    back = rushlight.from_dlpack(array)
    tensor.add_(1)
    assert back.tolist() == [1.0, 3.0, 5.0]
    with pytest.raises(TypeError, match="must be object with __dlpack__, not list"):
        rushlight.from_dlpack([1])


def test_copies_and_pickles_keep_values_and_flags():
    x = rushlight.nn.Parameter(rushlight.ones(2, 2).t())
    x.grad = rushlight.ones(2, 2)
    for copied in (copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        assert type(copied) is rushlight.nn.Parameter and copied.requires_grad
        assert (copied == x).all() and (copied.grad == x.grad).all()
        assert copied.data_ptr() != x.data_ptr()
    half = pickle.loads(pickle.dumps(rushlight.ones(2, dtype=rushlight.bfloat16)))
    assert half.dtype is rushlight.bfloat16 and half.float().tolist() == [1.0, 1.0]
    with pytest.raises(RuntimeError, match="graph leaves"):
        copy.deepcopy(x * 2)


INDICES = [
    0, -1, slice(1, 3), slice(None, None, 2), Ellipsis, None, (0, 1), (slice(None), 1), (..., 0),
    (None, slice(1), ..., 1), [0, 2], ([0, 1], [1, 2]), (slice(None), [0, 2], 1), (1, ..., [0, 1]),
    np.array([2, 0]), "mask", "rows", (0, "row mask"), "tensor", True,
]  # fmt: skip


def resolve(library, index):
    named = {
        "mask": lambda: library.arange(24).reshape(3, 4, 2) % 3 == 0,
        "rows": lambda: library.tensor([True, False, True]),
        "row mask": lambda: library.tensor([True, False, True, True]),
        "tensor": lambda: library.tensor([[0, 1], [2, 0]]),
    }
    if isinstance(index, str):
        return named[index]()
    if isinstance(index, tuple):
        return tuple(resolve(library, i) for i in index)
    return index


@pytest.mark.parametrize("index", INDICES, ids=repr)
def test_indexing_and_assignment(index):
    torch = pytest.importorskip("torch")
    results = []
    for library in (rushlight, torch):
        x = library.arange(24.0).reshape(3, 4, 2)
        read = x[resolve(library, index)].clone()
        x[resolve(library, index)] = -1.0
        leaf = library.arange(24.0, dtype=library.float64).reshape(3, 4, 2).requires_grad_()
        (leaf[resolve(library, index)] ** 2).sum().backward()
        results.append((read.numpy(), x.numpy(), leaf.grad.numpy()))
    for ours, theirs in zip(*results, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_index_errors_name_the_place():
    x = rushlight.zeros(2, 3)
    with pytest.raises(IndexError, match="index 5 is out of bounds for dimension 1 with size 3"):
        x[0, 5]
    with pytest.raises(IndexError, match="too many indices for tensor of dimension 2"):
        x[0, 0, 0]
    with pytest.raises(IndexError, match="tensors used as indices must be long"):
        x[rushlight.ones(1)]
    with pytest.raises(IndexError, match="shape of the mask"):
        x[rushlight.tensor([True, False, True])]


def test_numbers_and_truth():
    assert float(rushlight.tensor(2.5)) == 2.5 and int(rushlight.tensor([3])) == 3
    assert bool(rushlight.tensor([0.0])) is False and [10, 20][rushlight.tensor(1)] == 20
    with pytest.raises(RuntimeError, match="more than one value is ambiguous"):
        bool(rushlight.ones(2))
    with pytest.raises(RuntimeError, match="a Tensor with 2 elements cannot be converted"):
        rushlight.ones(2).item()
    assert f"{rushlight.tensor(1.25):.1f}" == "1.2"
    assert 2 in rushlight.arange(3) and rushlight.ones(2).tolist() == [1.0, 1.0]


@pytest.mark.parametrize("a", rushlight.dtypes.ALL, ids=repr)
def test_promotion_of_every_pair(a):
    torch = pytest.importorskip("torch")
    for b in rushlight.dtypes.ALL:
        if any(d.name in ("uint16", "uint32", "uint64") for d in (a, b)):
            continue  # test_unsigned_dtypes.py has these, and the pairs that are refused
        if a is not b and any(d in rushlight.dtypes.EIGHT_BITS for d in (a, b)):
            with pytest.raises(RuntimeError, match="Promotion for Float8 Types"):
                rushlight.promote_types(a, b)
            continue
        expected = torch.promote_types(getattr(torch, a.name), getattr(torch, b.name))
        assert rushlight.promote_types(a, b).name == str(expected)[6:]
        for left, right in (((2,), (2,)), ((2,), ()), ((), (2,))):
            mine = rushlight.result_type(
                rushlight.ones(left, dtype=a), rushlight.ones(right, dtype=b)
            )
            theirs = torch.result_type(
                torch.ones(left, dtype=getattr(torch, a.name)),
                torch.ones(right, dtype=getattr(torch, b.name)),
            )
            assert mine.name == str(theirs)[6:], (a, b, left, right)
        for number in (True, 2, 2.5, 1j):
            if number == 1j and a in rushlight.dtypes.EIGHT_BITS:
                with pytest.raises(RuntimeError, match="no complex type"):
                    rushlight.result_type(rushlight.ones(2, dtype=a), number)
                continue
            mine = rushlight.result_type(rushlight.ones(2, dtype=a), number)
            theirs = torch.result_type(torch.ones(2, dtype=getattr(torch, a.name)), number)
            assert mine.name == str(theirs)[6:], (a, number)


def test_to_in_its_forms():
    x = rushlight.ones(2)
    assert x.to(rushlight.float32) is x and x.to("cpu") is x
    assert x.to(rushlight.float64).dtype is rushlight.float64
    assert x.to("cpu", rushlight.int64).dtype is rushlight.int64
    assert x.to(rushlight.ones(1, dtype=rushlight.float16)).dtype is rushlight.float16
    assert x.to(rushlight.float32, copy=True) is not x
    assert x.to("meta").device.type == "meta"
    with pytest.raises(NotImplementedError, match="Cannot copy out of meta tensor"):
        x.to("meta").to("cpu")
    with pytest.raises(RuntimeError, match="computes on the CPU only"):
        x.to("cuda")


def test_memory_of_meta_tensors():
    huge = rushlight.empty(10**6, 10**6, device="meta")
    assert (huge + 1).sum(0).shape == (10**6,) and huge.stride() == (10**6, 1)


def test_set_default_dtype():
    def divided():
        x = rushlight.arange(1, 3)
        y = x.clone().float()
        return [(x / 2).dtype, (x / x).dtype, x.sin().dtype, x.div(2).dtype, (y / x).dtype]

    for _ in range(3):  # the short ways into these ops are open before the default changes
        assert set(divided()) == {rushlight.float32}
    rushlight.set_default_dtype(rushlight.float64)
    try:
        assert rushlight.ones(1).dtype is rushlight.float64
        assert divided() == [rushlight.float64] * 4 + [rushlight.float32]
    finally:
        rushlight.set_default_dtype(rushlight.float32)
    assert set(divided()) == {rushlight.float32}
    with pytest.raises(TypeError, match="only floating-point types"):
        rushlight.set_default_dtype(rushlight.int64)
