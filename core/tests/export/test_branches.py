"""Programs whose nodes are called with graphs: decomposed, with free sizes, in archives."""

import importlib
import json
import warnings
import zipfile

import pytest

import rushlight
from rushlight import nn
from rushlight.export import Dim, export, load, save
from rushlight.export.serialization import FormatError
from rushlight.fx.experimental.inner_graphs import graphs_within
from rushlight.utils._pytree import tree_leaves


def models(library):
    """Modules of a library, each with a choice or a loop."""
    loops = importlib.import_module(f"{library.__name__}._higher_order_ops")
    while_loop, scan, mapped = loops.while_loop, loops.scan, loops.map

    class Choosing(library.nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = library.nn.Linear(3, 3), library.nn.Linear(3, 3)

        def forward(self, x):
            y = x * 2
            chosen = library.cond(
                x.sum() > 0,
                lambda t: self.a(t) + y + x.shape[0],
                lambda t: self.b(t).reshape(t.shape[0] * 3).reshape(-1, 3).sin() * y.shape[0],
                (x,),
            )
            count = library.zeros((), dtype=library.int64)
            return while_loop(
                lambda i, w: i < 3, lambda i, w: (i + 1, w + y.sum() + y.shape[0]), (count, chosen)
            )

    class Nested(library.nn.Module):
        def forward(self, x):
            def inner(t):
                u = t.clone()
                u.add_(1)
                return library.cond(
                    t.sum() > 3, lambda v: v * x, lambda v: v + x.sum() * x.shape[0], (u,)
                )

            return library.cond(x.sum() > 0, inner, lambda t: -t, (x,))

    class Outside(library.nn.Module):
        def forward(self, x, y):
            return library.cond(x.sum() > 0, lambda t: t * y.shape[0], lambda t: t + 1, (x,))

    class Scanning(library.nn.Module):
        """A recurrent layer over the first dimension, and a loop inside of it."""

        def __init__(self):
            super().__init__()
            self.a = library.nn.Linear(3, 3)

        def forward(self, x):
            def step(carry, part):
                h = (self.a(part) + carry["h"] * x.shape[0]).tanh()
                return {"h": h}, (h * 2, h.sum())

            return scan(step, {"h": library.zeros(3)}, x)

    class Mapping(library.nn.Module):
        def forward(self, x):
            def part(t, y):
                return {"s": t.sum() + y * t.shape[0], "d": t.unsqueeze(0) * y}

            found = mapped(part, x, x.sum())
            return found["s"], found["d"]

    return {
        "choosing": Choosing, "nested": Nested, "outside": Outside, "scanning": Scanning,
        "mapping": Mapping,
    }  # fmt: skip


def inputs(name):
    """Calls of a model: the first is the example, and all have other sizes."""
    rushlight.manual_seed(0)
    scales = (1.0, -1.0, 0.05)
    if name == "outside":
        return [(rushlight.ones(3) * s, rushlight.ones(n, 2)) for n, s in enumerate(scales, 3)]
    return [(rushlight.rand(n, 3) * s,) for n, s in enumerate(scales, 3)]


def shapes(name):
    return ({}, {0: Dim("n")}) if name == "outside" else ({0: Dim("n")},)


def flat(found):
    return tuple(tree_leaves(found))


def check(program, model, name):
    module = program.module()
    for given in inputs(name):
        for ours, wanted in zip(flat(module(*given)), flat(model(*given)), strict=True):
            rushlight.testing.assert_close(ours, wanted)


@pytest.mark.parametrize("name", models(rushlight))
def test_graphs_compute_with_sizes_that_differ(name, tmp_path):
    model = models(rushlight)[name]()
    program = export(model, inputs(name)[0], dynamic_shapes=shapes(name))
    check(program, model, name)
    parts = program.run_decompositions()
    check(parts, model, name)
    calls = [n for graph in graphs_within(parts.graph) for n in graph.nodes]
    assert not any(str(n.target).endswith(("linear.default", "add_.Tensor")) for n in calls)
    for each in (program, parts):
        save(each, tmp_path / "program.pt2")
        check(load(tmp_path / "program.pt2"), model, name)


@pytest.mark.parametrize("name", models(rushlight))
def test_pytorch_reads_what_is_written_and_the_other_way(name, tmp_path):
    torch = pytest.importorskip("torch")
    model, theirs = models(rushlight)[name](), models(torch)[name]()
    theirs.load_state_dict({k: torch.tensor(v.tolist()) for k, v in model.state_dict().items()})
    ours = export(model, inputs(name)[0], dynamic_shapes=shapes(name))
    given = tuple(torch.tensor(t.tolist()) for t in inputs(name)[0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        save(ours.run_decompositions(), tmp_path / "ours.pt2")
        read = torch.export.load(tmp_path / "ours.pt2")
        read.run_decompositions()
        dims = tuple({k: torch.export.Dim("n") for k in each} for each in shapes(name))
        program = torch.export.export(theirs, given, dynamic_shapes=dims)
        torch.export.save(program, tmp_path / "theirs.pt2")
    check(load(tmp_path / "theirs.pt2"), model, name)
    check(load(tmp_path / "theirs.pt2").run_decompositions(), model, name)
    for given in inputs(name):
        found = read.module()(*(torch.tensor(t.tolist()) for t in given))
        for one, wanted in zip(flat(found), flat(model(*given)), strict=True):
            rushlight.testing.assert_close(
                rushlight.tensor(one.tolist()), wanted, check_dtype=False
            )


def test_a_function_that_writes_outside_cannot_be_decomposed():
    class Writing(nn.Module):
        def forward(self, x):
            return rushlight.cond(x.sum() > 0, lambda t: t.add_(1), lambda t: t - 1, (x,))

    program = export(Writing(), (rushlight.ones(2),))
    with pytest.raises(NotImplementedError, match="writes to a tensor that it is given"):
        program.run_decompositions()


def test_a_number_read_outside_is_refused_inside():
    class Reading(nn.Module):
        def forward(self, x):
            count = x.sum().int().item()
            return rushlight.cond(x.sum() > 0, lambda t: t * count, lambda t: t - 1, (x,))

    with pytest.raises(RuntimeError, match="give it the tensor"):
        export(Reading(), (rushlight.ones(2),))


def broken(change, tmp_path):
    """An archive of a choice whose call `change` has changed."""
    model = models(rushlight)["nested"]()
    save(export(model, inputs("nested")[0]), tmp_path / "good.pt2")
    with zipfile.ZipFile(tmp_path / "good.pt2") as good:
        with zipfile.ZipFile(tmp_path / "bad.pt2", "w") as bad:
            for entry in good.namelist():
                content = good.read(entry)
                if entry.endswith("models/model.json"):
                    found = json.loads(content)
                    nodes = found["graph_module"]["graph"]["nodes"]
                    change(next(n for n in nodes if n["target"].endswith("cond")))
                    content = json.dumps(found)
                bad.writestr(entry, content)
    return tmp_path / "bad.pt2"


def drop_input(call):
    call["inputs"][3]["arg"]["as_tensors"] = []


def swap(call):
    call["inputs"].reverse()


def rename(call):
    call["inputs"][2]["arg"]["as_graph"]["name"] = "true_graph_0"


def code_as_name(call):
    call["inputs"][2]["arg"]["as_graph"]["name"] = "x; import os"


def one_tensor(call):
    call["is_hop_single_tensor_return"] = True


def deep(call):
    """Graphs inside of graphs, each the branch of the one around it."""
    inner = call["inputs"][2]["arg"]["as_graph"]["graph"]
    taken = inner["inputs"][0]
    for _ in range(40):
        outer = json.loads(json.dumps(call))
        outer["inputs"][0]["arg"] = taken
        outer["inputs"][2]["arg"]["as_graph"]["graph"] = inner
        inner = {**inner, "nodes": [outer]}
    call["inputs"][2]["arg"]["as_graph"]["graph"] = inner


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (drop_input, "a graph takes 1 values, and is given 0"),
        (swap, "arguments are"),
        (rename, "two graphs have the name 'true_graph_0'"),
        (code_as_name, "graph"),
        (one_tensor, "gives a tensor instead of a list"),
        (deep, "graphs inside of each other"),
    ],
)
def test_damaged_calls_are_refused(change, text, tmp_path):
    with pytest.raises(FormatError, match=text):
        load(broken(change, tmp_path))
