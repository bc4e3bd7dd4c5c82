"""Writes at masks and indices that nothing records, and reads at several index tensors."""

from __future__ import annotations

import numpy as np
import pytest

import rushlight

torch = pytest.importorskip("torch")

DTYPES = ("float32", "float64", "int64", "int32", "bool", "float16", "bfloat16", "uint8")
SHAPES = ((7,), (5, 9), (4, 6, 3), (300, 40), (0, 3), (1,))


def both(shape, dtype, seed=0):
    """The same tensor here and there, and a mask."""
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 2 if dtype == "bool" else 9, shape)
    ours = rushlight.from_numpy(values.copy()).to(getattr(rushlight, dtype))
    theirs = torch.from_numpy(values.copy()).to(getattr(torch, dtype))
    return ours, theirs, rng.random(shape) < 0.4


def check(ours, theirs):
    assert str(ours.dtype).partition(".")[2] == str(theirs.dtype).partition(".")[2]
    assert tuple(ours.shape) == tuple(theirs.shape)
    assert np.array_equal(ours.double().numpy(), theirs.double().numpy(), equal_nan=True)


def same_error(call):
    """Both refuse a call, by the same type of error."""
    with pytest.raises((IndexError, RuntimeError, TypeError)) as theirs:
        call(torch)
    with pytest.raises(theirs.type):
        call(rushlight)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("value", [0, 1, 2.5, -3])
def test_number_at_a_mask(dtype, shape, value):
    if dtype == "uint8" and value == -3:
        value = 3
    for steps in (slice(None), slice(None, None, 2)):
        ours, theirs, mask = both(shape, dtype)
        mask = mask[steps]
        ours[steps][rushlight.from_numpy(mask)] = value
        theirs[steps][torch.from_numpy(mask)] = value
        check(ours, theirs)
        if len(shape) > 1:
            rows = np.ascontiguousarray(mask[:, 0] if len(shape) == 2 else mask[:, :, 0])
            ours[steps][rushlight.from_numpy(rows)] = value
            theirs[steps][torch.from_numpy(rows)] = value
            check(ours, theirs)
        ours[steps].masked_fill_(rushlight.from_numpy(mask[:1]), value)
        theirs[steps].masked_fill_(torch.from_numpy(mask[:1]), value)
        check(ours, theirs)


@pytest.mark.parametrize("value", [float("inf"), -float("inf"), float("nan"), -0.0, 1e-45])
def test_special_numbers_at_a_mask(value):
    ours, theirs, mask = both((33, 5), "float32")
    ours.masked_fill_(rushlight.from_numpy(mask), value)
    theirs.masked_fill_(torch.from_numpy(mask), value)
    assert np.array_equal(ours.numpy().view(np.int32), theirs.numpy().view(np.int32))
    ours[rushlight.from_numpy(~mask)] = value
    theirs[torch.from_numpy(~mask)] = value
    assert np.array_equal(ours.numpy().view(np.int32), theirs.numpy().view(np.int32))


def test_integers_beyond_64_bits_are_refused():
    x, mask = rushlight.zeros(3, dtype=rushlight.int64), rushlight.tensor([True, False, True])
    for value in (1 << 63, -(1 << 63) - 1, 1 << 80):
        with pytest.raises((RuntimeError, OverflowError)):
            x[mask] = value
        with pytest.raises((RuntimeError, OverflowError)):
            x.masked_fill_(mask, value)
    x[mask] = -(1 << 63)
    x[~mask] = (1 << 63) - 1
    assert x.tolist() == [-(1 << 63), (1 << 63) - 1, -(1 << 63)]


