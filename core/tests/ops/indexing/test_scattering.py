"""Index tensors and masks: what the generated tests cannot say."""

import numpy as np
import pytest

import rushlight
from rushlight.autograd.gradcheck import gradcheck, gradgradcheck
from rushlight.testing.oracle import assert_same

torch = pytest.importorskip("torch")


def test_scatter_multiplies():
    x, index = np.arange(1.0, 7).reshape(2, 3), np.array([[0, 0, 1]])
    for reduce in ("add", "multiply"):
        theirs = torch.from_numpy(x.copy()).scatter_(0, torch.from_numpy(index), 3.0, reduce=reduce)
        ours = rushlight.from_numpy(x.copy())
        assert ours.scatter_(0, rushlight.from_numpy(index), 3.0, reduce=reduce) is ours
        assert_same(ours, theirs)
    with pytest.raises(RuntimeError, match="add or multiply"):
        ours.scatter(0, rushlight.from_numpy(index), 3.0, reduce="max")


@pytest.mark.parametrize("include_self", [True, False])
def test_product_with_zeros_is_differentiated_exactly(include_self):
    x = rushlight.tensor([[2.0, 0.0, 3.0]], dtype=rushlight.float64, requires_grad=True)
    src = rushlight.tensor([[0.0, 4.0, 0.0]], dtype=rushlight.float64, requires_grad=True)
    index = rushlight.tensor([[0, 0, 2]])

    def call(x, src):
        return x.scatter_reduce(1, index, src, "prod", include_self=include_self)

    gradcheck(call, (x, src))
    gradgradcheck(call, (x, src))


def test_integer_mean_rounds_down():
    x, i, src = np.array([-3, 5]), np.array([0, 0]), np.array([0, -4])
    ours = rushlight.from_numpy(x).scatter_reduce(
        0, rushlight.from_numpy(i), rushlight.from_numpy(src), "mean"
    )
    theirs = torch.from_numpy(x).scatter_reduce(
        0, torch.from_numpy(i), torch.from_numpy(src), "mean"
    )
    assert_same(ours, theirs)


def test_in_place_forms_record():
    base = rushlight.tensor([1.0, 2.0, 3.0], requires_grad=True)
    src = rushlight.tensor([4.0, 5.0], requires_grad=True)
    x = base * 2
    x.masked_scatter_(rushlight.tensor([True, False, True]), src)
    x.put_(rushlight.tensor([-2]), rushlight.tensor([7.0]), True)
    (x * x).sum().backward()
    assert base.grad.tolist() == [0.0, 44.0, 0.0] and src.grad.tolist() == [8.0, 10.0]


def test_fill_with_a_tensor_that_needs_a_gradient():
    value = rushlight.tensor(2.0, requires_grad=True)
    x = rushlight.zeros(4) * 1.0
    x.masked_fill_(rushlight.tensor([True, False, True, False]), value)
    x.index_fill_(0, rushlight.tensor([3]), value)
    x.sum().backward()
    assert value.grad == 3.0 and x.tolist() == [2.0, 0.0, 2.0, 2.0]


def test_unravelled_places():
    places = np.array([[0, 5], [11, 7]])
    assert_same(
        rushlight.unravel_index(rushlight.from_numpy(places), (3, 4)),
        torch.unravel_index(torch.from_numpy(places), (3, 4)),
    )
    with pytest.raises(ValueError, match="negative"):
        rushlight.unravel_index(rushlight.from_numpy(places), (-3, 4))


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda x, i: x.gather(0, i + 9), RuntimeError, "out of bounds"),
        (lambda x, i: x.gather(0, i.float()), RuntimeError, "int64"),
        (lambda x, i: x.scatter_add(0, i, x.double()), RuntimeError, "equal to src.dtype"),
        (lambda x, i: x.index_select(0, i + 9), IndexError, "out of bounds"),
        (lambda x, i: x.index_select(0, i.reshape(1, -1)), IndexError, "vector"),
        (lambda x, i: x.index_add(0, i, x[:1]), RuntimeError, "Number of indices"),
        (lambda x, i: x.take(i + 9), IndexError, "out of range"),
        (lambda x, i: x.masked_fill(i, 0), RuntimeError, "boolean"),
        (lambda x, i: x.masked_fill(x > 0, 1j), RuntimeError, "overflow"),
        (lambda x, i: x.masked_scatter(x > 0, x[:1]), RuntimeError, "3 true elements"),
        (lambda x, i: x.put(i, x[:1]), IndexError, "same number of elements"),
        (lambda x, i: x.scatter_reduce(0, i, x, "max"), RuntimeError, "reduce argument"),
    ],
)
def test_refusals(call, error, words):
    with pytest.raises(error, match=words):
        call(rushlight.tensor([1.0, 2.0, 3.0]), rushlight.tensor([0, 1]))


