"""Datasets, samplers and the loader: PyTorch's order and seeds, workers, faults."""

import glob
import os

import numpy as np
import pytest

import rushlight
from rushlight.utils import data


class Squares(data.Dataset):
    def __init__(self, count=37, size=2):
        self.count, self.size = count, size

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        noise = rushlight.rand(2)
        return rushlight.full((self.size, self.size), float(index)), index, {"noise": noise}


class Stream(data.IterableDataset):
    def __iter__(self):
        info = data.get_worker_info()
        start = 0 if info is None else 100 * info.id
        return iter(range(start, start + 5))


class Broken(Squares):
    def __getitem__(self, index):
        if index == 3:
            raise ValueError("sample 3 is broken")
        return index


class Dying(Squares):
    def __getitem__(self, index):
        if index == 3:
            os._exit(1)
        return index


def shared_blocks():
    return set(glob.glob("/dev/shm/psm_*"))


def numbers(loader):
    return [batch[1].tolist() for batch in loader]


@pytest.mark.parametrize("workers", [0, 2])
def test_order_and_random_numbers_follow_torch(workers):
    torch = pytest.importorskip("torch")
    import torch.utils.data as theirs

    class TorchSquares(theirs.Dataset):
        __len__ = Squares.__len__

        def __init__(self):
            self.count, self.size = 37, 2

        def __getitem__(self, index):
            return torch.full((2, 2), float(index)), index, {"noise": torch.rand(2)}

    rushlight.manual_seed(3)
    torch.manual_seed(3)
    options = {"batch_size": 8, "shuffle": True}
    ours = data.DataLoader(
        Squares(), **options, num_workers=workers, persistent_workers=workers > 0
    )
    # In this process only the order can be compared with torch's workers: their seeds are the same.
    for library_loader in (theirs.DataLoader(TorchSquares(), **options),):
        expected = [(b[1].tolist(), b[2]["noise"].numpy()) for b in library_loader]
    found = [(b[1].tolist(), b[2]["noise"].numpy()) for b in ours]
    assert [f[0] for f in found] == [e[0] for e in expected]
    if not workers:
        for (_, a), (_, b) in zip(found, expected, strict=True):
            np.testing.assert_array_equal(a, b)


def test_workers_give_what_one_process_gives():
    for drop_last in (False, True):
        expected = numbers(data.DataLoader(Squares(), 5, drop_last=drop_last))
        loader = data.DataLoader(Squares(size=64), 5, drop_last=drop_last, num_workers=2)
        before = shared_blocks()
        assert numbers(loader) == expected and len(loader) == len(expected)
        assert shared_blocks() <= before


@pytest.mark.parametrize("context", ["fork", "spawn", "forkserver"])
def test_every_start_method(context):
    labels = rushlight.arange(8)
    images = labels.float().reshape(8, 1, 1).expand(8, 64, 64).contiguous()
    dataset = data.TensorDataset(images, labels)
    loader = data.DataLoader(dataset, 4, num_workers=1, multiprocessing_context=context)
    batches = list(loader)
    assert [b[1].tolist() for b in batches] == [[0, 1, 2, 3], [4, 5, 6, 7]]
    assert batches[1][0][2].mean() == 6.0


def test_batches_from_shared_memory_are_ordinary_tensors():
    (images, labels, _), *_ = data.DataLoader(Squares(8, 64), 8, num_workers=1)
    images.add_(1)
    kept = images[3]
    del images
    assert kept.sum() == 4.0 * 64 * 64 and labels.dtype is rushlight.int64


def test_iterable_datasets_are_split_by_the_user():
    assert [b.tolist() for b in data.DataLoader(Stream(), 2)] == [[0, 1], [2, 3], [4]]
    found = [b.tolist() for b in data.DataLoader(Stream(), 2, num_workers=2)]
    assert sorted(v for b in found for v in b) == [0, 1, 2, 3, 4, 100, 101, 102, 103, 104]
    assert [b.tolist() for b in data.DataLoader(Stream(), 2, drop_last=True)] == [[0, 1], [2, 3]]


def test_errors_in_workers_come_back_with_their_traceback():
    with pytest.raises(
        ValueError, match="Caught ValueError in DataLoader worker process(.|\n)*sample 3"
    ):
        list(data.DataLoader(Broken(), 2, num_workers=1))
    with pytest.raises(RuntimeError, match="exited unexpectedly"):
        list(data.DataLoader(Dying(), 2, num_workers=1))


