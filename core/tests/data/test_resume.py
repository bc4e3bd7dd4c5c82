"""A pass that goes on in its middle: the remaining batches, bit for bit."""

import io
import random

import numpy as np
import pytest

import rushlight
from rushlight.utils import data

WORKERS = [{}, {"num_workers": 2}, {"num_workers": 2, "persistent_workers": True}]


class Noisy(data.Dataset):
    """Samples with random numbers from all three generators."""

    def __len__(self):
        return 23

    def __getitem__(self, index):
        return index, rushlight.rand(3), random.random(), np.random.rand(2)


class Stream(data.IterableDataset):
    """Seven samples, in the second worker fourteen."""

    def __iter__(self):
        info = data.get_worker_info()
        number = 0 if info is None else info.id
        for j in range(7 * (1 + number)):
            yield 1000 * number + j, rushlight.rand(2)


class StatefulStream(data.IterableDataset):
    """A stream that can tell where it stands, and counts what it is asked for."""

    def __init__(self):
        self.place = self.asked = 0

    def __iter__(self):
        while self.place < 12:
            self.place += 1
            self.asked += 1
            yield self.place, self.asked
        self.place = 0

    def state_dict(self):
        return {"place": self.place}

    def load_state_dict(self, state):
        self.place = state["place"]


class StatefulSampler(data.Sampler):
    def __init__(self, count):
        self.count, self.place, self.order = count, 0, None

    def __len__(self):
        return self.count

    def __iter__(self):
        if self.order is None:
            self.order = rushlight.randperm(self.count).tolist()
        while self.place < self.count:
            self.place += 1
            yield self.order[self.place - 1]
        self.place, self.order = 0, None

    def state_dict(self):
        return {"place": self.place, "order": self.order}

    def load_state_dict(self, state):
        self.place, self.order = state["place"], state["order"]


def own_generator():
    generator = rushlight.Generator()
    generator.manual_seed(3)
    return generator


LOADERS = {
    "shuffled": lambda **o: data.DataLoader(Noisy(), 4, shuffle=True, **o),
    "generator": lambda **o: data.DataLoader(Noisy(), 4, True, generator=own_generator(), **o),
    "unbatched": lambda **o: data.DataLoader(Noisy(), None, **o),
    "weighted": lambda **o: data.DataLoader(
        Noisy(), 4, sampler=data.WeightedRandomSampler([0.1] * 23, 30), **o
    ),
    "drawn": lambda **o: data.DataLoader(
        Noisy(), 4, sampler=data.RandomSampler(range(23), True, 70), **o
    ),
    "stateful sampler": lambda **o: data.DataLoader(Noisy(), 4, sampler=StatefulSampler(23), **o),
    "stream": lambda **o: data.DataLoader(Stream(), 3, **o),
}


def seed(number):
    rushlight.manual_seed(number)
    random.seed(number)
    np.random.seed(number)


def plain(batch):
    if isinstance(batch, (list, tuple)):
        return [plain(each) for each in batch]
    return batch.tolist() if hasattr(batch, "tolist") else batch


def rest(batches, loader):
    """What is left of a pass, and the next one, with random numbers drawn between batches."""
    found = []
    for each in (batches, loader):
        for batch in each:
            found.append((plain(batch), rushlight.rand(1).item()))
    return found


@pytest.mark.parametrize("options", WORKERS, ids=["here", "workers", "persistent"])
@pytest.mark.parametrize("name", LOADERS)
def test_the_remaining_batches_are_the_same(name, options):
    for stop, passes in ((0, 0), (2, 0), (3, 1)):
        seed(4)
        loader = LOADERS[name](**options)
        for _ in range(passes):
            list(loader)
        batches = iter(loader)
        for _ in range(stop):
            next(batches)
            rushlight.rand(1)
        file = io.BytesIO()
        rushlight.save(loader.state_dict(), file)
        expected = rest(batches, loader)
        del batches, loader

        seed(99)
        file.seek(0)
        again = LOADERS[name](**options)
        again.load_state_dict(rushlight.load(file))
        assert rest(iter(again), again) == expected


@pytest.mark.parametrize("workers", [0, 1])
def test_a_stateful_stream_is_not_read_again(workers):
    loader = data.DataLoader(StatefulStream(), 2, num_workers=workers)
    batches = iter(loader)
    next(batches), next(batches)
    state = loader.state_dict()
    again = data.DataLoader(StatefulStream(), 2, num_workers=workers)
    again.load_state_dict(state)
    found = [plain(batch) for batch in again]
    assert [b[0] for b in found] == [[5, 6], [7, 8], [9, 10], [11, 12]]
    assert found[0][1] == [1, 2]  # the first four were not asked for


def test_the_state_survives_its_iterator():
    loader = data.DataLoader(range(10), 2, num_workers=2)
    for number, _ in enumerate(loader):
        if number == 1:
            break
    again = data.DataLoader(range(10), 2, num_workers=2)
    again.load_state_dict(loader.state_dict())
    assert [plain(b) for b in again] == [[4, 5], [6, 7], [8, 9]]
    assert len(list(again)) == 5


def test_a_finished_pass_is_followed_by_the_next_one():
    seed(1)
    loader = LOADERS["generator"]()
    list(loader)
    state = loader.state_dict()
    assert state["_iterator_finished"] and state["_num_yielded"] == 6
    expected = [plain(b) for b in loader]
    seed(2)
    again = LOADERS["generator"]()
    again.load_state_dict(state)
    assert [plain(b) for b in again] == expected


def test_batches_that_came_early_are_not_given_twice():
    loader = data.DataLoader(Uneven(), 1, num_workers=2, in_order=False)
    batches = iter(loader)
    first = [next(batches).item() for _ in range(4)]
    state = loader.state_dict()
    again = data.DataLoader(Uneven(), 1, num_workers=2, in_order=False)
    again.load_state_dict(state)
    assert sorted(first + [b.item() for b in again]) == list(range(12))
    assert 0 not in first  # it takes longest


class Uneven(data.Dataset):
    def __len__(self):
        return 12

    def __getitem__(self, index):
        import time

        time.sleep(0.5 if index == 0 else 0.01)
        return index


def test_states_of_other_loaders_are_refused():
    state = data.DataLoader(range(10), 2).state_dict()
    with pytest.raises(ValueError, match="num_workers=0, this one has num_workers=2"):
        data.DataLoader(range(10), 2, num_workers=2).load_state_dict(state)
    with pytest.raises(ValueError, match="expected what state_dict"):
        data.DataLoader(range(10)).load_state_dict({"place": 3})
    loader = data.DataLoader(range(10), 2)
    batches = iter(loader)
    for _ in range(4):
        next(batches)
    short = data.DataLoader(range(4), 2)
    short.load_state_dict(loader.state_dict())
    with pytest.raises(RuntimeError, match="the sampler ends after 2 batches, the state was writ"):
        iter(short)
