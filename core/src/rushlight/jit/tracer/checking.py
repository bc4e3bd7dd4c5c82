"""What ``trace`` does to see whether its program is what the function does."""

from __future__ import annotations

import difflib
import warnings

import rushlight
from rushlight.jit.tracer.trace_state import TracerWarning, TracingCheckError
from rushlight.tensor.tensor import Tensor

__all__ = ["check"]


def check(made, again, function, examples, tolerance):
    """Run a program and its function with examples, and warn where results differ; trace it with
    each of them by `again`, and raise where that gives another program."""
    for inputs in examples:
        inputs = inputs if isinstance(inputs, tuple) else (inputs,)
        with rushlight.random.fork_rng(devices=[]), warnings.catch_warnings():
            warnings.simplefilter("ignore", TracerWarning)  # the first trace has told
            other = again(inputs)
        _compare_results(made, function, inputs, tolerance)
        _compare_programs(made.code, other.code)


def _compare_programs(first, second):
    if first == second:
        return
    lines = difflib.ndiff(first.splitlines(), second.splitlines())
    raise TracingCheckError(
        "Tracing failed sanity checks!\nERROR: Graphs differed across invocations! The function "
        "was traced twice and did not do the same. Difference of the programs:\n"
        + "\n".join(f"  {line.rstrip()}" for line in lines)
    )


def _compare_results(made, function, inputs, tolerance):
    with rushlight.random.fork_rng(devices=[]):
        ours = made(*inputs)
    with rushlight.random.fork_rng(devices=[]):
        theirs = function(*inputs)
    for number, (a, b) in enumerate(zip(_flat(ours), _flat(theirs), strict=True), 1):
        alike = a.shape == b.shape and rushlight.allclose(
            a.double(), b.double(), tolerance, tolerance, equal_nan=True
        )
        if not alike:
            warnings.warn(
                f"Output nr {number}. of the traced function does not match the corresponding "
                "output of the Python function.",
                TracerWarning,
                stacklevel=5,
            )


def _flat(value):
    if isinstance(value, Tensor):
        return [value.detach()]
    if isinstance(value, dict):
        value = value.values()
    return [t for part in value for t in _flat(part)] if not isinstance(value, int | float) else []
