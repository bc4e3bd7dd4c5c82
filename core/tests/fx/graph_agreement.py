"""What tests of `rushlight.fx` compare with PyTorch: the nodes of graphs, and their values."""

import sys
import warnings
from pathlib import Path

import numpy as np
import torch

import rushlight

sys.path.insert(0, str(Path(__file__).parents[1] / "nn"))

from test_modules_agree import LOOSE, TABLE, build, inputs_for  # noqa: E402, F401


def target_name(target):
    """A target without the module it stands in."""
    return target if isinstance(target, str) else target.__name__


def plain(value):
    """An argument in a form that both libraries share."""
    if isinstance(value, (torch.fx.Node, rushlight.fx.Node)):
        return f"%{value.name}"
    if isinstance(value, (tuple, list)):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {plain(key): plain(item) for key, item in value.items()}
    if isinstance(value, slice):
        return ["slice", plain(value.start), plain(value.stop), plain(value.step)]
    return repr(value).replace("rushlight.", "torch.")


def rows(graph):
    """The nodes of a graph: kind, name, target's name."""
    return [(node.op, node.name, target_name(node.target)) for node in graph.nodes]


def arguments(graph):
    """What the nodes of a graph read, and the values they are given."""
    return [(node.name, [n.name for n in node.all_input_nodes]) for node in graph.nodes]


def same_graphs(theirs, ours):
    """Check that two graphs have the same nodes that read the same nodes."""
    assert rows(ours) == rows(theirs)
    assert arguments(ours) == arguments(theirs)


def everything_inside(library):
    """A tracer class for which no module is a leaf."""

    class Inside(library.fx.Tracer):
        def is_leaf_module(self, m, module_qualified_name):
            return False

    return Inside


def traced(library, module, tracer_class=None):
    """The graph of a module, or the error that tracing it raises."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return (tracer_class or library.fx.Tracer)().trace(module)
        except Exception as error:
            return error


def values(result):
    """All numbers of a result, in order."""
    if isinstance(result, (tuple, list)):
        return [array for item in result for array in values(item)]
    if isinstance(result, dict):
        return [array for item in result.values() for array in values(item)]
    return [np.asarray(result.detach())] if hasattr(result, "detach") else [np.asarray(result)]


def same_values(first, second, tolerance=0.0):
    """Check that two results have the same numbers."""
    first, second = values(first), values(second)
    assert len(first) == len(second)
    for one, other in zip(first, second, strict=True):
        np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance)
