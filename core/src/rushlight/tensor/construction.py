"""How tensors are put around arrays, by the shortest way.

`made`, `result` and `view` are looked up in this module at each call. In the beginning they are
Python; once machine code is in use anyway, native functions that do the same take their places
(:mod:`rushlight.machine.native_table` lists them). Arrays are NumPy's own and sources plain tensors
here, and nothing is recorded.
"""

from __future__ import annotations

import importlib
import types

from rushlight import devices
from rushlight.autograd.mode import mode
from rushlight.autograd.node import LEAF
from rushlight.machine import np
from rushlight.machine.arrays import BY_ARRAY_DTYPE
from rushlight.machine.meta_array import MetaArray, block_of, meta_array, stand_in
from rushlight.tensor.dispatch import STATE
from rushlight.tensor.storage import storage_of
from rushlight.tensor.tensor import Tensor, make_tensor

_new = object.__new__


def made(array, dtype):
    """A tensor around an array of this dtype."""
    out = _new(Tensor)
    out._array, out._dtype, out._node, out._storage = array, dtype, None, None
    return out


_made = made


def result(array, source):
    """A tensor around an array computed from the tensor `source`; NotImplemented where there is no
    dtype for it."""
    dtype = BY_ARRAY_DTYPE.get(array.dtype)
    return NotImplemented if dtype is None else _made(array, dtype)


def view(source, array, step):
    """A tensor around an array that shares the memory of `source`; NotImplemented where it does
    not, or is of another dtype. `step` is how it was taken: an op and its values."""
    if not shares(array, source._array) or array.dtype is not source._array.dtype:
        return NotImplemented
    out = _made(array, source._dtype)
    link(out, source, step)
    return out


def reinterpreted(source, array, step):
    """:func:`view` of an array whose dtype is another than that of the source."""
    if not shares(array, source._array):
        return NotImplemented
    out = _made(array, BY_ARRAY_DTYPE[array.dtype])
    link(out, source, step)
    return out


def shares(array, source):
    """Whether a view op's result is a view: NumPy copies where strides cannot express it."""
    base, owner = array.base, source.base
    if array is source or base is source or (base is not None and base is owner):
        return True
    if type(array) is MetaArray:
        return block_of(array) is block_of(source)
    # NumPy's stride tricks put an object of theirs between a view and its source; such a view may
    # have been taken of again.
    if type(array) is not np.ndarray:
        return False
    between = base.base if type(base) is np.ndarray else base
    if between is None or type(between) is np.ndarray:
        return False
    held = getattr(between, "base", None)
    if held is None:
        return False
    if held is source or held is owner:
        return True
    under = held.base if type(held) is np.ndarray else None  # of a view that was taken on the way
    return under is not None and (under is source or under is owner)


def link(out, base, step):
    """Note that `out` is a view of `base`, taken by a step: writes to either reach the other."""
    storage = out._storage = storage_of(base)
    storage.add_view(out)
    if base._base is None:
        out._base, out._path = base, (step,)
    else:
        out._base, out._path = base._base, (*base._path, step)
    if base._writable is not None:
        out._writable = base._writable


def without_values(tensor):
    """A tensor of the meta device with the shape, dtype and strides of this one, at its offset in a
    storage of the same size: what a program that is captured has instead."""
    tensor = tensor.detach()
    array = tensor._array
    if type(tensor) is not Tensor or type(array) is not np.ndarray:
        return tensor if tensor._device is devices.meta else tensor.to(devices.meta)
    size, offset = array.nbytes, 0
    if array.size:
        owner = storage_of(tensor)
        size, offset = owner.nbytes(), tensor.storage_offset() * array.itemsize
    return make_tensor(stand_in(array, size, offset), tensor._dtype, devices.meta)


class Refusal:
    """Instead of the steps of a view that may not be written to, after a write to its base: to
    take them again is an error, for the reason why it may not."""

    __slots__ = ("message",)

    def __init__(self, reason):
        done = "its base or another view of its base has been"
        self.message = reason.replace("is being", done, 1)

    def __iter__(self):
        raise RuntimeError(self.message)


def inferred(out):
    """`out`, marked where inference mode is on."""
    if STATE.inference and mode.inference:
        out._inference = True
    return out


def seen(base, out):
    """`out`, a view taken of `base` in inference mode: as that is, an inference tensor or none. One
    of a tensor that needs a gradient is a leaf, which writes outside of the mode may not change."""
    out._inference = base._inference or base._base is not None and base._base._inference
    if not out._inference:
        if base._node is not None and out._node is None:
            out._node = LEAF
        if out._base is not None:
            out._writable = _SEEN
    return out


def looked_at(base, out):
    """`out`, a view or views of `base`, marked where inference mode is on."""
    if STATE.inference and mode.inference:
        for view_ in out if type(out) in (list, tuple) else (out,):
            seen(base, view_)
    return out


_SEEN = (
    "A view was created in inference mode and is being modified inplace in normal mode. Given that "
    "this use case is ambiguous and error-prone, it is forbidden. Make the view outside of the "
    "mode, or clone it."
)


# For arrays of other kinds, which machine code cannot look into.
in_python = types.SimpleNamespace(
    made=made, result=result, view=view, reinterpreted=reinterpreted, seen=seen
)


def _not_compiled(*args):
    """Instead of a function that only machine code has."""
    return NotImplemented


# Views made whole, where nothing is unusual (:mod:`rushlight.fastpath.views`).
indexed = reshaped = permuted = swapped = expanded = windowed = parts = _not_compiled
recorded = viewed = noted = _not_compiled  # :mod:`rushlight.fastpath.recording`
arrays = written = counted = _not_compiled  # :mod:`rushlight.fastpath.lists`
below = fits = handed = _not_compiled  # :mod:`rushlight.fastpath.backward`
dense = cleared = _not_compiled  # :mod:`rushlight.fastpath.shapes`
results = plain = _not_compiled  # :mod:`rushlight.fastpath.results`
shared = fresh = alike = _not_compiled  # :mod:`rushlight.fastpath.creation`
slice_op = None


def slices_by(op):
    """Say which op is basic indexing: `indexed` notes it in the views it makes."""
    global slice_op
    slice_op = op


def zeros_on(device, shape, array_dtype):
    """Zeros on a device."""
    if device is devices.cpu:
        return np.zeros(shape, array_dtype)
    if device is devices.meta:
        return meta_array(shape, array_dtype)
    module = importlib.import_module("rushlight.compiler.cuda.device_array")
    return module.zeros(shape, array_dtype, device.index)
