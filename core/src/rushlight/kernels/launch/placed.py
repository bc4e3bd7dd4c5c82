"""Runs of a plan as functions of their own that make the result: one call from array to array.

A plan (:func:`rushlight.machine.threads.plan`) is a kernel with argument words, the first of which
a caller of :func:`~rushlight.machine.threads.run` gives at each call: inputs, the result, weights
in some order, tables. For a call of :mod:`rushlight.kernels.launch.prepared` only the inputs and
the result differ; a range kernel puts their addresses where the plan's kernel reads them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from rushlight.kernels.gemm.epilogue_emitters import finish
from rushlight.kernels.launch.prepared import prepared, word_of
from rushlight.machine import np
from rushlight.machine.language.functions import array, call_address, i64, range_kernel, stack
from rushlight.machine.threads import MOST_WORDS, PLAN_WORDS

__all__ = ["Placed", "placed"]

# ---- words of a table; then the indices of the result and of the inputs, then the plan's words
CODE, EPILOGUE, COUNT, GIVEN = range(4)


@range_kernel
def placing(args, lo, hi, tid):
    """The plan's kernel on its own words, with the addresses of this call in them."""
    g, words = array(i64, args), stack(MOST_WORDS)
    t, p = array(i64, g[0]), array(i64, words)
    given = t[GIVEN]
    for i in range(t[COUNT]):
        p[i] = t[GIVEN + 1 + given + i]
    for i in range(given):
        p[t[GIVEN + 1 + i]] = g[1 + i]
    call_address(t[CODE], words, lo, hi, tid)
    finish(t[EPILOGUE], g[1] + 4 * lo, hi - lo)


class Placed(NamedTuple):
    """``call(*inputs)`` gives the result, for as long as what is `kept` lives."""

    call: Any
    kept: tuple


def placed(plan, arguments, inputs, output, epilogue=None):
    """A run of `plan` with `arguments` that reads other arrays instead of `inputs` and writes a new
    one instead of `output`; None where one of these is not exactly one argument.

    `arguments` are those of :func:`~rushlight.machine.threads.run`; all other arrays among them are
    read where they are. `epilogue`: that of float32 results whose elements are the plan's items,
    which runs behind them.
    """
    code, items, grain, count = (int(word) for word in plan[:4])
    words, found = [int(word) for word in plan[PLAN_WORDS : PLAN_WORDS + count]], {}
    for i, value in enumerate(arguments):
        known = next((k for k, a in enumerate((output, *inputs)) if a is value), None)
        if known is None:
            words[i] = _word(value)
        elif found.setdefault(known, i) != i:
            return None
    if set(found) != set(range(len(inputs) + 1)):
        return None
    indices = [found[k] for k in range(len(inputs) + 1)]
    address = 0 if epilogue is None else epilogue.table.ctypes.data
    table = np.array([code, address, count, len(indices), *indices, *words], np.int64)
    outputs, head = [(output.shape, output.dtype)], table.ctypes.data
    call = prepared(placing.address(), items, grain, inputs, outputs, head=head, scratch=True)
    kept = [a for a in arguments if all(a is not b for b in (output, *inputs))]
    return Placed(call, (table, kept, epilogue))


def _word(value):
    """An argument of a run as a word of a kernel."""
    if value is None:
        return 0
    if isinstance(value, np.ndarray):
        return value.ctypes.data
    return word_of(value) if isinstance(value, float) else int(value)
