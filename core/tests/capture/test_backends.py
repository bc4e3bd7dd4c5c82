"""Backends of one's own get graphs of programs, and what they return runs instead."""

from __future__ import annotations

import copy
import pickle

import pytest

import rushlight
from rushlight import _dynamo, fx, nn
from rushlight._dynamo.backends import registry
from rushlight.overrides import TorchFunctionMode


class Noting:
    """A backend that keeps what it gets, and runs the graph."""

    def __init__(self):
        self.graphs, self.examples, self.keywords = [], [], []

    def __call__(self, graph_module, example_inputs, **keywords):
        self.graphs.append(graph_module)
        self.examples.append(example_inputs)
        self.keywords.append(keywords)
        return graph_module.forward


@pytest.fixture
def noting():
    return Noting()


@pytest.fixture
def x():
    rushlight.manual_seed(0)
    return rushlight.randn(2, 3)


def model():
    rushlight.manual_seed(1)
    return nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))


def test_a_backend_gets_a_graph_module_and_the_tensors_it_reads(noting, x):
    net = model()
    compiled = rushlight.compile(net, backend=noting)
    for _ in range(3):
        rushlight.testing.assert_close(compiled(x), net(x), rtol=0, atol=0)
    ((graph,), (examples,)) = noting.graphs, noting.examples
    assert isinstance(graph, fx.GraphModule) and not list(graph.parameters())
    first, bias, *rest = net.parameters()
    assert [id(e) for e in examples] == [id(t) for t in (first, bias, x, *rest)]
    kinds = [node.op for node in graph.graph.nodes]
    assert kinds == ["placeholder"] * 5 + ["call_function"] * 3 + ["output"]
    shapes = [tuple(n.meta["example_value"].shape) for n in graph.graph.nodes if n.op != "output"]
    assert shapes == [(4, 3), (4,), (2, 3), (2, 4), (2,), (2, 4), (2, 4), (2, 2)]
    graph.graph.lint()
    assert "linear" in graph.code and noting.keywords == [{}]


def test_training(noting, x):
    net, twin = model(), model()
    compiled = rushlight.compile(net, backend=noting)
    optimizers = [rushlight.optim.SGD(m.parameters(), 0.1) for m in (net, twin)]
    for _ in range(4):
        for run, optimizer in zip((compiled, twin), optimizers, strict=True):
            optimizer.zero_grad()
            run(x).square().sum().backward()
            optimizer.step()
    for a, b in zip(net.parameters(), twin.parameters(), strict=True):
        rushlight.testing.assert_close(a, b, rtol=1e-6, atol=1e-6)
    assert len(noting.graphs) == 1
    given = x.clone().requires_grad_()
    compiled(given).sum().backward()
    assert given.grad is not None and len(noting.graphs) == 2


def test_what_asks_for_gradients_is_guarded(noting, x):
    net = model()
    compiled = rushlight.compile(net, backend=noting)
    assert compiled(x).requires_grad
    net.requires_grad_(False)
    assert not compiled(x).requires_grad
    with rushlight.no_grad():
        assert not compiled(x).requires_grad
    assert len(noting.graphs) == 3


def test_guards(noting, x):
    net = model()
    compiled = rushlight.compile(net, backend=noting)
    compiled(x)
    net[1] = nn.Tanh()
    rushlight.testing.assert_close(compiled(x), net(x))
    rushlight.testing.assert_close(compiled(x[:1]), net(x[:1]))
    assert len(noting.graphs) == 3


def test_results_of_any_structure(noting, x):
    other = rushlight.ones(3)

    def program(x, k, more):
        total = x * k + more["z"]
        return {"a": total, "b": [x.sin(), 3, total], "c": other}, x, (None, x.max(0).indices)

    compiled = rushlight.compile(program, backend=noting)
    for k in (2, 3):
        given = x, k, {"z": rushlight.ones(3)}
        found, expected = compiled(*given), program(*given)
        assert found[1] is x and found[0]["c"] is other and found[0]["a"] is found[0]["b"][2]
        pairs = zip(*map(rushlight.utils._pytree.tree_leaves, (found, expected)), strict=True)
        for a, b in pairs:
            assert rushlight.equal(a, b) if isinstance(a, rushlight.Tensor) else a == b
    assert [len(graph.graph.find_nodes(op="placeholder")) for graph in noting.graphs] == [2, 2]


def test_inputs_that_a_program_writes_to(noting, x):
    compiled = rushlight.compile(lambda x: x.add_(1) * 2, backend=noting)
    with rushlight.no_grad():
        given, expected = x.clone(), x + 1
        for _ in range(2):
            rushlight.testing.assert_close(compiled(given), expected * 2)
            rushlight.testing.assert_close(given, expected)
            expected = expected + 1


def test_programs_without_calls(noting, x):
    assert rushlight.compile(lambda x: (x, 1), backend=noting)(x)[0] is x
    assert not noting.graphs


def test_a_backend_rewrites_a_graph(x):
    def backend(graph_module, example_inputs):
        for node in graph_module.graph.nodes:
            if node.target is rushlight.relu:
                node.target = rushlight.sigmoid
        graph_module.recompile()
        return graph_module

    with rushlight.no_grad():
        found = rushlight.compile(lambda x: x.relu() * 2, backend=backend)(x)
    rushlight.testing.assert_close(found, x.sigmoid() * 2)


def changes_sign(x):
    return x + 1 if x.sum() > 0 else x - 1