def test_a_write_is_seen_by_the_pass():
    x = rushlight.ones(4, requires_grad=True)
    y = x * 1.0
    mask = rushlight.tensor([True, False, False, True])
    y[mask] = 0.0
    (y * y).sum().backward()
    assert x.grad.tolist() == [0.0, 2.0, 2.0, 0.0]
    for write in (lambda t: t.__setitem__(mask, 0.0), lambda t: t.masked_fill_(mask, 0.0),
                  lambda t: t.scatter_(0, rushlight.tensor([1]), 2.0),
                  lambda t: t.__setitem__(rushlight.tensor([1]), 2.0)):  # fmt: skip
        kept = rushlight.ones(4)
        saved = (x * kept).sum()
        before = kept._version
        write(kept)
        assert kept._version == before + 1
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            saved.backward()
        with pytest.raises(RuntimeError, match="leaf Variable"):
            write(x)
        with rushlight.no_grad():
            write(x.detach())
        with rushlight.inference_mode():
            frozen = rushlight.ones(4)
        with pytest.raises(RuntimeError, match="inference tensor"):
            write(frozen)
        with pytest.raises(RuntimeError, match="single memory location"):
            write(rushlight.ones(1).expand(4))


@pytest.mark.parametrize("wrong", [(4,), (3, 5), (5, 3), (3, 4, 1)])
def test_masks_that_do_not_fit(wrong):
    def at(library):
        library.zeros(3, 4)[library.ones(wrong, dtype=library.bool)] = 1.0

    same_error(at)


@pytest.mark.parametrize("dtype", DTYPES)
def test_rows_and_elements_written(dtype):
    ours, theirs, _ = both((9, 4), dtype)
    other, wanted, _ = both((3, 4), dtype, 1)
    at, column = np.array([8, -9, 4]), np.array([0, -1, 2])
    for index in ((at,), (at, column), (at[:, None], column), (np.array([[0, 1], [1, 2]]),)):
        source = slice(None) if len(index) == 1 and index[0].ndim == 1 else (0, 0)
        ours_at = tuple(map(rushlight.from_numpy, index))
        theirs_at = tuple(map(torch.from_numpy, index))
        ours[ours_at if len(index) > 1 else ours_at[0]] = other[source]
        theirs[theirs_at if len(index) > 1 else theirs_at[0]] = wanted[source]
        check(ours, theirs)
        check(ours[ours_at], theirs[theirs_at])
        check(ours.t()[tuple(reversed(ours_at))] if len(index) > 1 else ours,
              theirs.t()[tuple(reversed(theirs_at))] if len(index) > 1 else theirs)  # fmt: skip
    for index in ((np.array([9]),), (at, np.array([4, 0, 0])), (at, np.array([0, 1]))):
        same_error(lambda library, i=index: library.zeros(9, 4)[tuple(map(library.from_numpy, i))])

        def write(library, i=index):
            library.zeros(9, 4)[tuple(map(library.from_numpy, i))] = 1.0

        same_error(write)


def test_elements_read_with_a_gradient():
    x = rushlight.arange(12.0).reshape(3, 4).requires_grad_()
    i, j = rushlight.tensor([2, 0, 2]), rushlight.tensor([1, -1, 1])
    x[i, j].sum().backward()
    wanted = np.zeros((3, 4))
    np.add.at(wanted, (i.numpy(), j.numpy()), 1)
    assert np.array_equal(x.grad.numpy(), wanted)


@pytest.mark.filterwarnings("ignore:The reduce argument of torch.scatter")
@pytest.mark.parametrize("dtype", ("float32", "float64", "int64", "int32", "float16", "bool"))
@pytest.mark.parametrize("shape", [(11,), (6, 50), (3, 4, 5), (700, 40)], ids=str)
def test_scatter_in_place(dtype, shape):
    rng = np.random.default_rng(1)
    for dim in range(-1, len(shape)):
        extents = list(shape)
        extents[dim] = max(extents[dim] - 1, 1)
        permuted = np.argsort(rng.random(shape), axis=dim)  # no place twice
        index = np.ascontiguousarray(permuted[tuple(slice(n) for n in extents)])
        ours, theirs, _ = both(shape, dtype)
        source, wanted, _ = both(tuple(extents), dtype, 2)
        i, j = rushlight.from_numpy(index), torch.from_numpy(index)
        check(ours.scatter_(dim, i, source), theirs.scatter_(dim, j, wanted))
        check(ours.scatter_(dim, i, 1), theirs.scatter_(dim, j, 1))
        if dtype != "bool":
            check(ours.scatter_add_(dim, i, source), theirs.scatter_add_(dim, j, wanted))
            check(ours.scatter_(dim, i, source, reduce="multiply"),
                  theirs.scatter_(dim, j, wanted, reduce="multiply"))  # fmt: skip
            check(
                ours.index_fill_(dim, i.reshape(-1)[:1], 5),
                theirs.index_fill_(dim, j.reshape(-1)[:1], 5),
            )