@pytest.mark.parametrize("accumulate", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "int8", "bool", "complex64"])
def test_put_at_places_from_both_ends(dtype, accumulate):
    def run(library):
        kind = getattr(library, dtype)
        x = library.arange(12).reshape(3, 4).to(kind)
        index = library.tensor([[-1, 0, 5], [-12, 5, 3]])
        source = library.tensor([1, 0, 3, 4, 5, 6]).to(kind)
        results = [library.Tensor.put(x, index, source, accumulate) for _ in range(3)]
        results.append(x.t().put(index, source, accumulate))
        results.append(x.put_(index, source, accumulate))
        return [r.tolist() for r in results]

    assert run(rushlight) == run(torch)


@pytest.mark.parametrize("place", [-13, 12])
def test_put_refuses_places_outside_however_often(place):
    x = rushlight.zeros(3, 4)
    index = rushlight.tensor([0, place])
    for _ in range(3):
        with pytest.raises(IndexError, match=f"tried to access index {place} on a tensor of 12"):
            x.put_(index, rushlight.ones(2))
    assert x.sum().item() == 0.0


@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("reduce", ["sum", "prod", "mean", "amax", "amin"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
@pytest.mark.parametrize("dim", [0, 1])
def test_reductions_of_many_values_are_pytorchs(reduce, include_self, dtype, dim):
    torch = pytest.importorskip("torch")
    draw = np.random.default_rng(len(reduce))
    input, src = draw.integers(-9, 9, (7, 11)) / 4, draw.integers(-9, 9, (7, 11)) / 4
    if dtype != "int64":
        src[2, 3], src[4, 5], input[1, 1], input[0, 0] = np.nan, np.inf, np.nan, -np.inf
    index = draw.integers(0, 5, (7, 11))
    results = []
    for library in (rushlight, torch):
        kind = getattr(library, dtype)
        arrays = [library.tensor(v.tolist()).to(kind) for v in (input, src)]
        places = library.tensor(index.tolist())
        found = library.scatter_reduce(
            arrays[0], dim, places, arrays[1], reduce, include_self=include_self
        )
        results.append(np.array(found.tolist()))
    assert np.allclose(*results, rtol=1e-6, atol=0, equal_nan=True)


def test_written_again_and_again_at_one_layout():
    """Machine code knows the layout from the second call on; what is unusual still goes its way."""
    draw = np.random.default_rng(2)
    for _ in range(40):
        target, source = draw.standard_normal((2, 5, 7)).astype(np.float32)
        index = draw.permuted(np.tile(np.arange(7), (5, 1)), axis=1)
        ours, theirs = rushlight.from_numpy(target.copy()), torch.from_numpy(target.copy())
        assert ours.scatter_(1, rushlight.from_numpy(index), rushlight.from_numpy(source)) is ours
        theirs.scatter_(1, torch.from_numpy(index), torch.from_numpy(source))
        assert_same(ours, theirs)
        assert ours._version == 1
    places = rushlight.from_numpy(index)
    want = ours.clone().scatter_(1, places, ours.clone())
    assert ours.scatter_(1, places, ours).tolist() == want.tolist()  # a source that is the target
    leaf = rushlight.ones(5, 7, requires_grad=True)
    rushlight.zeros(5, 7).scatter_(1, places, leaf * 3).sum().backward()
    assert leaf.grad.tolist() == [[3.0] * 7] * 5
    with pytest.raises(RuntimeError, match="leaf Variable"):
        leaf.scatter_(1, places, ours)
    places[4, 6] = 7
    for _ in range(3):
        with pytest.raises(RuntimeError, match="index 7 is out of bounds for dimension 1"):
            ours.scatter_(1, places, want)
    ours._array.flags.writeable = False
    with pytest.raises(RuntimeError, match="read-only"):
        ours.scatter_(1, rushlight.from_numpy(index), want)


@pytest.mark.parametrize("reduce", [None, "add", "multiply"])
def test_an_index_out_of_range_met_by_another_thread(reduce):
    """The count of failures belongs to all threads: what raised it elsewhere changes nothing."""
    from threading import Thread

    stop, index = [], rushlight.tensor([[1, 0, 1], [0, 1, 0]])

    def fail():
        wrong = rushlight.full((2, 3), 9)
        while not stop:
            with pytest.raises(RuntimeError, match="out of bounds"):
                rushlight.zeros(2, 3).scatter_(0, wrong, rushlight.ones(2, 3))

    thread = Thread(target=fail)
    thread.start()
    options = {} if reduce is None else {"reduce": reduce}
    try:
        for _ in range(2000):
            x = rushlight.full((2, 3), 3.0)
            x.scatter_(0, index, rushlight.full((2, 3), 5.0), **options)
            assert x.tolist() == [[{None: 5.0, "add": 8.0, "multiply": 15.0}[reduce]] * 3] * 2
    finally:
        stop.append(True)
        thread.join()


TABLE = np.arange(4 * 3 * 5, dtype=np.float32).reshape(4, 3, 5)
ROWS, COLUMNS = np.array([[3, 0, 3], [1, 3, -1]]), np.array([0, 2, -3])
ADDED_AT = [
    (ROWS,),
    (ROWS, COLUMNS),
    (ROWS, COLUMNS, np.array(4)),
    (slice(None), COLUMNS),
    (slice(None), COLUMNS, np.array([[1], [-1]])),
    (slice(None), slice(None), COLUMNS),
    (COLUMNS, slice(None), COLUMNS),
    (np.array(2),),
    (ROWS, slice(0, 2)),
    (np.zeros((0, 2), np.int64),),
]


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "complex64"])
@pytest.mark.parametrize("index", ADDED_AT)
@pytest.mark.parametrize("whole", [True, False], ids=["whole", "repeated"])
def test_adding_at_index_tensors(index, whole, dtype):
    table = TABLE.astype(dtype)
    shape = table[index].shape
    values = (np.arange(np.prod(shape)) % 7).astype(dtype).reshape(shape)
    values = values if whole else values[..., :1]
    indices = tuple(
        item if isinstance(item, slice) else rushlight.from_numpy(np.asarray(item))
        for item in index
    )
    expected = table.copy()
    np.add.at(expected, index, values)
    ours, added = rushlight.from_numpy(table.copy()), rushlight.from_numpy(values)
    if any(isinstance(item, slice) for item in index):
        leaf = ours.requires_grad_() if dtype.startswith("float") else None
        if leaf is None:
            return
        taken = leaf[indices]
        taken.backward(added.expand(taken.shape))
        expected -= table
        assert np.array_equal(leaf.grad.numpy(), expected)
        return
    assert np.array_equal(ours.index_put(indices, added, accumulate=True).numpy(), expected)
    assert ours.index_put_(indices, added, accumulate=True) is ours
    assert np.array_equal(ours.numpy(), expected)


