"""Names of a graph stand in code that runs: what is no name is refused."""

import pytest

import rushlight
from rushlight import fx, nn

CODE = "q=__import__('os').abort(), r"


def module(make):
    graph = fx.Graph()
    graph.output(make(graph, graph.placeholder("x")))
    return fx.GraphModule(nn.Module(), graph)


HOSTILE = {
    "keyword": lambda g, x: g.call_function(rushlight.relu, (x,), {CODE: 1}),
    "method": lambda g, x: g.call_method("neg() or __import__('os').abort", (x,)),
    "input": lambda g, x: g.placeholder(f"y={CODE}"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_code_for_a_name_is_refused(name):
    with pytest.raises(ValueError, match="expected an identifier"):
        module(HOSTILE[name])


@pytest.mark.parametrize("name", ['a") or ("', "a\\", "0", "a b", "a\n1"])
def test_odd_names_of_modules_are_quoted(name):
    root = nn.Module()
    root.add_module(name, nn.ReLU())
    graph = fx.Graph()
    graph.output(graph.call_module(name, (graph.placeholder("x"),)))
    found = fx.GraphModule(root, graph)(rushlight.tensor([-1.0, 2.0]))
    assert found.tolist() == [0.0, 2.0]
