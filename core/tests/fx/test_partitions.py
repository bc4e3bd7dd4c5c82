"""Pipelines of passes, and parts of graphs that become modules, beside PyTorch's."""

import importlib
import random
import sys
from pathlib import Path

import pytest

import rushlight

torch = pytest.importorskip("torch")
sys.path.insert(0, str(Path(__file__).parent))

from graph_agreement import same_graphs, same_values  # noqa: E402
from programs import models  # noqa: E402

LIBRARIES = (rushlight, torch)


def of(library, name):
    """A submodule of a library's fx."""
    return importlib.import_module(f"{library.__name__}.fx.{name}")


def random_graph(library, seed):
    """A module of random calls, some of which a backend takes, and these names."""
    choose = random.Random(seed)
    graph = library.fx.Graph()
    values = [graph.placeholder("x"), graph.placeholder("y")]
    taken = set()
    for _ in range(18):
        kind = choose.choice(["add", "relu", "sum", "item", "split"])
        if kind == "add":
            made = graph.call_function(library.add, tuple(choose.choices(values, k=2)))
        elif kind == "item":
            pair = graph.call_function(library.chunk, (choose.choice(values), 1))
            made = graph.call_function(importlib.import_module("operator").getitem, (pair, 0))
            if choose.random() < 0.6:
                taken.add(pair.name)
        elif kind == "sum":
            made = graph.call_method("neg", (choose.choice(values),))
        elif kind == "split":
            made = graph.call_function(library.abs, (choose.choice(values),))
        else:
            made = graph.call_function(library.relu, (choose.choice(values),))
        values.append(made)
        if choose.random() < 0.7:
            taken.add(made.name)
    graph.output(tuple(node for node in values if not node.users) or values[-1])
    return library.fx.GraphModule(library.nn.Module(), graph), taken


def partitioner(library, module, taken, **options):
    support = of(library, "passes.operator_support").create_op_support(
        lambda modules, node: node.name in taken
    )
    return of(library, "passes.infra.partitioner").CapabilityBasedPartitioner(
        module, support, **options
    )


OPTIONS = [{}, {"allows_single_node_partition": True}, {"skip_horizontal_fusion": True}]


@pytest.mark.parametrize("options", OPTIONS, ids=lambda o: "-".join(o) or "usual")
def test_random_graphs_have_pytorchs_parts(options):
    parts = 0
    for seed in range(60):
        found = []
        for library in LIBRARIES:
            module, taken = random_graph(library, seed)
            worker = partitioner(library, module, taken, **options)
            proposed = worker.propose_partitions()
            names = [sorted(node.name for node in part.nodes) for part in proposed]
            found.append((sorted(names), worker, proposed, module))
        (ours, *_), (theirs, *_) = found
        assert ours == theirs, seed
        parts += len(ours)
        x, y = rushlight.randn(4, 3), rushlight.randn(4, 3)
        before = random_graph(rushlight, seed)[0](x, y)
        _, worker, proposed, _ = found[0]
        fused = worker.fuse_partitions(proposed)
        assert {n for n, _ in fused.named_children()} == {
            f"fused_{i}" for i in range(len(proposed))
        }
        same_values(fused(x, y), before, 0)
    assert parts > 60


@pytest.mark.parametrize("name", ["ResNet", "MobileNet", "Encoder"])
def test_fused_models_are_pytorchs(name):
    fused = []
    for library in LIBRARIES:
        model = models(library)[name][0].eval()
        module = library.fx.symbolic_trace(model)
        names = [n.name for n in module.graph.nodes if n.op.startswith("call")]
        taken = {n for i, n in enumerate(names) if i % 5}
        worker = partitioner(library, module, taken, allows_single_node_partition=True)
        proposed = sorted(
            worker.propose_partitions(), key=lambda part: min(n.name for n in part.nodes)
        )
        fused.append(worker.fuse_partitions(proposed, prefix="part_"))
    ours, theirs = fused
    same_graphs(theirs.graph, ours.graph)
    names = [n for n, _ in theirs.named_children() if n.startswith("part_")]
    assert names
    for each in names:
        same_graphs(getattr(theirs, each).graph, getattr(ours, each).graph)
        assert type(getattr(ours, each)).__name__ == each


def in_a_row(library):
    return library.fx.symbolic_trace(lambda x: library.relu(library.abs(x)).neg())


def test_functions_of_other_names_count_not():
    for library in LIBRARIES:
        module = in_a_row(library)
        name = f"{library.__name__}.abs"
        taken = {"relu", "abs_1", "neg"}
        few = partitioner(library, module, taken, non_compute_ops=[name])
        assert few.propose_partitions() == []
        alone = partitioner(
            library,
            module,
            {"relu"},
            allowed_single_node_partition_ops=[f"{library.__name__}.relu"],
        )
        (part,) = alone.propose_partitions()
        assert [n.name for n in part.nodes] == ["relu"] and part.size() == 1
        whole = partitioner(library, module, taken, non_compute_ops=[name],
                            allows_single_node_partition=True)  # fmt: skip
        proposed = whole.propose_partitions()
        whole.remove_bookend_non_compute_ops(proposed)
        assert [n.name for n in proposed[0].nodes] == ["relu", "neg"]


def diamond(library):
    module = library.fx.symbolic_trace(lambda x: library.relu(x) + library.abs(x).neg())
    return module, {node.name: node for node in module.graph.nodes}


