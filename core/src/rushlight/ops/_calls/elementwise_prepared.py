"""The prepared call of an elementwise op: exact tensors, default attributes, a native call.

`op.paths.same[code]` holds, once a general call has had that dtype, ``(native call, result
dtype)``: a built-in function that takes arrays and gives a new array or NotImplemented (another
layout, broadcasting, size or memory kind: the general call handles those). `op.paths.mixed` is the
same for a tensor and a number.
"""

from __future__ import annotations

from rushlight.autograd.mode import mode
from rushlight.machine import memory
from rushlight.ops._table.paths import COUNTS
from rushlight.ops._table.recording import note, record_one, record_two
from rushlight.tensor import construction as make
from rushlight.tensor.dispatch import STATE
from rushlight.tensor.tensor import Parameter, Tensor

UNSET = _U = object()  # an argument that was not given


def unary(op, general):
    """The callable of an op of one tensor."""
    paths = op.paths
    paths.takes_tensors(two=False)
    same, by_count, recorded = paths.same, paths.by_count, op.options.get("differentiable", True)

    def call(input=_U, *args, **kwargs):
        kind = type(input)
        if args:
            if not kwargs and not STATE.modes and len(args) < COUNTS - 1:
                result = by_count[len(args) + 1](input, *args)
                if result is not NotImplemented:
                    return result
        elif (kind is Tensor or kind is Parameter) and not STATE.modes and not kwargs:
            entry = same[input._dtype.code]
            if entry is not None:
                array = entry[0](input._array)
                if array is not NotImplemented:
                    out = make.made(array, entry[1])
                    if STATE.inference and mode.inference:
                        out._inference = True
                    if input._node is not None and recorded and mode.recording:
                        if make.recorded(paths.recipe, out, input) is NotImplemented:
                            record_one(op, input, out)
                    return out
        if input is _U:  # it has another name
            return general(**kwargs)
        return general(input, *args, **kwargs)

    return _renamed(call, op, 1)


def binary(op, general):
    """The callable of an op of two tensors, or of a tensor and a number."""
    paths = op.paths
    paths.takes_tensors(two=True)
    same, mixed = paths.same, paths.mixed
    recorded = op.options.get("differentiable", True)

    def call(input=_U, other=_U, /, *args, **kwargs):
        kind = type(input)
        if (kind is Tensor or kind is Parameter) and not STATE.modes and not args and not kwargs:
            dtype, kind = input._dtype, type(other)
            if kind is Tensor or kind is Parameter:
                entry = same[dtype.code]
                if entry is not None and other._dtype is dtype:
                    array = entry[0](input._array, other._array)
                    if array is not NotImplemented:
                        out = make.made(array, entry[1])
                        if STATE.inference and mode.inference:
                            out._inference = True
                        if (
                            (input._node is not None or other._node is not None)
                            and recorded
                            and mode.recording
                            and make.recorded(paths.recipe, out, input, other) is NotImplemented
                        ):
                            record_two(op, input, other, out)
                        return out
            elif kind is float or kind is int:
                entry = mixed[dtype.code]
                if entry is not None and (kind is int or dtype.category > 1):
                    array = entry[0](input._array, other)
                    if array is not NotImplemented:
                        out = make.made(array, entry[1])
                        if STATE.inference and mode.inference:
                            out._inference = True
                        if input._node is not None and recorded and mode.recording:
                            note(op, (input, None), [None, other, *op.defaults[2:]], (out,))
                        return out
        if other is _U:
            return general(**kwargs) if input is _U else general(input, **kwargs)
        return general(input, other, *args, **kwargs)

    return call


def positional(op, general):
    """The callable of an op whose native calls are generated: up to four arguments and no keywords
    go to their native call at once."""
    by_count = op.paths.by_count

    def call(a=_U, b=_U, c=_U, d=_U, /, *rest, **kwargs):
        try:
            if b is _U:
                args = () if a is _U else (a,)
                if not kwargs and not STATE.modes:
                    result = by_count[1](a)
                    if result is not NotImplemented:
                        return result
            elif c is _U:
                args = a, b
                if not kwargs and not STATE.modes:
                    result = by_count[2](a, b)
                    if result is not NotImplemented:
                        return result
            elif d is _U:
                args = a, b, c
                if not kwargs and not STATE.modes:
                    result = by_count[3](a, b, c)
                    if result is not NotImplemented:
                        return result
            elif not rest:
                args = a, b, c, d
                if not kwargs and not STATE.modes:
                    result = by_count[4](a, b, c, d)
                    if result is not NotImplemented:
                        return result
            else:
                args = a, b, c, d, *rest
                count = len(args)
                if count < COUNTS and not kwargs and not STATE.modes:
                    result = by_count[count](*args)
                    if result is not NotImplemented:
                        return result
            return general(*args, **kwargs)
        except MemoryError as error:
            raise memory.refused(error) from None

    return call


def _renamed(call, op, count):
    """Give the template the op's own argument names, so that keywords work."""
    own, wanted = call.__code__.co_varnames, op.names[:count]
    if own[:count] != wanted:
        call.__code__ = call.__code__.replace(co_varnames=(*wanted, *own[count:]))
    return call
