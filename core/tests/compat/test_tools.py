"""Nested structures, samplers of several processes, downloads, processes, timing, hooks."""

import collections
import hashlib
import sys
from pathlib import Path

import pytest

import rushlight
from rushlight import multiprocessing
from rushlight.utils import _pytree, benchmark
from rushlight.utils.data import DistributedSampler

sys.path.insert(0, str(Path(__file__).parent))
import started_processes  # noqa: E402 - beside this file

Point = collections.namedtuple("Point", "x y")


# ------------------------------------------------------------------------------------- structures
TREES = [
    {"b": [1, (2, None)], "a": 3},
    Point(1, [2, Point(3, 4)]),
    collections.OrderedDict(z=1, a=(2,)),
    collections.defaultdict(list, k=[1]),
    collections.deque([1, 2], maxlen=3),
    5,
    [],
]


@pytest.mark.parametrize("tree", TREES, ids=[type(t).__name__ for t in TREES])
def test_structures_come_back(tree):
    leaves, spec = _pytree.tree_flatten(tree)
    assert spec.num_leaves == len(leaves)
    back = _pytree.tree_unflatten(leaves, spec)
    assert back == tree and type(back) is type(tree)
    real = pytest.importorskip("torch")
    assert leaves == real.utils._pytree.tree_flatten(tree)[0]


def test_maps_over_structures():
    tree = {"x": (1, 2), "y": [3]}
    assert _pytree.tree_map(lambda a, b: a + b, tree, tree) == {"x": (2, 4), "y": [6]}
    assert _pytree.tree_map_only(int, str, {"a": 1, "b": 2.0}) == {"a": "1", "b": 2.0}
    assert _pytree.tree_all(lambda a: a > 0, tree) and not _pytree.tree_any(lambda a: a > 3, tree)
    stopped = _pytree.tree_leaves(tree, is_leaf=lambda t: isinstance(t, tuple))
    assert stopped == [(1, 2), 3]
    with pytest.raises(ValueError, match="structures differ"):
        _pytree.tree_map(lambda a, b: a, tree, {"x": (1, 2), "z": [3]})
    with pytest.raises(ValueError, match="has length 1"):
        _pytree.tree_unflatten([1], _pytree.tree_structure((1, 2)))


def test_registered_classes_are_looked_into():
    class Box:
        def __init__(self, value):
            self.value = value

    _pytree.register_pytree_node(Box, lambda b: ([b.value], None), lambda v, _: Box(*v))
    assert _pytree.tree_map(lambda v: v + 1, [Box(1)])[0].value == 2
    with pytest.raises(ValueError, match="already registered"):
        _pytree.register_pytree_node(Box, None, None)


# --------------------------------------------------------------------------------------- samplers
@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("drop_last", [False, True])
@pytest.mark.parametrize(("count", "replicas"), [(10, 3), (2, 5), (9, 3)])
def test_shares_are_pytorchs(count, replicas, shuffle, drop_last):
    real = pytest.importorskip("torch")
    if drop_last and count < replicas:
        pytest.skip("PyTorch deals nothing out then")
    for rank in range(replicas):
        shares = []
        for kind in (DistributedSampler, real.utils.data.DistributedSampler):
            sampler = kind(range(count), replicas, rank, shuffle, seed=4, drop_last=drop_last)
            sampler.set_epoch(2)
            shares.append((list(sampler), len(sampler)))
        assert shares[0] == shares[1]


def test_a_sampler_needs_to_know_its_place():
    with pytest.raises(ValueError, match="has not been initialized"):
        DistributedSampler([1, 2])
    with pytest.raises(ValueError, match="Invalid rank 2"):
        DistributedSampler([1, 2], num_replicas=2, rank=2)


# -------------------------------------------------------------------------------------- downloads
def test_checkpoints_are_fetched_once_and_checked(tmp_path, capsys):
    source = tmp_path / "source.pt"
    rushlight.save({"w": rushlight.arange(3)}, source)
    digest = hashlib.sha256(source.read_bytes()).hexdigest()
    good, bad = tmp_path / f"m-{digest[:8]}.pt", tmp_path / "m-00000000.pt"
    good.write_bytes(source.read_bytes())
    bad.write_bytes(source.read_bytes())
    cache = tmp_path / "cache"
    load = rushlight.hub.load_state_dict_from_url
    assert load(good.as_uri(), str(cache), check_hash=True)["w"].tolist() == [0, 1, 2]
    assert "Downloading" in capsys.readouterr().err
    good.unlink()
    assert load(good.as_uri(), str(cache))["w"].tolist() == [0, 1, 2]  # from the cache
    with pytest.raises(RuntimeError, match='expected "00000000"'):
        rushlight.utils.model_zoo.load_url(bad.as_uri(), str(cache), check_hash=True)
    assert sorted(p.name for p in cache.iterdir()) == [good.name]


def test_the_cache_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    assert rushlight.hub.get_dir() == str(tmp_path / "hub")
    from rushlight.utils import download

    monkeypatch.setattr(download, "_chosen", [None])
    rushlight.hub.set_dir(tmp_path / "elsewhere")
    assert rushlight.hub.get_dir() == str(tmp_path / "elsewhere")


