"""Settings of whole graphs of data pipes, and loaders over them, compared with PyTorch's."""

from __future__ import annotations

import importlib
import pickle
import warnings

import pytest

import rushlight

torch = pytest.importorskip("torch")


class Home:
    """Pipes, graphs and loaders of one of the two."""

    def __init__(self, home):
        self.home, path = home, f"{home.__name__}.utils.data."
        self.graph, self.settings, self.inner, iters = (
            importlib.import_module(path + name)
            for name in ("graph", "graph_settings", "datapipes.datapipe", "datapipes.iter")
        )
        self.wrap, self.loader = iters.IterableWrapper, home.utils.data.DataLoader

    def names(self, graph):
        """The classes of a graph's pipes, nested as they are."""
        return {
            type(pipe).__name__.removesuffix("IterDataPipe"): self.names(below)
            for pipe, below in graph.values()
        }

    def caught(self, call):
        """The error's class and message, or the result."""
        try:
            return call()
        except Exception as error:
            return type(error), str(error).replace("IterDataPipe", "")


HOMES = [Home(rushlight), Home(torch)]


def chain(home):
    pipe = home.wrap(range(6)).map(str).zip(home.wrap(range(6)))
    return pipe.shuffle().sharding_filter()


def kinds(home):
    """The kinds of parts by name; PyTorch has them in another file."""
    return type(home.settings.apply_sharding.__defaults__[0])


def same(question):
    ours, theirs = (question(home) for home in HOMES)
    assert ours == theirs
    return ours


def test_a_graph_holds_every_pipe_below():
    assert same(lambda home: home.names(home.graph.traverse_dps(chain(home))))

    def order(home):
        pipes = home.settings.get_all_graph_pipes(home.graph.traverse_dps(chain(home)))
        return [type(pipe).__name__.removesuffix("IterDataPipe") for pipe in pipes]

    assert same(order)[:2] == ["ShardingFilter", "Shuffler"]
    with pytest.raises(RuntimeError, match="Expected `IterDataPipe` or `MapDataPipe`"):
        rushlight.utils.data.graph.traverse_dps([1])


def test_seeds_parts_and_order_are_set_in_the_whole_graph():
    def read(home):
        pipe, settings = chain(home), home.settings
        rng = home.home.Generator().manual_seed(5)
        settings.apply_random_seed(settings.apply_sharding(pipe, 2, 1), rng)
        shuffled = list(pipe)
        settings.apply_shuffle_settings(pipe, shuffle=False)
        return shuffled, list(pipe), home.home.rand(1, generator=rng).item()

    assert len(same(read)[0]) == 3
    twice = "Sharding twice on a single pipeline"
    found = same(
        lambda home: home.caught(
            lambda: home.settings.apply_sharding(chain(home).sharding_filter(), 2, 1)
        )
    )
    assert found[0] is RuntimeError and twice in found[1]


@pytest.mark.parametrize("only", [None, "DISTRIBUTED", "MULTIPROCESSING"])
def test_parts_of_several_kinds_are_parts_of_parts(only):
    def read(home):
        kind, settings = kinds(home), home.settings
        pipe = home.wrap(range(20)).sharding_filter(only and kind[only])
        settings.apply_sharding(pipe, 2, 1, kind.DISTRIBUTED)
        settings.apply_sharding(pipe, 3, 2, kind.MULTIPROCESSING)
        mixed = home.caught(lambda: settings.apply_sharding(pipe, 2, 1))
        return list(pipe), len(pipe), mixed, home.caught(lambda: pipe.apply_sharding(2, 2))

    same(read)


def test_a_pipe_that_does_not_shuffle_gets_a_shuffler():
    def read(home):
        home.home.manual_seed(2)
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            pipe = home.settings.apply_shuffle_settings(home.wrap(range(5)), shuffle=True)
        return list(pipe), [(each.category, str(each.message)[:40]) for each in found]

    assert same(read)[1]


@pytest.mark.filterwarnings("ignore:`shuffle=True` was set")
@pytest.mark.parametrize(
    "more",
    [
        {"shuffle": True}, {"shuffle": False}, {"num_workers": 2},
        {"num_workers": 1, "shuffle": True}, {"num_workers": 2, "persistent_workers": True},
    ],
)  # fmt: skip
def test_loaders_shuffle_alike_and_part_pipes_among_workers(more):
    def read(home):
        home.home.manual_seed(3)
        pipe = home.wrap(range(10)).shuffle().sharding_filter()
        loader = home.loader(pipe, batch_size=None, **more)
        passes = [[int(item) for item in loader] for _ in range(2)]
        return passes, home.home.rand(1).item()

    passes, _ = same(read)
    assert all(sorted(each) == list(range(10)) for each in passes)


def test_workers_call_their_own_function_after_they_have_their_part():
    pipe = HOMES[0].wrap(range(7)).sharding_filter()
    loader = HOMES[0].loader(pipe, batch_size=None, num_workers=2, worker_init_fn=_second_part)
    assert list(loader) == [1, 1, 3, 3, 5, 5]


def _second_part(number):
    rushlight.utils.data.get_worker_info().dataset.apply_sharding(2, 1)


def test_a_loader_goes_on_in_the_middle_of_a_shuffled_pipe():
    data = rushlight.utils.data
    for workers in (0, 2):
        loader, again = (
            data.DataLoader(
                HOMES[0].wrap(range(12)).shuffle().sharding_filter(), 3, num_workers=workers
            )
            for _ in range(2)
        )
        rushlight.manual_seed(1)
        reading = iter(loader)
        next(reading)
        state, rest = loader.state_dict(), [batch.tolist() for batch in reading]
        again.load_state_dict(state)
        assert [batch.tolist() for batch in again] == rest
        assert len(rest) == 3


def test_pipes_for_workers_can_be_pickled_and_counted():
    def read(home):
        wrapped = home.inner._IterDataPipeSerializationWrapper(home.wrap([1, 2, 3]))
        again = pickle.loads(pickle.dumps(wrapped))
        return list(again), len(again)

    assert same(read) == ([1, 2, 3], 3)
    maps = importlib.import_module("rushlight.utils.data.datapipes.map")
    mapped = HOMES[0].inner._MapDataPipeSerializationWrapper(maps.SequenceWrapper([4, 5]))
    assert (mapped[1], len(mapped)) == (5, 2)


class Rank:
    """A process group of two ranks, of which the first drew the seed 11."""

    def __init__(self, rank):
        self.rank = rank

    def get_world_size(self):
        return 2

    def get_rank(self):
        return self.rank

    def broadcast_object_list(self, sent, src):
        sent[src] = 11


@pytest.mark.parametrize("workers", [0, 2])
def test_ranks_shuffle_alike_and_read_their_parts(workers, monkeypatch):
    passes = importlib.import_module("rushlight.utils.data.pipe_passes")
    parts, whole = [], HOMES[0].wrap(range(10)).shuffle()
    for rank in range(2):
        rushlight.manual_seed(rank)
        monkeypatch.setattr(passes, "_distributed", lambda rank=rank: Rank(rank))
        pipe = HOMES[0].wrap(range(10)).shuffle().sharding_filter()
        loader = HOMES[0].loader(pipe, batch_size=None, num_workers=workers)
        parts.append(list(loader))
    HOMES[0].settings.apply_random_seed(whole, rushlight.Generator().manual_seed(11))
    order = list(whole)
    assert [parts[0][:5], parts[1][:5]] == [order[::2], order[1::2]]
