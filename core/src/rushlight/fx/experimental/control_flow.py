"""Choices and loops over values in captured programs: nodes whose arguments are graphs."""

from __future__ import annotations

from rushlight import inspection
from rushlight.fx.experimental.functional_calls import (
    auto_functionalized,
    auto_functionalized_v2,
)
from rushlight.fx.experimental.inner_graphs import (
    HigherOrder,
    form,
    key_of,
    name_inputs,
    record,
    traced,
    with_same_inputs,
)
from rushlight.fx.experimental.slice_loops import map_impl, scan
from rushlight.fx.experimental.tracked_sizes import written
from rushlight.tensor.tensor import Tensor
from rushlight.utils import _pytree as pytree

__all__ = [  # the names of rushlight.ops.higher_order
    "auto_functionalized",
    "auto_functionalized_v2",
    "cond",
    "map_impl",
    "scan",
    "while_loop",
]


def record_cond(recorder, pred, true_fn, false_fn, operands):
    """:func:`rushlight.cond` in a captured program."""
    pred = _condition(recorder, pred)
    flat, spec = pytree.tree_flatten(tuple(operands))
    tensors = {key_of(value): value for value in flat if isinstance(value, Tensor)}

    def of_tensors(function):
        def call(*given):
            named = dict(zip(tensors, given, strict=True))
            leaves = [named[key_of(v)] if isinstance(v, Tensor) else v for v in flat]
            return function(*pytree.tree_unflatten(leaves, spec))

        return call

    parts = [
        traced(recorder, "cond", of_tensors(f), [*tensors.values()]) for f in (true_fn, false_fn)
    ]
    ours, theirs = (form(part.results) for part in parts)
    if parts[0].spec != parts[1].spec or ours != theirs:
        raise RuntimeError(
            f"cond: true_fn and false_fn must give results of one structure, shape and dtype; got "
            f"{ours} and {theirs}"
        )
    inputs = (*tensors.values(), *with_same_inputs(parts))
    named = dict(zip(("true_graph", "false_graph"), parts, strict=True))
    found = record(recorder, cond, named, lambda *graphs: (pred, *graphs, inputs), parts[0].results)
    _name_inputs(recorder)
    return pytree.tree_unflatten(found, parts[0].spec)


def _name_inputs(recorder):
    """Name the inputs of the graphs of the last choice as PyTorch does."""
    node = recorder.graph.find_nodes(op="call_function", target=cond)[-1]
    for graph in node.args[1:3]:
        name_inputs(recorder.modules[graph.target], node.args[3])


def _condition(recorder, pred):
    """What a choice reads: a comparison of sizes is a node."""
    if isinstance(pred, bool) and recorder.tracking is not None:
        recorder.tracking.ask()
    return written(recorder, pred)


def record_while_loop(recorder, cond_fn, body_fn, carried):
    """:func:`rushlight.while_loop` in a captured program."""
    condition, body = (
        traced(recorder, "while_loop", f, carried, carried=True) for f in (cond_fn, body_fn)
    )
    given, made = form(condition.results), form(body.results)
    if len(given) != 1 or condition.results[0].numel() != 1:
        raise RuntimeError(f"while_loop: cond_fn must give a tensor of one element; got {given}")
    if made != form(carried):
        raise RuntimeError(
            f"while_loop: body_fn must give what it is given, {form(carried)}; got {made}"
        )
    additional = tuple(with_same_inputs([condition, body]))
    found = record(
        recorder, while_loop, {"while_loop_cond_graph": condition, "while_loop_body_graph": body},
        lambda *graphs: (*graphs, tuple(carried), additional), body.results,
    )  # fmt: skip
    return tuple(found)


def _cond_again(recorder, args, function_of):
    pred, true_graph, false_graph, inputs = args
    return record_cond(recorder, pred, function_of(true_graph), function_of(false_graph), inputs)


def _loop_again(recorder, args, function_of):
    condition, body, carried, additional = args
    functions = [function_of(graph) for graph in (condition, body)]
    return record_while_loop(
        recorder,
        lambda *values: functions[0](*values, *additional)[0],
        lambda *values: functions[1](*values, *additional),
        carried,
    )


def _loop(condition, body, carried, additional):
    """``carried`` through `body` as long as `condition` holds; both get `additional` as well."""
    return inspection.while_loop(
        lambda *values: condition(*values, *additional)[0],
        lambda *values: body(*values, *additional),
        carried,
    )


cond = HigherOrder("cond", inspection.cond, _cond_again)
while_loop = HigherOrder("while_loop", _loop, _loop_again)