@pytest.mark.parametrize("way", ["put", "add", "number"])
def test_nothing_is_written_where_an_index_is_out_of_range(way):
    for wrong in (-1, 4):
        x = rushlight.zeros(200, 4)
        index = rushlight.zeros(200, 4, dtype=rushlight.int64)
        index[150, 2] = wrong
        with pytest.raises((IndexError, RuntimeError), match="out of bounds"):
            if way == "add":
                x.scatter_add_(1, index, rushlight.ones(200, 4))
            else:
                x.scatter_(1, index, 1.0 if way == "number" else rushlight.ones(200, 4))
        assert not x.any()


def test_sources_in_the_target_are_read_first():
    x = rushlight.arange(6.0)
    x.scatter_(0, rushlight.arange(5, -1, -1), x)
    assert x.tolist() == [5.0, 4.0, 3.0, 2.0, 1.0, 0.0]
    at = rushlight.tensor([1, 2, 0])
    at.scatter_(0, at, rushlight.tensor([10, 20, 30]))
    assert at.tolist() == [30, 10, 20]


@pytest.mark.parametrize("make", ["zeros", "ones", "empty", "rand", "randn"])
def test_new_tensors_on_a_device_that_is_named(make):
    for device in ("cpu", rushlight.device("cpu"), rushlight.ones(1).device, None):
        for size in ((2, 3), (40, 50)):
            rushlight.manual_seed(3)
            plain = getattr(rushlight, make)(*size)
            rushlight.manual_seed(3)
            named = getattr(rushlight, make)(*size, device=device)
            assert named.shape == plain.shape and named.device == plain.device
            assert make == "empty" or rushlight.equal(named, plain)
    with rushlight.device("meta"):
        assert getattr(rushlight, make)(2, device="cpu").device.type == "cpu"
        assert getattr(rushlight, make)(2).device.type == "meta"
        assert rushlight.arange(5, device="cpu").tolist() == [0, 1, 2, 3, 4]
        assert rushlight.full((2,), 1.5, device="cpu").tolist() == [1.5, 1.5]
        assert rushlight.linspace(0, 1, 100, device="cpu").device.type == "cpu"


def test_few_random_numbers_with_and_without_kernels():
    rushlight.ones(9, 9) @ rushlight.ones(9, 9)  # kernels draw few numbers once there are any
    rushlight.manual_seed(5), torch.manual_seed(5)
    for count in (*range(1, 70), 200, 3):
        for name, *numbers in (("rand",), ("randn",), ("randint", 0, 10)):
            given = (*numbers, (count,)) if numbers else (count,)
            found, wanted = getattr(rushlight, name)(*given), getattr(torch, name)(*given)
            assert np.allclose(found.numpy(), wanted.numpy(), rtol=2e-6, atol=1e-6), (name, count)
        found = rushlight.nn.functional.dropout(rushlight.ones(count), 0.3)
        wanted = torch.nn.functional.dropout(torch.ones(count), 0.3)
        assert np.allclose(found.numpy(), wanted.numpy())
        found, wanted = rushlight.empty(count).uniform_(-2, 3), torch.empty(count).uniform_(-2, 3)
        assert np.allclose(found.numpy(), wanted.numpy(), rtol=1e-6, atol=1e-6)


