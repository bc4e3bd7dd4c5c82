"""Batches, orders and seeds under one program that both libraries run, and collating."""

import collections
import subprocess
import sys
import types
from pathlib import Path

import numpy as np
import pytest

import rushlight
from rushlight.utils import data

PROGRAM = Path(__file__).with_name("loading_program.py")


def output(library):
    done = subprocess.run(
        [sys.executable, PROGRAM, library], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    return dict(line.split(" [", 1) for line in done.stdout.splitlines() if " [" in line)


def test_loaders_give_what_torch_gives():
    pytest.importorskip("torch")
    ours, theirs = output("rushlight"), output("torch")
    assert list(ours) == list(theirs) and len(ours) >= 24
    for case, found in ours.items():
        assert found == theirs[case], case


Point = collections.namedtuple("Point", "x y")


class Counts(dict):
    """A mapping type of one's own."""


class Row(list):
    """A sequence type of one's own."""


def batches(library):
    """Lists of samples of every kind."""
    tensor = library.tensor
    return {
        "tensors": [tensor([1.0, 2.0]), tensor([3.0, 4.0])],
        "numbers": [1, 2],
        "booleans": [True, False],
        "floats": [1.5, 2.5],
        "mixed": [1, 2.5],
        "numpy numbers": [np.float32(1), np.float32(2)],
        "numpy integers": [np.int8(1), np.int8(2)],
        "numpy booleans": [np.bool_(True), np.bool_(False)],
        "arrays": [np.ones((2, 1), np.int16)] * 2,
        "strings": ["a", "b"],
        "bytes": [b"a", b"b"],
        "numpy strings": [np.str_("a"), np.str_("b")],
        "named tuples": [Point(1, "a"), Point(2, "b")],
        "mappings": [Counts(a=1), Counts(a=2)],
        "ordered": [collections.OrderedDict(a=1.0)] * 2,
        "defaults": [collections.defaultdict(int, a=1)] * 2,
        "proxies": [types.MappingProxyType({"a": 1})] * 2,
        "rows": [Row([1, "a"]), Row([2, "b"])],
        "ranges": [range(2), range(2)],
        "nested": [{"a": (1, [np.ones(2)])}, {"a": (2, [np.zeros(2)])}],
        "empty": [[], []],
    }


def described(value):
    """Types, dtypes and values, alike for both libraries."""
    if hasattr(value, "dtype") and hasattr(value, "is_floating_point"):
        return "tensor", str(value.dtype).rpartition(".")[2], value.tolist()
    if isinstance(value, collections.abc.Mapping):
        return type(value).__name__, {k: described(value[k]) for k in value}
    if isinstance(value, (list, tuple)):
        return type(value).__name__, [described(each) for each in value]
    return type(value).__name__, value


@pytest.mark.parametrize("kind", batches(rushlight))
def test_collating_and_converting_follow_torch(kind):
    torch = pytest.importorskip("torch")
    import torch.utils.data as theirs

    for name in ("default_collate", "default_convert"):
        found = getattr(data, name)(batches(rushlight)[kind])
        expected = getattr(theirs, name)(batches(torch)[kind])
        assert described(found) == described(expected)


@pytest.mark.parametrize(
    ("samples", "error", "message"),
    [
        ([None, None], TypeError, "found <class 'NoneType'>"),
        ([1j, 2j], TypeError, "found <class 'complex'>"),
        ([np.array(["a"])] * 2, TypeError, "found <U1"),
        ([[1], [1, 2]], RuntimeError, r"should be of equal size; found lengths \[1, 2\]"),
        ([np.ones(2), np.ones(3)], RuntimeError, r"got \[2\] at entry 0 and \[3\] at entry 1"),
        ([], IndexError, "list index out of range"),
    ],
)
def test_what_cannot_be_collated(samples, error, message):
    with pytest.raises(error, match=message):
        data.default_collate(samples)


class Box:
    """A type that collating knows nothing of."""

    def __init__(self, value):
        self.value = value


def collate_boxes(batch, *, collate_fn_map=None):
    return Box([box.value for box in batch])


def test_types_of_ones_own_can_be_collated():
    from rushlight.utils.data._utils.collate import collate, default_collate_fn_map

    table = {**default_collate_fn_map, Box: collate_boxes}
    boxes, numbers = collate([(Box(1), 1), (Box(2), 2)], collate_fn_map=table)
    assert boxes.value == [1, 2] and numbers.tolist() == [1, 2]


# ---------------------------------------------------------------------------- gathering in memory
class OneByOne(data.Dataset):
    """The rows of a dataset, without the way to gather them."""

    def __init__(self, dataset):
        self.dataset = dataset

    def __len__(self):
        return len(self.dataset)

    def __getitem__(self, index):
        return self.dataset[index]


def same(first, second):
    pairs = zip(first, second, strict=True)
    return all(
        a.dtype is b.dtype and a.shape == b.shape and (a == b).all()
        for x, y in pairs
        for a, b in zip(x, y, strict=True)
    )


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "bool", "int64"])
@pytest.mark.parametrize("workers", [0, 1])
def test_gathered_batches_are_those_of_single_rows(dtype, workers):
    rows = (rushlight.arange(60).reshape(20, 3) % 2).to(getattr(rushlight, dtype))
    whole = data.TensorDataset(rows, rushlight.arange(20), rows.t().contiguous().t())
    part = data.Subset(data.Subset(whole, rushlight.arange(3, 17)), [5, 0, 13, 2, 2])
    for dataset in (whole, part):
        found = data.DataLoader(dataset, 3, num_workers=workers)
        assert same(found, data.DataLoader(OneByOne(dataset), 3))


