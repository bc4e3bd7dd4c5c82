"""Loops over the slices of tensors in captured programs: nodes whose argument is a graph."""

from __future__ import annotations

from rushlight.fx.experimental.inner_graphs import (
    HigherOrder,
    form,
    record,
    shaped,
    traced,
    with_same_inputs,
)
from rushlight.ops.shape.joining import stack


def record_scan(recorder, function, init, xs, additional=()):
    """The last carries and the stacked results of ``function(*carries, *slices, *additional)`` for
    the slices of `xs` along dimension 0, from `init` on: lists of tensors."""
    part = _traced(recorder, "scan", function, init, xs, additional)
    carries, results = part.results[: len(init)], part.results[len(init) :]
    if form(carries) != form(init):
        raise RuntimeError(
            f"scan: combine_fn must give a carry of the form of init, {form(init)}; got "
            f"{form(carries)}"
        )
    outer = with_same_inputs([part])
    found = record(
        recorder, scan, {"scan_combine_graph": part},
        lambda graph: (graph, tuple(init), tuple(xs), tuple(outer)),
        [*carries, *_stacks(recorder, xs, results)],
    )  # fmt: skip
    return found[: len(init)], found[len(init) :]


def record_map(recorder, function, xs, additional):
    """The stacked results of ``function(*slices, *additional)`` for the slices of `xs`."""
    part = _traced(recorder, "map", function, (), xs, additional)
    outer = with_same_inputs([part])
    return record(
        recorder, map_impl, {"body_graph": part},
        lambda graph: (graph, tuple(xs), tuple(outer)), _stacks(recorder, xs, part.results),
    )  # fmt: skip


def _traced(recorder, name, function, init, xs, additional):
    slices = [shaped(recorder, x, x.shape[1:]) for x in xs]
    return traced(
        recorder, name, lambda *values: function(*values, *additional), [*init, *slices],
        carried=True, differentiable=True,
    )  # fmt: skip


def _stacks(recorder, xs, results):
    """What the results of all steps are together."""
    return [shaped(recorder, one, (xs[0].shape[0], *one.shape)) for one in results]


def _scan(graph, init, xs, additional):
    """``graph(*carries, *slices, *additional)`` for the slices of `xs`, from `init` on."""
    carries, rows = list(init), []
    for slices in zip(*xs, strict=True):
        found = graph(*carries, *slices, *additional)
        carries = list(found[: len(init)])
        rows.append(found[len(init) :])
    return [*carries, *_stacked("scan", rows)]


def _map(graph, xs, additional):
    """``graph(*slices, *additional)`` for the slices of `xs`."""
    return _stacked("map", [graph(*slices, *additional) for slices in zip(*xs, strict=True)])


def _stacked(name, rows):
    if not rows:
        raise RuntimeError(f"{name}: xs must have a length above 0")
    return [stack(list(column)) for column in zip(*rows, strict=True)]


def _scan_again(recorder, args, function_of):
    graph, init, xs, additional = args
    carries, results = record_scan(recorder, function_of(graph), init, xs, additional)
    return [*carries, *results]


def _map_again(recorder, args, function_of):
    graph, xs, additional = args
    return record_map(recorder, function_of(graph), xs, additional)


scan = HigherOrder("scan", _scan, _scan_again)
map_impl = HigherOrder("map_impl", _map, _map_again)
