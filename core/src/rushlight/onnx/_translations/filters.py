"""Filters with feedback, block by block, and feedback that changes with time, sample by sample.

A filter is a state space: ``y = s C + x D`` and ``s' = s A + x B`` for rows of states and samples.
Two blocks in sequence are one of twice the length, so that six doublings give the matrices of 64
samples, which a Scan then passes over. All of it is float64: poles near the unit circle are usual.
"""

from __future__ import annotations

import rushlight
from rushlight.machine import np
from rushlight.onnx._registry import aten
from rushlight.onnx._types import number_of

_DOUBLINGS = 6
_BLOCK = 1 << _DOUBLINGS  # samples
_MOST_TAPS = 256  # the matrices have as many rows beside those of a block


@aten("_recursive_filter")
def recursive_filter(g, x, feedback, forward):
    count, channels, _ = x.shape
    taps = max(feedback.shape[1], forward.shape[1])
    if taps > _MOST_TAPS:
        raise NotImplementedError(f"a filter of {taps} taps, more than {_MOST_TAPS}")
    x, feedback, forward = g.to(rushlight.float64, x, feedback, forward)
    if taps == 1:
        gains = g.reshape(forward, [1, channels, 1])
        return g.cast(g.op("Mul", x, gains), g.dtype)
    rows = [_rows(g, v, channels, taps) for v in (feedback, forward)]
    matrix = _of_a_block(g, *rows, channels, taps)
    blocks, length = _blocks(g, x)
    state = g.op("Expand", g.constant(0.0, rushlight.float64),
                 g.integers([channels, count, taps - 1]))  # fmt: skip
    _, _, found = g.op(
        "Scan", state, matrix, blocks, outputs=3, body=_body(g, taps - 1), num_scan_inputs=1
    )
    joined = g.reshape(_transposed(g, found, [2, 1, 0, 3]), [count, channels, -1])
    found = g.op("Slice", joined, [0], length, [2])
    return g.cast(found, g.dtype)


def _rows(g, coefficients, channels, taps):
    """Coefficients as (channels, 1, taps), with zeros behind them."""
    wide = g.reshape(coefficients, [channels, 1, -1])
    missing = taps - coefficients.shape[1]
    if not missing:
        return wide
    zeros = g.constant(np.zeros((channels, 1, missing)))
    return g.op("Concat", wide, zeros, axis=2)


def _transposed(g, value, order):
    return g.op("Transpose", value, perm=order)


def _of_a_block(g, feedback, forward, channels, taps):
    """``[[D, B], [C, A]]`` of a block, (channels, block + states, block + states)."""
    states = taps - 1
    shift = g.constant(np.eye(states, k=-1)[None])
    first = np.zeros((channels, states, 1))
    first[:, 0] = 1
    c = g.constant(first)
    d = g.slice(forward, 2, 0, 1)
    own, driven = (g.slice(v, 2, 1, taps) for v in (feedback, forward))
    a = g.op("Sub", shift, g.op("MatMul", c, own))
    b = g.op("Sub", driven, g.op("MatMul", d, own))
    for doubling in range(_DOUBLINGS):
        zeros = g.constant(np.zeros((channels, 1 << doubling, 1 << doubling)))
        later = g.op("Concat", d, g.op("MatMul", b, c), axis=2)
        d = g.op("Concat", later, g.op("Concat", zeros, d, axis=2), axis=1)
        c = g.op("Concat", c, g.op("MatMul", a, c), axis=2)
        b = g.op("Concat", g.op("MatMul", b, a), b, axis=1)
        a = g.op("MatMul", a, a)
    rows = g.op("Concat", d, b, axis=2), g.op("Concat", c, a, axis=2)
    return g.op("Concat", *rows, axis=1)


def _blocks(g, x):
    """(blocks, channels, count, samples), with zeros at the end, and the length as a list."""
    count, channels, _ = x.shape
    two, whole = g.integers([2]), g.integers([_BLOCK])
    length = g.op("Slice", g.shape_of(x), two, g.integers([3]))
    missing = g.op("Mod", g.op("Neg", length), whole)
    longer = g.op("Pad", x, g.op("Concat", g.integers([0] * 5), missing, axis=0), 0.0)
    cut = g.reshape(longer, [count, channels, -1, _BLOCK])
    return _transposed(g, cut, [2, 1, 0, 3]), length