def test_rows_are_gathered_only_where_that_is_the_same():
    tensors = rushlight.arange(6.0).reshape(3, 2)
    gather = data._utils.fetch._rows_of(data.TensorDataset(tensors))
    assert gather([2, 0])[0].tolist() == [[4.0, 5.0], [0.0, 1.0]]
    for odd in ([-1], [3], [0.5], ["a"], [[0, 1]], [slice(2)], [True], []):
        assert gather(odd) is None
    learned = data.TensorDataset(tensors.clone().requires_grad_())
    assert next(iter(data.DataLoader(learned, 2)))[0].requires_grad
    loader = data.DataLoader(data.TensorDataset(tensors), 2, sampler=[-1, 1])
    assert [b[0].tolist() for b in loader] == [[[4.0, 5.0], [2.0, 3.0]]]
    with pytest.raises(IndexError):
        list(data.DataLoader(data.TensorDataset(tensors), 2, sampler=[7]))
    assert data._utils.fetch._rows_of(OneByOne(range(3))) is None


class Fetched(data.Dataset):
    """Counts how often a whole batch is asked for."""

    asked = 0

    def __len__(self):
        return 10

    def __getitem__(self, index):
        raise AssertionError("one by one")

    def __getitems__(self, indices):
        self.asked += 1
        return [(i, -i) for i in indices]


def test_datasets_that_give_whole_batches_are_asked_for_them():
    dataset = Fetched()
    batches = list(data.DataLoader(dataset, 4))
    assert [b[1].tolist() for b in batches] == [[0, -1, -2, -3], [-4, -5, -6, -7], [-8, -9]]
    assert dataset.asked == 3
    stacked = data.StackDataset(a=dataset, b=range(10))
    first = next(iter(data.DataLoader(stacked, 2)))
    assert first["a"][1].tolist() == [0, -1] and first["b"].tolist() == [0, 1]


# ------------------------------------------------------------------------- what travels, and how
def odd_batch():
    image = rushlight.arange(2 * 3 * 40 * 50).reshape(2, 40, 50, 3).permute(0, 3, 1, 2)
    return {
        "channels last": image.float(),
        "many": [rushlight.full((5000,), i) for i in range(450)],
        "array": np.arange(50_000).reshape(100, 500).T,
        "text": "x" * 200_000,
        "low": rushlight.ones(16_384, dtype=rushlight.bfloat16),
        "shared": rushlight.arange(10).share_memory_(),
        "leaf": rushlight.nn.Parameter(rushlight.ones(3)),
        "empty": rushlight.empty(0, 3),
        "scalar": rushlight.tensor(2.5),
        "point": Point(rushlight.ones(2), None),
    }


class Odd(data.Dataset):
    def __len__(self):
        return 3

    def __getitem__(self, index):
        return odd_batch()


@pytest.mark.parametrize("context", ["fork", "spawn"])
def test_batches_of_any_make_arrive_whole(context):
    loader = data.DataLoader(Odd(), None, num_workers=1, multiprocessing_context=context)
    expected = odd_batch()
    for found in loader:
        assert found["channels last"].stride() == expected["channels last"].stride()
        assert (found["channels last"] == expected["channels last"]).all()
        assert [t[0].item() for t in found["many"]] == list(range(450))
        assert (np.asarray(found["array"]) == expected["array"]).all()
        assert found["text"] == expected["text"] and found["low"].sum() == 16_384
        assert found["shared"].tolist() == list(range(10))
        assert type(found["leaf"]) is rushlight.nn.Parameter and found["leaf"].requires_grad
        assert found["empty"].shape == (0, 3) and found["scalar"].item() == 2.5
        assert found["point"].x.tolist() == [1.0, 1.0] and found["point"].y is None
        found["low"][0] = 5  # arrived memory can be written to


def test_long_lists_of_indices_and_answers_do_not_block():
    loader = data.DataLoader(range(400_000), 100_000, num_workers=2, collate_fn=tuple)
    assert sum(len(batch) for batch in loader) == 400_000