def test_parts_of_a_graph():
    for library in LIBRARIES:
        utils = of(library, "passes.utils.fuser_utils")
        module, nodes = diamond(library)
        several = [nodes[n] for n in ("add", "neg", "abs_1")]
        assert [n.name for n in utils.topo_sort(several)] == ["abs_1", "neg", "add"]
        assert utils.validate_partition([nodes["abs_1"], nodes["neg"]])
        assert not utils.validate_partition([nodes["abs_1"], nodes["add"]])
        with pytest.raises(AssertionError, match="dependency cycles"):
            utils.fuse_as_graphmodule(module, [nodes["abs_1"], nodes["add"]], "part")
        part, inputs, outputs = utils.fuse_as_graphmodule(
            module, [nodes["abs_1"], nodes["neg"]], "part", always_return_tuple=True
        )
        assert [n.name for n in (*inputs, *outputs)] == ["x", "neg"]
        utils.insert_subgm(module, part, inputs, outputs)
        utils.erase_nodes(module, [nodes["abs_1"], nodes["neg"]])
        module.graph.lint()
        module.recompile()
        assert [n.name for n in module.graph.nodes] == (
            ["x", "relu", "part", "getitem", "add", "output"]
        )
        assert module(library.tensor([-1.0, 3.0])).tolist() == [-1.0, 0.0]


@pytest.mark.parametrize("module", ["passes.utils.common", "passes.utils"])
def test_graphs_as_modules(module):
    for library in LIBRARIES:
        common = of(library, module)
        traced = library.fx.symbolic_trace(models(library)["MobileNet"][0].eval())
        again = library.fx.symbolic_trace(models(library)["MobileNet"][0].eval())
        assert common.compare_graphs(traced.graph, again.graph)
        lifted, names = common.lift_subgraph_as_module(traced, traced.graph, "inner", "Lifted")
        assert type(lifted).__name__ == "Lifted"
        assert names and all(v == f"inner.{k}" for k, v in names.items())
        x = library.randn(2, 3, 8, 8)
        assert bool((lifted(x) == traced(x)).all())
        next(n for n in again.graph.nodes if n.op == "call_function").target = library.mul
        assert not common.compare_graphs(traced.graph, again.graph)
        held = common.HolderModule({"a": library.nn.ReLU()})
        assert [n for n, _ in held.named_children()] == ["a"]


# --------------------------------------------------------------------------------------- pipelines
def passes(library, log):
    """Passes of several forms that note that they ran."""

    def first(module):
        log.append("first")

    def second(module):
        log.append("second")
        return module

    def third(module):
        log.append("third")
        return of(library, "passes.infra.pass_base").PassResult(module, False)

    def broken(module):
        raise ValueError("broken")

    return first, second, third, broken


def outcome(function):
    """What a call gives, or the text of its error and its cause."""
    try:
        found = function()
    except Exception as error:
        return type(error).__name__, str(error).split(" at 0x")[0], type(error.__cause__).__name__
    return tuple(found)[1:] if found is not None else None


def told(library):
    """What pipelines do in a number of cases."""
    log: list = []
    first, second, third, broken = passes(library, log)
    managers = of(library, "passes.infra.pass_manager")
    manager, wrapped = managers.PassManager, managers.pass_result_wrapper
    before = managers.this_before_that_pass_constraint
    module = library.fx.symbolic_trace(lambda x: x.relu())
    one, two = wrapped(first), wrapped(second)
    yield wrapped(None), one.__name__
    for several in ([], [one], [third], [two, third], [first], [one, broken], [second]):
        yield outcome(lambda several=several: manager(several)(module))
    ordered = manager([first, second, third], [before(third, first)])
    yield outcome(ordered.validate_constraints)
    ordered.solve_constraints()
    yield [each.__name__ for each in ordered.passes]
    yield outcome(manager([first, second], [before(first, second), before(second, first)]).__call__)
    circle = manager([one], [])
    circle.add_pass(two)
    circle.add_constraint(before(two, one))
    yield outcome(lambda: circle(module)), log[-2:]
    yield outcome(lambda: circle.add_checks(lambda: None))
    circle.add_checks(lambda module: log.append("checked"))
    log.clear()
    circle(module)
    yield list(log)
    log.clear()
    often = manager([one, two], run_checks_after_each_pass=True)
    often.add_checks(lambda module: log.append("checked"))
    often(module)
    yield list(log)
    left = [3]

    def settling(module):
        left[0] -= 1
        return of(library, "passes.infra.pass_base").PassResult(module, left[0] > 0)

    yield outcome(lambda: manager([settling], steps=10)(module)), left


def test_pipelines_are_pytorchs():
    assert list(told(rushlight)) == list(told(torch))


def asking(library, seen):
    """A pass that notes what is called."""
    base = of(library, "passes.infra.pass_base")

    class Counted(base.PassBase):
        def requires(self, graph_module):
            seen.append("requires")

        def call(self, graph_module):
            seen.append("call")
            return base.PassResult(graph_module, True)

        def ensures(self, graph_module):
            seen.append("ensures")

    return Counted, base.PassBase


def test_a_pass_asks_before_and_behind():
    for library in LIBRARIES:
        seen: list = []
        counted, base = asking(library, seen)
        module = library.fx.symbolic_trace(lambda x: x.relu())
        assert tuple(counted()(module)) == (module, True)
        assert seen == ["requires", "call", "ensures"]
        with pytest.raises(TypeError, match="abstract"):
            base()
