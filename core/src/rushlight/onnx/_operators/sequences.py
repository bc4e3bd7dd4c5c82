"""Lists of tensors, and values that may be absent."""

from __future__ import annotations

import rushlight as rl
from rushlight.onnx._operators.registry import ints, number, operator


@operator()
def SequenceConstruct(*values):
    return list(values)


@operator()
def SequenceEmpty(dtype=1):
    return []


@operator()
def SequenceAt(values, position):
    return values[int(number(position))]


@operator()
def SequenceInsert(values, tensor, position=None):
    place = len(values) if position is None else int(number(position))
    return (
        [*values[:place], tensor, *values[place:]]
        if place >= 0
        else [*values[:place], tensor, *values[place:]]
    )


@operator()
def SequenceErase(values, position=None):
    place = -1 if position is None else int(number(position))
    place %= len(values)
    return values[:place] + values[place + 1 :]


@operator()
def SequenceLength(values):
    return rl.tensor(len(values))


@operator()
def ConcatFromSequence(values, axis, new_axis=0):
    return rl.stack(values, axis) if new_axis else rl.cat(values, axis)


@operator()
def SplitToSequence(x, split=None, axis=0, keepdims=1):
    if split is None:
        parts = rl.split(x, 1, axis)
        return [p if keepdims else p.squeeze(axis) for p in parts]
    lengths = ints(split)
    return list(
        rl.split(x, lengths[0] if rl.is_tensor(split) and not split.ndim else lengths, axis)
    )


@operator("Optional")
def optional(value=None, type=None):
    return value


@operator()
def OptionalGetElement(value):
    return value


@operator()
def OptionalHasElement(value=None):
    return rl.tensor(value is not None)
