"""Every layer of the table of tests/nn, traced to its functions: PyTorch's nodes, equal values."""

import pickle
import sys
import warnings
from pathlib import Path

import pytest

import rushlight

torch = pytest.importorskip("torch")
sys.path.insert(0, str(Path(__file__).parent))

from graph_agreement import (  # noqa: E402
    LOOSE,
    TABLE,
    build,
    everything_inside,
    inputs_for,
    same_graphs,
    same_values,
    traced,
)

ROWS = [pytest.param(*row, id=f"{i}-{row[0]}") for i, row in enumerate(TABLE)]
# Where PyTorch calls the function by another name: the layer -> why.
OTHERWISE = {
    "MaxPool2d": "with indices it is another function there, an argument here",
    "AdaptiveMaxPool2d": "with indices it is another function there, an argument here",
    "ReLU6": "hardtanh there, relu6 here",
    "LogSigmoid": "log_sigmoid there, logsigmoid here: the public name",
    "Threshold": "_threshold there, threshold here: the public name",
}


@pytest.mark.parametrize("name, args, kwargs, specs", ROWS)
def test_nodes_are_pytorchs(name, args, kwargs, specs):
    theirs = traced(torch, build(torch, name, args, kwargs), everything_inside(torch))
    ours = traced(rushlight, build(rushlight, name, args, kwargs), everything_inside(rushlight))
    if isinstance(theirs, Exception):
        return  # control flow there; where ours has none, its values are compared below
    assert not isinstance(ours, Exception), ours
    if name in OTHERWISE:
        assert [n.op for n in ours.nodes] == [n.op for n in theirs.nodes]
    else:
        same_graphs(theirs, ours)


@pytest.mark.parametrize("name, args, kwargs, specs", ROWS)
def test_leaf_is_pytorchs(name, args, kwargs, specs):
    def wrapped(library):
        class Two(library.nn.Module):
            def __init__(self):
                super().__init__()
                self.inner = build(library, name, args, kwargs)

            def forward(self, *inputs):
                return self.inner(*[inputs[i] for i in range(len(specs))])

        return traced(library, Two())

    same_graphs(wrapped(torch), wrapped(rushlight))


@pytest.mark.parametrize("name, args, kwargs, specs", ROWS)
def test_code_computes_what_the_module_does(name, args, kwargs, specs):
    module = build(rushlight, name, args, kwargs).eval()
    inputs = inputs_for(rushlight, specs)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rushlight.manual_seed(0)
        wanted = module(*inputs)
        graph = traced(rushlight, module, everything_inside(rushlight))
        if isinstance(graph, Exception):
            pytest.skip(f"control flow: {graph}")
        generated = rushlight.fx.GraphModule(module, graph)
        copied = pickle.loads(pickle.dumps(generated))
        passed = rushlight.fx.Transformer(generated).transform()
        for run in (generated, copied, rushlight.fx.Interpreter(generated).run, passed):
            rushlight.manual_seed(0)
            tolerance = 1e-5 if name.startswith(LOOSE) else 1e-6
            same_values(run(*inputs), wanted, tolerance)