def _body(g, states):
    """One block: the state and the samples times the matrix, which is passed on."""
    helper, double = g.onnx.helper, number_of(rushlight.float64)
    names = "state matrix samples both product last output same sizes"
    state, matrix, samples, both, product, last, output, same, sizes = (
        g.name(f"block_{name}") for name in names.split()
    )
    nodes = [
        helper.make_node("Concat", [samples, state], [both], axis=2),
        helper.make_node("MatMul", [both, matrix], [product]),
        helper.make_node("Split", [product, sizes], [output, last], axis=2),
        helper.make_node("Identity", [matrix], [same]),
    ]
    given, made = (
        [helper.make_tensor_value_info(name, double, None) for name in several]
        for several in ((state, matrix, samples), (last, same, output))
    )
    lengths = g.onnx.numpy_helper.from_array(np.array([_BLOCK, states], np.int64), sizes)
    return helper.make_graph(nodes, g.name("filtered_block"), given, made, [lengths])


@aten("_varying_feedback")
def varying_feedback(g, x, gains, delays, backward):
    """A Scan over samples, whose state is as many results as the longest delay, the latest
    first."""
    if backward:
        raise NotImplementedError("the transposed recursion, a gradient, has no translation")
    count, channels, _ = x.shape
    x, gains = g.to(rushlight.float64, x, gains)
    longest = g.reshape(g.reduce("ReduceMax", delays, None, False), [1])
    # of no samples there is no longest delay, and a state of at least one is kept
    longest = g.op("Max", longest, g.integers([1]))
    shape = g.op("Concat", g.integers([channels, count]), longest, axis=0)
    state = g.op("Expand", g.constant(0.0, rushlight.float64), shape)
    back = g.op("Sub", delays, g.integers([1]))
    back = g.op("Expand", g.unsqueeze(_transposed(g, back, [1, 0, 2]), 2),
                g.integers([1, 1, count, 1]))  # fmt: skip
    gains = g.unsqueeze(_transposed(g, gains, [1, 0, 2]), 2)
    samples = _transposed(g, x, [2, 1, 0])
    _, found = g.op(
        "Scan", state, samples, gains, back, outputs=2, body=_fed_back(g), num_scan_inputs=3
    )
    return g.cast(_transposed(g, found, [2, 1, 0]), g.dtype)


def _fed_back(g):
    """One sample: the state (channels, count, longest) at its delays, times its gains."""
    helper, double = g.onnx.helper, number_of(rushlight.float64)
    state, sample, gains, back = _names(g, "state sample gains back")
    taken, scaled, total, output = _names(g, "taken scaled sum output")
    column, kept, last, first, none, axis = _names(g, "column kept last first none axis")
    nodes = [
        helper.make_node("GatherElements", [state, back], [taken], axis=2),
        helper.make_node("Mul", [taken, gains], [scaled]),
        helper.make_node("ReduceSum", [scaled, axis], [total], keepdims=0),
        helper.make_node("Add", [sample, total], [output]),
        helper.make_node("Unsqueeze", [output, axis], [column]),
        helper.make_node("Slice", [state, first, none, axis], [kept]),
        helper.make_node("Concat", [column, kept], [last], axis=2),
    ]
    kinds = dict.fromkeys((state, sample, gains, last, output), double)
    kinds[back] = number_of(rushlight.int64)
    given, made = (
        [helper.make_tensor_value_info(name, kinds[name], None) for name in several]
        for several in ((state, sample, gains, back), (last, output))
    )
    constants = [
        g.onnx.numpy_helper.from_array(np.array([value], np.int64), name)
        for name, value in ((first, 0), (none, -1), (axis, 2))
    ]
    return helper.make_graph(nodes, g.name("fed_back_sample"), given, made, constants)


def _names(g, words):
    return [g.name(f"fed_{word}") for word in words.split()]
