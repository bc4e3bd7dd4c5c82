"""Functions that write to their input (``relu_``), traced as functions; settings of captures."""

import pytest

import rushlight
from rushlight import nn
from rushlight.fx import config, symbolic_trace
from rushlight.fx.experimental.proxy_tensor import make_fx

F = nn.functional
FUNCTIONS = {
    "rushlight.relu_": rushlight.relu_, "rushlight.sigmoid_": rushlight.sigmoid_,
    "rushlight.sqrt_": rushlight.sqrt_, "rushlight.zero_": rushlight.zero_,
    "rushlight.selu_": rushlight.selu_, "rushlight.nn.functional.elu_": F.elu_,
    "rushlight.nn.functional.leaky_relu_": F.leaky_relu_, "gates.rrelu_": F.rrelu_,
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_are_no_methods(name):
    function = FUNCTIONS[name]
    module = symbolic_trace(lambda x: function(x) + 1)
    node = list(module.graph.nodes)[1]
    assert node.op == "call_function"
    assert f"{name}(x" in module.code
    x = rushlight.tensor([0.25, 4.0, -1.0])
    wanted = (function(x.clone()) + 1).tolist()
    given = x.clone()
    found = module(given)
    assert found.tolist() == pytest.approx(wanted, nan_ok=True)
    assert (given + 1).tolist() == pytest.approx(wanted, nan_ok=True)  # it is written to


def test_methods_are_methods():
    module = symbolic_trace(lambda x: x.relu_().zero_())
    assert [(n.op, n.target) for n in module.graph.nodes][1:3] == [
        ("call_method", "relu_"), ("call_method", "zero_"),
    ]  # fmt: skip


def test_other_arguments_are_passed_on():
    module = symbolic_trace(lambda x: rushlight.clamp_(x, -0.5, max=0.5))
    assert module(rushlight.tensor([-2.0, 0.25, 2.0])).tolist() == [-0.5, 0.25, 0.5]


def test_subclasses_are_asked_about_functions():
    seen = []

    class Asked(rushlight.Tensor):
        @classmethod
        def __torch_function__(cls, function, types, args=(), kwargs=None):
            seen.append(function.__name__)
            return super().__torch_function__(function, types, args, kwargs or {})

    x = rushlight.ones(2).as_subclass(Asked)
    rushlight.zero_(x)
    assert seen[0] == "zero_" and x.as_subclass(rushlight.Tensor).tolist() == [0.0, 0.0]


def test_nodes_may_do_without_lines(monkeypatch):
    assert (config.disable_progress, config.verbose_progress) == (True, False)

    def lines():
        nodes = make_fx(lambda x: x.sin())(rushlight.ones(2)).graph.nodes
        return [n.stack_trace for n in nodes if n.op == "call_function"]

    assert "x.sin()" in lines()[0]
    monkeypatch.setattr(config, "do_not_emit_stack_traces", True)
    assert lines() == [None]
