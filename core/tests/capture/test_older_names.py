"""Names by which programs compiled before `compile`."""

import pytest

import rushlight
from rushlight import _dynamo


def doubled(x):
    return x.relu() * 2


def broken(x):
    y = x + 1
    _dynamo.graph_break()
    return y * 2


def test_functions_and_modules_are_compiled():
    calls = []

    def backend(graph_module, inputs):
        calls.append(len(graph_module.graph.nodes))
        return graph_module.forward

    x = rushlight.tensor([-1.0, 3.0])
    assert _dynamo.optimize(backend)(doubled)(x).tolist() == [0.0, 6.0]
    assert _dynamo.optimize(backend, disable=True)(doubled)(x).tolist() == [0.0, 6.0]
    module = _dynamo.optimize(backend)(rushlight.nn.ReLU())
    assert module(x).tolist() == [0.0, 3.0] and isinstance(module, _dynamo.OptimizedModule)
    assert calls == [4, 3]


def test_one_graph_is_asked_for():
    x = rushlight.tensor([1.0])
    assert _dynamo.optimize("eager")(broken)(x).tolist() == [4.0]
    for decorate in (_dynamo.optimize_assert("eager"), _dynamo.optimize("eager", nopython=True)):
        with pytest.raises(_dynamo.exc.Unsupported):
            decorate(broken)(x)


def test_graphs_as_text_of_logs():
    module = rushlight.fx.symbolic_trace(doubled)
    assert "TRACED GRAPH" in str(_dynamo.utils.lazy_format_graph_code("mine", module))
