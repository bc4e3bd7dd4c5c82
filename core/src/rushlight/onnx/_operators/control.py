"""Choices and loops, whose bodies are graphs of their own."""

from __future__ import annotations

import rushlight as rl
from rushlight.onnx._operators.registry import operator


@operator("If")
def if_(condition, then_branch, else_branch, outputs=1):
    """One of two graphs, by a truth value."""
    found = (then_branch if bool(condition) else else_branch)()
    return found if outputs > 1 or not isinstance(found, tuple) else found[0]


@operator()
def Loop(most, condition, *states, body, outputs=1):
    """A graph that is called until a limit is reached or its first result is false."""
    (body, forms), states, turn = body, list(states), 0
    scanned = [[] for _ in forms[1 + len(states) :]]
    going = True if condition is None else bool(condition)
    while going and (most is None or turn < int(most)):
        found = body(rl.tensor(turn), rl.tensor(going), *states)
        found = found if isinstance(found, tuple) else (found,)
        going = bool(found[0])
        parts = found[1 + len(states) :]
        states = list(found[1 : 1 + len(states)])
        for row, part in zip(scanned, parts, strict=True):
            row.append(part)
        turn += 1
    results = (*states, *map(_stacked, scanned, forms[1 + len(states) :]))
    return results if outputs > 1 else results[0]


def _stacked(rows, form, axis=0):
    """Results of all turns as one tensor; `form` is their dtype and sizes, where there are none."""
    if rows:
        return rl.stack(rows, axis)
    dtype, sizes = form
    place = axis % (len(sizes) + 1)
    return rl.zeros([*sizes[:place], 0, *sizes[place:]], dtype=dtype)


@operator()
def Scan(
    *values, body, num_scan_inputs, scan_input_axes=None, scan_input_directions=None,
    scan_output_axes=None, scan_output_directions=None, outputs=1, opset=9,
):  # fmt: skip
    """A graph that is called for each part of some inputs."""
    if opset < 9:
        raise NotImplementedError("onnx.load: Scan before opset 9 is not available")
    body, forms = body
    count = len(values) - num_scan_inputs
    states, sequences = list(values[:count]), list(values[count:])
    axes = scan_input_axes or [0] * num_scan_inputs
    ways = scan_input_directions or [0] * num_scan_inputs
    moved = [s.movedim(axis, 0) for s, axis in zip(sequences, axes, strict=True)]
    moved = [s.flip(0) if way else s for s, way in zip(moved, ways, strict=True)]
    rows = [[] for _ in forms[count:]]
    for turn in range(len(moved[0])):
        found = body(*states, *(s[turn] for s in moved))
        found = found if isinstance(found, tuple) else (found,)
        states, parts = list(found[:count]), found[count:]
        for row, part in zip(rows, parts, strict=True):
            row.append(part)
    out_axes = scan_output_axes or [0] * len(rows)
    out_ways = scan_output_directions or [0] * len(rows)
    joined = [
        _stacked(row[::-1] if way else row, form, axis)
        for row, form, axis, way in zip(rows, forms[count:], out_axes, out_ways, strict=True)
    ]
    results = (*states, *joined)
    return results if outputs > 1 else results[0]


@operator()
def SequenceMap(values, *others, body, outputs=1):
    """A graph that is called for each tensor of a list."""
    found = []
    for place, value in enumerate(values):
        rest = [o[place] if isinstance(o, list) else o for o in others]
        result = body(value, *rest)
        found.append(result if isinstance(result, tuple) else (result,))
    lists = tuple(list(row) for row in zip(*found, strict=True))
    return lists if outputs > 1 else lists[0]
