"""Passes that programs share: calls made once, managers of passes, and who watches them."""

import logging

import pytest

import rushlight
from rushlight import fx
from rushlight.fx.passes.dialect.common.cse_pass import CSEPass, get_CSE_banned_ops
from rushlight.fx.passes.graph_transform_observer import GraphTransformObserver
from rushlight.fx.passes.pass_manager import (
    PassManager,
    inplace_wrapper,
    log_hook,
    loop_pass,
    these_before_those_pass_constraint,
    this_before_that_pass_constraint,
)

aten = rushlight.ops.aten


def names(module):
    return [node.name for node in module.graph.nodes]


# ---------------------------------------------------- calls that are made once
def repeated(x):
    found = x.cos() + x.cos()
    found = found + aten.add.Tensor(x, 1) * aten.add.Tensor(x, 1)
    return found + aten.rand_like.default(x) + aten.rand_like.default(x)


@pytest.mark.parametrize("banned", [None, get_CSE_banned_ops()])
def test_calls_are_made_once_as_in_pytorch(banned):
    module = fx.symbolic_trace(repeated)
    found = CSEPass(banned)(module)
    second = [] if banned is None else ["rand_like_default_1"]
    kept = ["x", "cos", "add", "add_tensor", "mul", "add_1", "rand_like_default", "add_2"]
    assert names(found.graph_module) == [*kept, *second, "add_3", "output"] and found.modified
    assert not CSEPass(banned)(found.graph_module).modified
    assert len(module.graph.nodes) == 13  # which the pass leaves alone
    x = rushlight.randn(3)
    rushlight.manual_seed(0)
    one = found.graph_module(x)
    rushlight.manual_seed(0)
    if banned is None:
        drawn = rushlight.rand_like(x)
        expected = x.cos() * 2 + (x + 1) ** 2 + drawn + drawn
    else:
        expected = module(x)
    rushlight.testing.assert_close(one, expected)


def test_arguments_of_other_types_are_others():
    def function(x):
        return x.add(1), x.add(1.0), x.add(True), x.sum([0]), x.sum([0]), x[:, 1:], x[:, 1:]

    found = CSEPass()(fx.symbolic_trace(function)).graph_module
    assert names(found).count("sum_1") == 1 and "sum_2" not in names(found)
    assert sum(node.target == "add" for node in found.graph.nodes) == 3
    x = rushlight.randn(2, 3)
    for one, other in zip(found(x), function(x), strict=True):
        assert one.dtype is other.dtype and one.tolist() == other.tolist()


