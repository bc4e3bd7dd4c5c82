"""The prepared call of ``x.op_()``: exact tensors, default attributes, a kernel that writes.

`op.paths.into[code]` holds, once a general call has had that dtype, a built-in function that takes
arrays and the array to write, or answers NotImplemented; `op.paths.into_mixed` is the same for a
tensor and a number. `op.paths.into_numbers[code, *types]` is it for a tensor and the values of
attributes, behind a check.
"""

from __future__ import annotations

from rushlight.autograd.mode import mode
from rushlight.ops._calls.elementwise_prepared import UNSET
from rushlight.tensor.dispatch import STATE
from rushlight.tensor.storage import storage_of
from rushlight.tensor.tensor import Parameter, Tensor


def short(op, general):
    """`general`, behind the short way where an op is elementwise in one or two tensors."""
    if op.paths.same is None:
        return general
    op.paths.writes_into()
    return _unary(op, general) if op.paths.mixed is None else _binary(op, general)


def _unary(op, general):
    into, into_numbers = op.paths.into, op.paths.into_numbers

    def call(self=UNSET, *args, **kwargs):
        kind = type(self)
        if (kind is Tensor or kind is Parameter) and not kwargs and not STATE.modes:
            if args:
                door = _with_numbers(into_numbers, self, args)
            else:
                door = into[self._dtype.code]
            if door is not None and not STATE.levels:
                free = not mode.recording or self._node is None and self._base is None
                if free and (not self._inference or mode.inference):
                    array = self._array
                    if door(array, *args, array) is not NotImplemented:
                        storage = self._storage
                        if storage is None:
                            storage = storage_of(self)
                        storage.version += 1
                        return self
        return general(self, *args, **kwargs)

    return call


def _with_numbers(known, tensor, args):
    """The builtin for a tensor and such numbers, which the op accepts; None where it is not known
    or they are too large to be exact, or to fit for sure."""
    found = known.get((tensor._dtype.code, *map(type, args)))
    if found is None:
        return None
    door, check, most = found
    for value in args:
        if not -most <= value <= most:
            return None
    if check is not None:
        check(tensor, *args)
    return door


def _binary(op, general):
    into, mixed = op.paths.into, op.paths.into_mixed

    def call(self=UNSET, *args, **kwargs):
        kind = type(self)
        if (
            (kind is Tensor or kind is Parameter)
            and len(args) == 1
            and not (kwargs or STATE.modes or STATE.levels)
            and (not self._inference or mode.inference)
            and (not mode.recording or self._node is None and self._base is None)
        ):
            (other,), dtype, array = args, self._dtype, self._array
            kind, door = type(other), None
            if kind is Tensor or kind is Parameter:
                if other._dtype is dtype and (other._node is None or not mode.recording):
                    door, other = into[dtype.code], other._array
            elif kind is float or kind is int:
                door = mixed[dtype.code] if kind is int or dtype.category > 1 else None
            if door is not None and door(array, other, array) is not NotImplemented:
                storage = self._storage
                if storage is None:
                    storage = storage_of(self)
                storage.version += 1
                return self
        return general(self, *args, **kwargs)

    return call