def test_moves_to_where_a_tensor_is():
    x = rushlight.ones(3)
    assert x.to("cpu", non_blocking=True) is x.to(x.device, non_blocking=True) is x.cpu() is x
    assert x.to(rushlight.device("cpu")) is x
    assert x.to("meta", non_blocking=True).device.type == "meta"
    with pytest.raises(TypeError, match="copied"):
        x.to("cpu", copied=True)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "bfloat16"])
def test_numbers_written_again_and_again(dtype):
    """From the second call on a kernel that writes is found by the types of the numbers."""
    values = np.linspace(-3, 3, 12).reshape(3, 4)
    calls = [("clamp_", -1, 1.5), ("clamp_", -1.25, 1.5), ("clamp_", 0.5), ("clamp_", -2, 2),
             ("clamp_", -1.0, float("nan")), ("clamp_", 1.5, -1.5), ("sub_", 1 << 40)]  # fmt: skip
    for name, *numbers in calls * 3:
        ours = rushlight.tensor(values.tolist()).to(getattr(rushlight, dtype))
        theirs = torch.tensor(values.tolist()).to(getattr(torch, dtype))
        found = []
        for x in (ours, theirs):
            try:
                found.append(getattr(x, name)(*numbers) is x)
            except RuntimeError as error:
                found.append(type(error))
        assert found[0] == found[1]
        check(ours, theirs)
        assert ours._version == theirs._version
    leaf = rushlight.ones(3, requires_grad=True)
    with pytest.raises(RuntimeError, match="leaf Variable"):
        leaf.clamp_(-1.25, 1.5)
    with pytest.raises(RuntimeError, match="without overflow"):
        rushlight.ones(3).clamp_(-1e300, 1.5)
    (product := leaf * 2).clamp_(-1.25, 1.5)
    product.sum().backward()
    assert leaf.grad.tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(11,), (6, 50), (3, 4, 5), (700, 40), (5, 70_000)], ids=str)
def test_slices_in_place(dtype, shape):
    """index_copy_, index_add_, index_fill_ and assignments to slices, dense and strided."""
    rng = np.random.default_rng(2)
    for dim in range(-1, len(shape)):
        place = rng.permutation(shape[dim])[: max(1, shape[dim] - 1)]
        extents = list(shape)
        extents[dim] = len(place)
        i, j = rushlight.from_numpy(place), torch.from_numpy(place)
        for turned in (False, True):
            ours, theirs, _ = both(shape, dtype)
            source, wanted, _ = both(tuple(extents), dtype, 2)
            if turned and len(shape) > 1:
                ours, theirs = ours.transpose(0, 1).clone(), theirs.transpose(0, 1).clone()
                ours, theirs = ours.transpose(0, 1), theirs.transpose(0, 1)
            elif turned:
                source, wanted = source.expand(extents), wanted.expand(extents)
            check(ours.index_copy_(dim, i, source), theirs.index_copy_(dim, j, wanted))
            check(ours.index_add_(dim, i, source), theirs.index_add_(dim, j, wanted))
            check(ours.index_fill_(dim, i[:1], 1), theirs.index_fill_(dim, j[:1], 1))
            check(rushlight.index_copy(ours, dim, i, source),
                  torch.index_copy(theirs, dim, j, wanted))  # fmt: skip
            check(ours.index_fill(dim, i, 0), theirs.index_fill(dim, j, 0))
            before = (slice(None),) * (dim % len(shape))
            ours[(*before, i)], theirs[(*before, j)] = source, wanted
            check(ours, theirs)
            ours[(*before, i[1:])], theirs[(*before, j[1:])] = 1, 1
            check(ours, theirs)
            ours[(*before, -i[:2] - 1)], theirs[(*before, -j[:2] - 1)] = 0, 0
            check(ours, theirs)
            ours[(*before, i)], theirs[(*before, j)] = (
                source[:1].sum().to(ours.dtype),
                (wanted[:1].sum().to(theirs.dtype)),
            )
            check(ours, theirs)