def test_breaks_are_told_once_and_run_as_they_are(noting, x):
    calls = 0

    def program(x):
        nonlocal calls
        calls += 1
        return x + 1 if x.sum() > 0 else x - 1

    compiled = rushlight.compile(program, backend=noting)
    with pytest.warns(UserWarning, match=r"without the backend .*nonlocal") as told:
        for each in (x, -x, x[0]):
            rushlight.testing.assert_close(compiled(each), program(each))
    assert not noting.graphs and len(told) == 1
    with pytest.raises(_dynamo.exc.Unsupported, match=r"if x\.sum\(\) > 0"):
        rushlight.compile(changes_sign, fullgraph=True, backend="eager")(x)


def test_modes_and_options_are_passed_on(noting, x):
    rushlight.compile(lambda x: x + 1, backend=noting, options={"level": 3})(x)
    rushlight.compile(lambda x: x + 1, backend=noting, mode="max-autotune")(x)
    rushlight.compile(lambda x: x + 1, backend=noting, mode="default")(x)
    assert noting.keywords == [{"options": {"level": 3}}, {"mode": "max-autotune"}, {}]
    with pytest.raises(RuntimeError, match="not both"):
        rushlight.compile(lambda x: x, backend=noting, options={}, mode="default")


@pytest.mark.parametrize("backend, message", [
    (lambda graph, inputs: graph.nothing, "AttributeError"),
    (lambda graph, inputs: 3, "it returned a int, not a function"),
])  # fmt: skip
def test_backends_that_fail(backend, message, x):
    with pytest.raises(_dynamo.exc.BackendCompilerFailed, match=message):
        rushlight.compile(lambda x: x + 1, backend=backend)(x)


@pytest.mark.parametrize("result", [lambda x: x, lambda x: (x, x), lambda x: None])
def test_compiled_functions_give_tuples(result, x):
    compiled = rushlight.compile(lambda x: x + 1, backend=lambda graph, inputs: result)
    with pytest.raises(RuntimeError, match="must give a tuple of 1 tensors, got"):
        compiled(x)


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_named_backends(backend, x):
    net = model()
    compiled = rushlight.compile(net, backend=backend, fullgraph=True)
    assert type(compiled) is _dynamo.OptimizedModule
    rushlight.testing.assert_close(compiled(x), net(x), rtol=0, atol=0)
    again = pickle.loads(pickle.dumps(compiled))
    rushlight.testing.assert_close(again(x), net(x), rtol=0, atol=0)
    copy.deepcopy(net).compile(backend=backend)


def test_the_ordinary_backend_is_one(x):
    def backend(graph_module, example_inputs):
        assert [type(e) for e in example_inputs] == [rushlight.Tensor]
        return _dynamo.lookup_backend("inductor")(graph_module, example_inputs)

    with rushlight.no_grad():
        found = rushlight.compile(lambda x: x.exp() * 2, backend=backend)(x)
    rushlight.testing.assert_close(found, x.exp() * 2)


def test_registering(monkeypatch, noting, x):
    monkeypatch.setattr(registry, "_backends", dict(registry._backends))

    @_dynamo.register_backend
    def first(graph_module, example_inputs):
        return noting(graph_module, example_inputs)

    @_dynamo.register_backend(name="second", tags=("debug", "mine"))
    def other(graph_module, example_inputs):
        return noting(graph_module, example_inputs)

    assert _dynamo.list_backends() == ["first", "inductor"]
    assert _dynamo.list_backends(["debug"]) == ["first", "inductor"]
    assert _dynamo.list_backends(None) == ["aot_eager", "eager", "first", "inductor", "second"]
    assert _dynamo.lookup_backend("second") is other and _dynamo.lookup_backend(first) is first
    for name in ("first", "second"):
        rushlight.compile(lambda x: x + 1, backend=name)(x)
    assert len(noting.graphs) == 2
    with pytest.raises(AssertionError, match="name 'first'"):
        _dynamo.register_backend(other, "first")
    with pytest.raises(TypeError, match="must be callable, got int"):
        _dynamo.register_backend(3)
    with pytest.raises(_dynamo.exc.InvalidBackend, match=r"\['aot_eager', .*got 'nope'"):
        rushlight.compile(lambda x: x, backend="nope")
    with pytest.raises(RuntimeError, match="a text or a function, got int"):
        rushlight.compile(lambda x: x, backend=3)


class Watching(TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


def test_reset_and_watchers(noting, x):
    compiled = rushlight.compile(lambda x: x + 1, backend=noting)
    compiled(x), compiled(x)
    _dynamo.reset()
    compiled(x)
    assert len(noting.graphs) == 2
    with Watching():
        compiled(x[0])
    assert len(noting.graphs) == 2


def test_examples_are_pytorchs():
    """The inputs of both libraries' graphs: order, shapes, and who asks for gradients."""
    torch = pytest.importorskip("torch")

    def seen_by(library):
        found = []

        def backend(graph_module, example_inputs):
            calls = [n for n in graph_module.graph.nodes if n.op.startswith("call")]
            inputs = [(type(e).__name__, tuple(e.shape), e.requires_grad) for e in example_inputs]
            found.append((inputs, len(calls), len(graph_module.graph.find_nodes(op="output"))))
            return graph_module.forward

        layers = library.nn.Linear(3, 4), library.nn.Tanh(), library.nn.Linear(4, 2)
        library.compile(library.nn.Sequential(*layers), backend=backend)(library.ones(5, 3))
        library.compile(lambda x, more: (x * 2 + more["y"], x.sin()), backend=backend)(
            library.ones(5, 3), {"y": library.ones(3), "z": library.ones(7)}
        )
        return found

    assert seen_by(rushlight) == seen_by(torch)
