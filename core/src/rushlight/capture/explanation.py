"""What ``_dynamo.explain`` says about a call."""

from __future__ import annotations

from dataclasses import dataclass, field

from rushlight.capture.breaks import BreakError
from rushlight.capture.entry import entry_of
from rushlight.nn.module import Module
from rushlight.tensor.dispatch import Interpreter


@dataclass
class ExplainOutput:
    """`graph_count` graphs (1 or 0), `graph_break_count`, their `break_reasons` with the lines of
    the program, `op_count` steps of the graph, and `captured_share`: of the ops that the call runs
    those that are part of it, 1.0 or 0.0."""

    graph_count: int
    graph_break_count: int
    op_count: int
    captured_share: float
    break_reasons: list = field(default_factory=list)

    def __str__(self):
        lines = [
            f"Graph Count: {self.graph_count}", f"Graph Break Count: {self.graph_break_count}",
            f"Op Count: {self.op_count}", f"Captured: {self.captured_share:.0%}",
        ]  # fmt: skip
        lines += [f"  Break Reason {i + 1}: {r}" for i, r in enumerate(self.break_reasons)]
        return "\n".join(lines)


class _Counter(Interpreter):
    count = 0

    def process(self, function, types, args, kwargs):
        """Count a call that no other counted call makes."""
        self.count += 1
        return function(*args, **kwargs)


def explained(function, args, kwargs):
    """The report about one call, which runs if it cannot be captured."""
    if isinstance(function, Module):
        function = function.__dict__["_modules"].get("_orig_mod", function)
    function = getattr(function, "__wrapped__", function)
    try:
        entry = entry_of(function, args, kwargs, getattr(function, "__name__", "a module"))
    except BreakError as error:
        with _Counter() as counter:
            function(*args, **kwargs)
        return ExplainOutput(0, 1, counter.count, 0.0, [error.text()])
    return ExplainOutput(1, 0, entry.steps, 1.0)
