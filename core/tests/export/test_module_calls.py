"""Nodes know the calls of submodules that they are made in: keys and paths as PyTorch's."""

import sys
import warnings
from pathlib import Path

import pytest

import rushlight
import rushlight.export
from rushlight import nn

torch = pytest.importorskip("torch")

sys.path.insert(0, str(Path(__file__).parent))

from hierarchies import MODELS, made  # noqa: E402


def exported(framework, name, **options):
    model, args = made(framework, name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return framework.export.export(model, args, **options)


def stacks(program):
    """The ops of a program, each with the keys of its calls below the model's and their paths."""
    found = []
    for node in program.graph.nodes:
        calls = [(key, path) for key, (path, _) in node.meta.get("nn_module_stack", {}).items()]
        op = str(node.target).partition("aten.")[2]
        # what constants and buffers of the model become stands in the model, by other ops there
        if calls and not op.startswith(("lift_fresh", "detach_", "copy_")):
            assert calls[0][1] == ""
            found.append((op, calls[1:]))
    return found


@pytest.mark.parametrize("name", MODELS)
def test_calls_are_those_of_pytorch(name):
    found = stacks(exported(rushlight, name))
    assert found == stacks(exported(torch, name))
    assert any(calls for _, calls in found)


def test_classes_are_named():
    found = exported(rushlight, "Twice")
    node = next(n for n in found.graph.nodes if "linear" in str(n.target))
    names = [kind.rpartition(".")[2] for _, kind in node.meta["nn_module_stack"].values()]
    assert names == ["Twice", "Sequential", "Linear"]


def test_a_model_with_two_names_is_itself_again():
    shared = nn.Linear(2, 2)
    model = nn.ModuleDict({"a": shared, "b": shared, "c": nn.Sequential(shared)})
    model.forward = lambda x: model["a"](model["b"](model["c"](x)))
    x = rushlight.ones(1, 2)
    program = rushlight.export.export(model, (x,))
    assert model["a"] is model["b"] is model["c"][0] is shared
    assert [list(n.meta["nn_module_stack"])[-1] for n in program.graph.nodes if n.meta.get(
        "nn_module_stack")] == ["L__self__c.0", "L__self__b", "L__self__a"]  # fmt: skip
    rushlight.testing.assert_close(program.module()(x), model(x))


def test_modules_that_fail_are_themselves_again():
    class Failing(nn.Module):
        def forward(self, x):
            raise ValueError("no result")

    failing = Failing()
    model = nn.Sequential(nn.ReLU(), failing)
    model.add_module("again", failing)
    with pytest.raises(ValueError, match="no result"):
        rushlight.export.export(model, (rushlight.ones(1),))
    assert model.again is model[1] is failing
