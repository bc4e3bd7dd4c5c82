"""Running graphs node by node, and turning them into others."""

import operator
import sys
from pathlib import Path

import pytest

import rushlight
from rushlight import fx

torch = pytest.importorskip("torch")
sys.path.insert(0, str(Path(__file__).parent))

from graph_agreement import rows, same_graphs, same_values  # noqa: E402


def program(library):
    def run(x, y=2.0):
        z = library.relu(x).neg()
        return z + y, [x * z]

    return library.fx.symbolic_trace(run)


def visited(library):
    class Seeing(library.fx.Interpreter):
        def __init__(self, module):
            super().__init__(module)
            self.seen = []

        def run_node(self, n):
            self.seen.append((n.op, n.name, len(self.env)))
            return super().run_node(n)

    interpreter = Seeing(program(library))
    interpreter.run(library.ones(2))
    return interpreter.seen


def test_nodes_are_visited_and_let_go_of_as_in_pytorch():
    assert visited(rushlight) == visited(torch)


def test_values_can_be_kept_and_given():
    module, x = program(rushlight), rushlight.tensor([-1.0, 2.0])
    interpreter = fx.Interpreter(module, garbage_collect_values=False)
    same_values(interpreter.run(x), module(x))
    assert len(interpreter.env) == len(module.graph.nodes)
    relu = next(n for n in module.graph.nodes if n.name == "relu")
    found = fx.Interpreter(module).run(x, initial_env={relu: rushlight.ones(2)})
    same_values(found, (rushlight.ones(2), [-x]))
    arguments = [x]
    same_values(fx.Interpreter(module).boxed_run(arguments), module(x))
    assert not arguments


def test_missing_argument_and_attribute_are_named():
    module = program(rushlight)
    with pytest.raises(RuntimeError, match="parameter x"):
        fx.Interpreter(module).run()
    graph = fx.Graph()
    graph.output(graph.create_node("get_attr", "a.b"))
    bare = rushlight.nn.Module()
    with pytest.raises(RuntimeError, match="nonexistent target a"):
        fx.Interpreter(bare, graph=graph).run()


def transformed(library):
    class Swapping(library.fx.Transformer):
        def call_function(self, target, args, kwargs):
            if target is library.relu:
                return library.tanh(args[0])
            return super().call_function(target, args, kwargs)

        def call_method(self, target, args, kwargs):
            if target == "neg":
                return args[0] * -3
            return super().call_method(target, args, kwargs)

    return Swapping(program(library)).transform()


def test_transformer_makes_the_same_graph():
    ours = transformed(rushlight)
    same_graphs(transformed(torch).graph, ours.graph)
    x = rushlight.tensor([-1.0, 2.0])
    z = rushlight.tanh(x) * -3
    same_values(ours(x), (z + 2.0, [x * z]))


def test_transformer_keeps_modules_and_defaults():
    model = rushlight.nn.Sequential(rushlight.nn.Linear(2, 3), rushlight.nn.ReLU())
    module = fx.Transformer(fx.symbolic_trace(model)).transform()
    assert module.get_submodule("0") is model[0]
    same_values(module(rushlight.ones(1, 2)), model(rushlight.ones(1, 2)))
    assert program(rushlight).graph.find_nodes(op="placeholder")[1].args == (2.0,)


def test_arguments_of_functions_are_plain_lists_and_dicts():
    def kinds(values):
        return type(values), type(values[1])

    graph = fx.Graph()
    x = graph.placeholder("x")
    graph.output(graph.call_function(kinds, ([x, {"a": x}],)))
    module = fx.GraphModule({}, graph)
    assert fx.Interpreter(module).run(1) == (list, dict) == module(1)


def test_graph_built_by_hand_runs():
    graph = fx.Graph()
    x = graph.placeholder("x")
    total = graph.call_function(operator.add, (x, 1))
    graph.output((total, x))
    assert fx.Interpreter(fx.GraphModule({}, graph)).run(2) == (3, 2)
    assert rows(graph)[1] == ("call_function", "add", "add")