def test_models_of_local_folders(tmp_path):
    (tmp_path / "hubconf.py").write_text(
        "dependencies = ['torch', 'numpy']\n"
        "def line(width=2):\n"
        "    'A layer.'\n"
        "    import rushlight\n"
        "    return rushlight.nn.Linear(width, 1)\n"
    )
    folder = str(tmp_path)
    assert rushlight.hub.load(folder, "line", 3, source="local").in_features == 3
    assert rushlight.hub.list(folder, source="local") == ["line"]
    assert rushlight.hub.help(folder, "line", source="local") == "A layer."
    with pytest.raises(RuntimeError, match="Cannot find callable curve"):
        rushlight.hub.load(folder, "curve", source="local")
    with pytest.raises(NotImplementedError, match="source='local'"):
        rushlight.hub.load("someone/models", "line")
    with pytest.raises(ValueError, match="Unknown source"):
        rushlight.hub.load(folder, "line", source="moon")


# -------------------------------------------------------------------------------------- processes
def test_processes_get_their_number_and_send_tensors():
    queue = multiprocessing.get_context("spawn").SimpleQueue()
    numbers = rushlight.arange(20_000.0).view(2, -1)
    context = multiprocessing.spawn(
        started_processes.square, (queue, numbers), nprocs=2, join=False
    )
    found = dict(queue.get() for _ in range(2))
    while not context.join():
        continue
    assert rushlight.equal(rushlight.stack([found[0], found[1]]), numbers**2)
    assert found[0].is_shared()


def test_failures_are_raised_here():
    with pytest.raises(multiprocessing.ProcessRaisedException, match="the second one fails"):
        multiprocessing.start_processes(started_processes.fail, nprocs=2, start_method="fork")
    with pytest.raises(multiprocessing.ProcessExitedException, match="exit code 3") as caught:
        multiprocessing.start_processes(started_processes.leave, start_method="fork")
    assert (caught.value.error_index, caught.value.exit_code) == (0, 3)


def test_tensors_with_history_stay_where_they_are():
    from multiprocessing.reduction import ForkingPickler

    x = rushlight.ones(5000, requires_grad=True)
    with pytest.raises(RuntimeError, match="detach"):
        ForkingPickler.dumps(x * 2)
    for value in (x.detach(), x, rushlight.nn.Parameter(rushlight.ones(5000)), rushlight.ones(2)):
        back = ForkingPickler.loads(ForkingPickler.dumps(value))
        assert type(back) is type(value) and back.requires_grad == value.requires_grad
        assert rushlight.equal(back, value)


def test_sharing_strategies_are_named():
    before = multiprocessing.get_sharing_strategy()
    assert before in multiprocessing.get_all_sharing_strategies()
    multiprocessing.set_sharing_strategy("file_descriptor")
    assert multiprocessing.get_sharing_strategy() == "file_descriptor"
    multiprocessing.set_sharing_strategy(before)
    with pytest.raises(AssertionError, match="'pigeon'"):
        multiprocessing.set_sharing_strategy("pigeon")


# ----------------------------------------------------------------------------------- timing, hooks
def test_timers_measure():
    timer = benchmark.Timer("x + x", globals={"x": rushlight.ones(4)}, label="add")
    found = timer.timeit(20)
    assert found.number_per_run == 20 and len(found.raw_times) == 1 and found.median > 0
    blocks = timer.blocked_autorange(min_run_time=0.002)
    assert sum(blocks.raw_times) >= 0.002 and blocks.mean > 0 and "add" in repr(blocks)
    with pytest.raises(NotImplementedError, match=r"language='c\+\+'"):
        benchmark.Timer("1;", language="c++")
    with pytest.raises(NotImplementedError, match="Measurements"):
        benchmark.Compare([found])


def test_handles_remove_hooks():
    from rushlight.utils.hooks import RemovableHandle

    hooks = collections.OrderedDict()
    with RemovableHandle(hooks) as handle:
        hooks[handle.id] = print
        assert len(hooks) == 1
    assert not hooks
    given = rushlight.ones(1, requires_grad=True).register_hook(print)
    assert isinstance(given, RemovableHandle)
    layer = rushlight.nn.ReLU().register_forward_hook(lambda *args: None)
    assert isinstance(layer, RemovableHandle)


def test_other_paths_lead_to_the_same_things():
    from rushlight.utils.data.dataloader import DataLoader, default_collate

    assert DataLoader is rushlight.utils.data.DataLoader
    assert rushlight.utils.data._utils.collate.default_collate is default_collate
    assert rushlight.nn.parameter.UninitializedParameter is not None
    assert rushlight.torch is rushlight
    assert rushlight._C._nn._parse_to("cpu", rushlight.float64)[1] is rushlight.float64
    back = rushlight.utils.dlpack.from_dlpack(rushlight.arange(3))
    assert back.tolist() == [0, 1, 2]