def test_an_abandoned_pass_leaves_nothing_behind():
    before = shared_blocks()
    loader = data.DataLoader(Squares(40, 64), 4, num_workers=2, persistent_workers=True)
    for batch in loader:
        del batch
        break
    assert numbers(loader)[0] == [0, 1, 2, 3]
    del loader
    assert shared_blocks() <= before


def test_worker_information_and_initialisation():
    assert data.get_worker_info() is None
    seen = data.DataLoader(Informed(), 1, num_workers=2, worker_init_fn=remember)
    assert [b.tolist() for b in seen] == [[[0, 2, 7]], [[1, 2, 7]]]


def remember(worker):
    data.get_worker_info().dataset.mark = 7


class Informed(data.Dataset):
    mark = 0

    def __len__(self):
        return 2

    def __getitem__(self, index):
        info = data.get_worker_info()
        return rushlight.tensor([info.id, info.num_workers, info.dataset.mark])


@pytest.mark.parametrize(
    "make",
    [
        lambda d: list(d.RandomSampler(range(10))),
        lambda d: list(d.RandomSampler(range(40_000))),  # by the compiled shuffle
        lambda d: list(d.RandomSampler(range(10), replacement=True, num_samples=40)),
        lambda d: list(d.RandomSampler(range(10), num_samples=25)),
        lambda d: list(d.SubsetRandomSampler([3, 5, 8])),
        lambda d: list(d.WeightedRandomSampler([0.1, 0.9, 0.3], 6)),
        lambda d: list(d.WeightedRandomSampler([0.1, 0.9, 0.3], 2, replacement=False)),
        lambda d: list(d.BatchSampler(d.SequentialSampler(range(7)), 3, False)),
        lambda d: [s.indices for s in d.random_split(range(10), [3, 7])],
        lambda d: [s.indices for s in d.random_split(range(10), [0.25, 0.75])],
    ],
)
def test_samplers_follow_torch(make):
    torch = pytest.importorskip("torch")
    import torch.utils.data as theirs

    rushlight.manual_seed(2)
    torch.manual_seed(2)
    assert make(data) == make(theirs)


def test_collation():
    batch = [(1, 2.5, "a", np.ones(2), {"k": True}), (3, 4.5, "b", np.zeros(2), {"k": False})]
    ints, floats, texts, arrays, named = data.default_collate(batch)
    assert ints.dtype is rushlight.int64 and floats.dtype is rushlight.float64
    assert texts == ("a", "b") and arrays.shape == (2, 2) and named["k"].tolist() == [True, False]
    with pytest.raises(
        RuntimeError, match=r"got \[2\] at entry 0 and \[3\] at entry 1: give samples one shape"
    ):
        data.default_collate([rushlight.ones(2), rushlight.ones(3)])
    with pytest.raises(TypeError, match="batch must contain tensors"):
        data.default_collate([object()])


def test_combinations_of_datasets():
    joined = Squares(3) + Squares(4)
    assert len(joined) == 7 and joined[3][1] == 0 and joined[-1][1] == 3
    stacked = data.StackDataset(a=range(3), b=range(3, 6))
    assert stacked[1] == {"a": 1, "b": 4}
    part = data.Subset(Squares(10), [4, 2])
    assert numbers(data.DataLoader(part, 2)) == [[4, 2]]
    rows = data.TensorDataset(rushlight.arange(4), rushlight.arange(4.0))
    assert [b[0].tolist() for b in data.DataLoader(rows, 3)] == [[0, 1, 2], [3]]
    assert [b[0].tolist() for b in data.DataLoader(rows, batch_size=None)] == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"num_workers": -1}, "num_workers option should be non-negative"),
        ({"shuffle": True, "sampler": [0]}, "mutually exclusive with shuffle"),
        ({"batch_size": 0}, "batch_size should be a positive integer"),
        ({"prefetch_factor": 2}, "could only be specified in multiprocessing"),
        ({"batch_sampler": [[0]], "batch_size": 2}, "batch_sampler option is mutually exclusive"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(ValueError, match=message):
        data.DataLoader(Squares(), **options)


def test_missing_pipes_refuse_and_say_what_to_use():
    with pytest.raises(NotImplementedError, match="derive from Dataset or IterableDataset"):

        class Pipe(data.DFIterDataPipe):
            """Cannot be made."""

    assert not hasattr(data, "no_such_name")
