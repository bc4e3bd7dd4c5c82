"""How tensors are put around arrays, by the shortest way.

`made`, `result` and `view` are looked up in this module at each call. In the beginning they are
Python; once machine code is in use anyway, compiled functions that do the same take their places
(:mod:`rushlight.backends.llvm_tensors`). Arrays are NumPy's own and sources plain tensors here, and
nothing is recorded.
"""

from __future__ import annotations

import types

from rushlight.autograd.mode import mode
from rushlight.autograd.node import LEAF, Node, next_sequence
from rushlight.backends import engine_watchers, np
from rushlight.backends.arrays import BY_ARRAY_DTYPE
from rushlight.tensor.dispatch import STATE
from rushlight.tensor.storage import Storage
from rushlight.tensor.tensor import Tensor

_new = object.__new__


def made(array, dtype):
    """A tensor around an array of this dtype."""
    out = _new(Tensor)
    out._array, out._dtype, out._node, out._storage = array, dtype, None, None
    return out


def result(array, source):
    """A tensor around an array computed from the tensor `source`; NotImplemented where there is no
    dtype for it."""
    dtype = BY_ARRAY_DTYPE.get(array.dtype)
    return NotImplemented if dtype is None else made(array, dtype)


def view(source, array, step):
    """A tensor around an array that shares the memory of `source`; NotImplemented where it does
    not, or is of another dtype. `step` is how it was taken: an op and its values."""
    own = source._array
    base = array.base
    if base is not own and array is not own and (base is None or base is not own.base):
        return NotImplemented
    if array.dtype is not own.dtype:
        return NotImplemented
    out = made(array, source._dtype)
    storage = source._storage
    if storage is None:
        storage = source._storage = Storage(own)
    out._storage = storage
    storage.add_view(out)
    if source._base is None:
        out._base, out._path = source, (step,)
    else:
        out._base, out._path = source._base, (*source._path, step)
    if source._writable is not None:
        out._writable = source._writable
    return out


def inferred(out):
    """`out`, marked where inference mode is on; callers look at ``STATE.inference`` first."""
    if STATE.inference and mode.inference:
        out._inference = True
    return out


# For arrays of other kinds, which machine code cannot look into.
in_python = types.SimpleNamespace(made=made, result=result, view=view)


def _not_compiled(*args):
    """In place of a function that only machine code has."""
    return NotImplemented


# Views made whole, where nothing is unusual (:mod:`rushlight.backends.llvm_views`).
indexed = reshaped = permuted = swapped = expanded = parts = _not_compiled
recorded = _not_compiled  # :mod:`rushlight.backends.llvm_recording`
_slice_op = None


def slices_by(op):
    """Say which op is basic indexing: `indexed` notes it in the views it makes."""
    global _slice_op
    _slice_op = op


def _compile(engine):
    """Let machine code take over, unless ``RUSHLIGHT_DOOR=python`` asks to keep to Python."""
    from rushlight.backends.llvm_door import is_available

    if _slice_op is None or not is_available():
        return
    from rushlight.backends.llvm_tensors import TensorDoors

    storage = Storage(np.zeros(1, np.float32))
    probe = made(storage.array, BY_ARRAY_DTYPE[storage.array.dtype])
    probe._storage = storage
    node = Node(None, (), None)
    doors = TensorDoors(engine, probe, storage, BY_ARRAY_DTYPE, node, LEAF, next_sequence)
    doors.slices_by(_slice_op)
    names = "made result view indexed reshaped permuted swapped expanded parts recorded".split()
    globals().update({name: getattr(doors, name) for name in names}, _doors=doors)


engine_watchers.append(_compile)