def test_adding_outside_changes_nothing():
    x = rushlight.zeros(3, 2)
    with pytest.raises(IndexError, match="out of bounds"):
        x.index_put_((rushlight.tensor([0, 3]),), rushlight.ones(2, 2), accumulate=True)
    assert not x.any()


def test_what_is_added_may_share_memory_with_what_it_is_added_to():
    x = np.arange(6.0).reshape(3, 2)
    index = np.array([2, 2, 0])
    expected = x.copy()
    np.add.at(expected, index, x)
    ours = rushlight.from_numpy(x.copy())
    ours.index_put_((rushlight.from_numpy(index),), ours, accumulate=True)
    assert np.array_equal(ours.numpy(), expected)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_low_precision_is_rounded_once(dtype):
    """A sum of 1,000 ones, which stops at 256 or 2,048 where every step is rounded."""
    kind = getattr(rushlight, dtype)
    index, ones = rushlight.zeros(3000, dtype=rushlight.int64), rushlight.ones(3000, 2, dtype=kind)
    start = rushlight.zeros(1, 2, dtype=kind)
    expected = rushlight.full((1, 2), 3000.0).to(kind)
    wide = index[:, None].expand(-1, 2).contiguous()
    for found in (
        start.index_add(0, index, ones),
        start.clone().index_add_(0, index, ones),
        start.scatter_add(0, wide, ones),
        start.clone().scatter_add_(0, wide, ones),
        start.index_put((index,), ones, accumulate=True),
        start.clone().index_put_((index,), ones, accumulate=True),
        start.scatter_reduce(0, wide, ones, "sum"),
    ):
        assert found.dtype is kind
        assert found.equal(expected), found
    table = start.clone().requires_grad_()
    table[index].sum().backward()
    assert table.grad.equal(expected)
