"""What tests of captured programs compare with PyTorch: targets and arguments, and values."""

import sys
import warnings
from pathlib import Path

import numpy as np

import rushlight

sys.path.insert(0, str(Path(__file__).parents[1] / "nn"))

from test_modules_agree import TABLE, build, inputs_for  # noqa: E402, F401

# Steps that one library has and the other leaves out: they copy, or check, and change no value.
SILENT = {
    "aten.detach_.default", "aten.alias.default", "aten._assert_tensor_metadata.default",
    "aten.contiguous.default", "aten.lift_fresh_copy.default", "aten.detach.default",
}  # fmt: skip


def calls(graph):
    """The calls of a graph: target and arguments, in a form that both libraries share."""
    names, rows = {}, []
    for node in graph.nodes:
        target = str(node.target)
        if node.op == "call_function" and target in SILENT and node.args:
            names[node] = names.get(node.args[0], "?")
            continue
        names[node] = f"%{len(names)}"
        if node.op == "call_function":
            names[node] = f"#{len(rows)}"
            rows.append(
                (
                    target.partition(" at 0x")[0],
                    _plain(node.args, names),
                    _plain(dict(node.kwargs), names),
                )
            )
    return rows


def targets(graph):
    """The targets of a graph's calls."""
    return [target for target, _, _ in calls(graph)]


def _plain(value, names):
    if hasattr(value, "users"):
        return names[value]
    if isinstance(value, tuple | list):
        return [_plain(item, names) for item in value]
    if isinstance(value, dict):
        return {key: _plain(item, names) for key, item in value.items()}
    return repr(value).replace("rushlight.", "torch.")


def flat(value):
    """The tensors of a result, in order."""
    if isinstance(value, dict):
        return [item for part in value.values() for item in flat(part)]
    if isinstance(value, tuple | list):
        return [item for part in value for item in flat(part)]
    return [] if value is None else [value]


def same_values(ours, theirs, exact=True):
    """Check that two results, of either library, have equal numbers."""
    ours, theirs = flat(ours), flat(theirs)
    assert len(ours) == len(theirs)
    for a, b in zip(ours, theirs, strict=True):
        a, b = (np.asarray(v.detach()) if hasattr(v, "detach") else v for v in (a, b))
        if exact:
            np.testing.assert_array_equal(a, b)
        else:
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def exported(library, module, inputs):
    """The exported program of a module, or the error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return library.export.export(module, tuple(inputs))


def detached(inputs):
    """The inputs without gradients."""
    return [x.detach() for x in inputs]


def seeded(module, inputs):
    """A module's result after the same seed."""
    rushlight.manual_seed(5)
    with warnings.catch_warnings(), rushlight.no_grad():
        warnings.simplefilter("ignore")
        return module(*inputs)