def test_calls_of_layers_and_reads_of_parameters():
    class Model(rushlight.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer, self.bias = (
                rushlight.nn.Linear(2, 2),
                rushlight.nn.Parameter(rushlight.ones(2)),
            )

        def forward(self, x):
            return self.layer(x) + self.bias, self.layer(x) + self.bias

    model, x = Model(), rushlight.randn(1, 2)
    found = CSEPass()(fx.symbolic_trace(model)).graph_module
    assert sum(node.op == "call_module" for node in found.graph.nodes) == 1
    rushlight.testing.assert_close(found(x), model(x))
    assert found.layer is model.layer or found.layer.weight is model.layer.weight


def test_what_is_banned():
    banned = get_CSE_banned_ops()
    assert {aten.rand, aten.native_dropout, aten.add_, aten.tanh_} <= banned
    assert aten.add not in banned


# ---------------------------------------------------- managers
def double(values):
    return [value * 2 for value in values]


def descending(values):
    return sorted(values, reverse=True)


def test_passes_run_in_order():
    manager = PassManager([double, descending])
    assert manager([1, 3, 2]) == [6, 4, 2]
    manager.add_pass(tuple)
    assert manager([1, 3, 2]) == (6, 4, 2)
    manager.remove_pass(["double"])
    assert manager([1, 3, 2]) == (3, 2, 1)
    manager.replace_pass(descending, double)
    assert manager([1, 3]) == (2, 6)
    assert PassManager.build_from_passlist([double]).passes == [double]
    assert PassManager()("any") == "any"


def test_orders_that_break_a_constraint():
    constraint = this_before_that_pass_constraint(double, descending)
    assert PassManager([double, descending], [constraint])([1, 2]) == [4, 2]
    manager = PassManager([descending, double])
    manager.add_constraint(constraint)
    with pytest.raises(RuntimeError, match="at index 0 .* at index1"):
        manager([1])
    manager.remove_pass(["double"])
    assert manager([1, 2]) == [2, 1]


def test_constraints_on_what_is_wrapped():
    constraint = these_before_those_pass_constraint(list.sort, list.reverse)
    sort, reverse = log_hook(inplace_wrapper(list.sort)), inplace_wrapper(list.reverse)
    assert PassManager([sort, reverse], [constraint])([1, 3, 2]) == [3, 2, 1]
    with pytest.raises(RuntimeError, match="constraint violated"):
        PassManager([reverse, sort], [constraint])([1])


def test_passes_that_are_repeated():
    assert loop_pass(double, n_iter=3)([1]) == [8]
    assert loop_pass(double, predicate=lambda values: values[0] < 5)([1]) == [8]
    assert loop_pass(double, predicate=lambda values: False)([1]) == [1]
    for given in ({}, {"n_iter": 1, "predicate": bool}):
        with pytest.raises(AssertionError, match="Exactly one of"):
            loop_pass(double, **given)


def test_what_is_logged(caplog):
    with caplog.at_level(logging.DEBUG):
        assert log_hook(double, level=logging.DEBUG)([1]) == [2]
    assert "Return value: [2]" in caplog.text and caplog.records[0].levelno == logging.DEBUG


# ---------------------------------------------------- observers
def by_sigmoid(module):
    for node in list(module.graph.nodes):
        if node.name == "relu":
            with module.graph.inserting_after(node):
                other = module.graph.call_function(rushlight.sigmoid, node.args)
            node.replace_all_uses_with(other)
            module.graph.erase_node(node)
    module.recompile()
    return "done"


def traced():
    return fx.symbolic_trace(lambda x: (x + 1).relu())


def test_nodes_that_a_pass_makes_and_erases(tmp_path):
    module, before = traced(), GraphTransformObserver.get_current_pass_count()
    observer = GraphTransformObserver(module, "swap", log_url=str(tmp_path / "dots"))
    assert observer.apply_gm_pass(by_sigmoid) == "done"
    assert observer.created_nodes == {"sigmoid"} and observer.erased_nodes == {"relu"}
    assert observer.name_to_node["sigmoid"].target is rushlight.sigmoid
    number = GraphTransformObserver.get_current_pass_count()
    assert number == before + 1
    texts = [
        (tmp_path / "dots" / f"pass_{number}_swap_{side}_graph.dot").read_text()
        for side in ("input", "output")
    ]
    assert ["relu" in text for text in texts] == [True, False]
    assert ["sigmoid" in text for text in texts] == [False, True]
    module.graph.create_node("placeholder", "later")  # once no observer is there
    assert observer.created_nodes == {"sigmoid"}


def test_passes_that_change_nothing_write_nothing(tmp_path):
    observer = GraphTransformObserver(traced(), "look", log_url=str(tmp_path))
    assert observer.apply_graph_pass(lambda graph: graph.lint()) is None
    assert observer.created_nodes == set() and not list(tmp_path.iterdir())


def test_without_a_folder_nothing_is_watched():
    before = GraphTransformObserver.get_current_pass_count()
    with GraphTransformObserver(traced(), "swap", "mine") as observer:
        by_sigmoid(observer.gm)
    assert (observer.active, observer.passname, observer.subsystem) == (False, "swap", "mine")
    assert not hasattr(observer, "created_nodes")
    assert GraphTransformObserver.get_current_pass_count() == before


def test_errors_pass_through_and_hooks_go(tmp_path):
    module = traced()
    with pytest.raises(ZeroDivisionError):
        GraphTransformObserver(module, "fail", log_url=str(tmp_path)).apply_gm_pass(lambda m: 1 / 0)
    assert not any(module._node_hooks.values()) and not list(tmp_path.iterdir())
