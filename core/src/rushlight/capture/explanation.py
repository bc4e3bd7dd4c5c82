"""What ``_dynamo.explain`` says about a call."""

from __future__ import annotations

import traceback
from dataclasses import dataclass, field
from typing import NamedTuple

from rushlight.capture.breaks import BreakError
from rushlight.capture.entry import NOT_TAKEN
from rushlight.capture.handing import Backend, HandedGraphs, Pieces
from rushlight.capture.recording import capture
from rushlight.nn.module import Module


class GraphCompileReason(NamedTuple):
    """Why a graph ends: the `reason`, with the line of the program, and that line as a list of
    :class:`traceback.FrameSummary`, `user_stack`, which is empty where no line is known."""

    reason: str
    user_stack: list
    graph_break: bool = True

    def __str__(self):
        return self.reason


@dataclass
class ExplainOutput:
    """What a backend of one's own gets of a call.

    - `graphs`: a :class:`~rushlight.fx.GraphModule` each; `graph_count` of them.
    - `graph_break_count`: those between them; of a call without graphs its breaks.
    - `break_reasons`: a :class:`GraphCompileReason` for each break, that behind the last op and
      that before the first included.
    - `op_count`: calls in all graphs, methods included; `ops_per_graph`: their functions.
    - `captured_share`: 1.0 where the call is one graph as a whole, and so runs as a graph without a
      backend of one's own, too; else 0.0.
    """

    graphs: list
    graph_count: int
    graph_break_count: int
    break_reasons: list
    op_count: int
    ops_per_graph: list = field(default_factory=list)
    captured_share: float = 0.0

    def __str__(self):
        lines = [
            f"Graph Count: {self.graph_count}", f"Graph Break Count: {self.graph_break_count}",
            f"Op Count: {self.op_count}", f"Captured: {self.captured_share:.0%}",
        ]  # fmt: skip
        lines += [f"  Break Reason {i + 1}: {r}" for i, r in enumerate(self.break_reasons)]
        return "\n".join(lines)


def explained(function, args, kwargs):
    """The report about one call, which runs."""
    if isinstance(function, Module):
        function = function.__dict__["_modules"].get("_orig_mod", function)
    function = getattr(function, "__wrapped__", function)
    graphs, errors = [], []

    def noting(graph_module, example_inputs):
        graphs.append(graph_module)
        return graph_module.forward

    backend = Backend(noting, "explain", {})
    handed = HandedGraphs(function, False, backend, Pieces(backend, errors))
    if handed.call(args, kwargs) is NOT_TAKEN:
        if not errors:
            errors += _why_not(function, args, kwargs)
        function(*args, **kwargs)
    return _report(graphs, errors)


def _why_not(function, args, kwargs):
    """Why a call is not taken, where what is read does not even allow for an attempt."""
    try:
        capture(function, args, kwargs)
    except BreakError as error:
        return [error]
    return [BreakError("two arguments are the same tensor, or ops are watched by a mode")]


def _report(graphs, errors):
    ops = [[n.target for n in g.graph.nodes if n.op == "call_function"] for g in graphs]
    breaks = len(graphs) - 1 if graphs else len(errors)
    reasons = [GraphCompileReason(error.text(), _stack(error)) for error in errors]
    share = 0.0 if errors else 1.0
    return ExplainOutput(graphs, len(graphs), breaks, reasons, sum(map(len, ops)), ops, share)


def _stack(error):
    if error.file is None:
        return []
    return [traceback.FrameSummary(error.file, error.line, error.name)]