@pytest.mark.parametrize("dtype", DTYPES)
def test_numbers_written_to_slices_again_and_again(dtype):
    """Each number is its own, zeros have their sign, and calls that were met before refuse what
    the first ones refuse."""
    place = np.array([2, 0])
    i, j = rushlight.from_numpy(place), torch.from_numpy(place)
    for value in (1, 0.0, -0.0, True, 3, 0, 1.0, 2.5, 40_000):
        for _ in range(3):
            ours, theirs, _ = both((4, 5), dtype)
            if dtype != "uint8" or value != 40_000:  # which is too large
                check(ours.index_fill_(1, i, value), theirs.index_fill_(1, j, value))
                ours[:, -i - 1], theirs[:, -j - 1] = value, value
                ours[i], theirs[j] = value, value
            check(ours, theirs)
            signs = [t.double().signbit().numpy() for t in (ours, theirs)]
            assert np.array_equal(*signs)
    with pytest.raises(IndexError, match="out of"):
        ours.index_fill_(1, i + 3, 1)
    check(ours, theirs)
    if dtype == "int64":
        same = rushlight.tensor([1, 0, 2])
        for _ in range(3):
            assert same.index_fill_(0, same, 1).tolist() == [1, 1, 1]
            same.copy_(rushlight.tensor([1, 0, 2]))


@pytest.mark.parametrize("way", ["index_copy_", "index_add_"])
def test_slices_out_of_range_write_nothing(way):
    for wrong in (-1, 4):
        x, index = rushlight.zeros(4, 3000), rushlight.tensor([0, wrong])
        with pytest.raises(IndexError, match="out of"):
            getattr(x, way)(0, index, rushlight.ones(2, 3000))
        assert not x.any() and x._version == 0
    x = rushlight.zeros(5, 4)
    with pytest.raises(IndexError, match="out of"):
        x[:, rushlight.tensor([0, 4])] = 1.0
    assert not x.any()


def test_slices_of_the_target_itself_are_read_first():
    x = rushlight.arange(6.0).reshape(3, 2)
    x.index_copy_(0, rushlight.tensor([1, 2, 0]), x)
    assert x.tolist() == [[4.0, 5.0], [0.0, 1.0], [2.0, 3.0]]
    x[:, rushlight.tensor([1, 0])] = x
    assert x.tolist() == [[5.0, 4.0], [1.0, 0.0], [3.0, 2.0]]


def test_slices_at_columns_among_other_indices():
    """Slices with steps, masks, missing trailing dimensions: one tensor among slices."""
    at = np.array([0, 2])
    for index in (
        (slice(1, 3), at), (slice(None, None, 2), at), (at, slice(1, None)),
        (slice(None), slice(0, 3), np.array([0, -1])), (slice(None), np.array([True, False, True])),
        (slice(None), np.array([[0, 1], [2, 0]])), (slice(None), slice(None), np.array([3])),
    ):  # fmt: skip
        ours, theirs, _ = both((4, 3, 4), "float32")
        mine = tuple(rushlight.from_numpy(i) if type(i) is np.ndarray else i for i in index)
        right = tuple(torch.from_numpy(i) if type(i) is np.ndarray else i for i in index)
        shape = tuple(theirs[right].shape)
        source, wanted, _ = both(shape, "float32", 3)
        ours[mine], theirs[right] = source, wanted
        check(ours, theirs)
        ours[mine], theirs[right] = 2.5, 2.5
        check(ours, theirs)
    for index in ((slice(None), np.array([3])), (slice(None),) * 3 + (at,),
                  (slice(None), np.array([True, False]))):  # fmt: skip

        def write(library, index=index):
            items = [library.from_numpy(i) if type(i) is np.ndarray else i for i in index]
            library.zeros(4, 3, 4)[tuple(items)] = 1.0

        same_error(write)
