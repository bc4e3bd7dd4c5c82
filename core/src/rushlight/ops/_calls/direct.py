"""Gradients computed on arrays at once, without an op for each step.

In an ordinary backward pass nobody records what a formula does. A formula with a kernel of its own
asks `on_arrays`, runs the kernel and wraps what it gave; otherwise it is written with ops, which
serves ``create_graph``, the meta device and whatever watches the ops.
"""

from __future__ import annotations

import importlib

from rushlight.autograd.mode import mode
from rushlight.dtypes import float32, float64
from rushlight.machine import np
from rushlight.machine.arrays import BY_ARRAY_DTYPE
from rushlight.tensor import construction as make
from rushlight.tensor.dispatch import STATE
from rushlight.tensor.memory_format import lies_by_rows
from rushlight.tensor.tensor import EXACT, Parameter, Tensor, make_tensor

_ndarray = np.ndarray


def on_arrays(*tensors):
    """Whether a formula may take the arrays of these tensors (or Nones): all are plain, nothing is
    recorded, no mode is active."""
    if mode.recording or STATE.modes:
        return False
    if make.plain(*tensors) is None:
        return True
    for tensor in tensors:
        kind = type(tensor)
        if kind is Tensor or kind is Parameter:
            if type(tensor._array) is not _ndarray:
                return False
        elif tensor is not None:
            return False
    return True


def on_cpu(tensor):
    """Whether no mode is active and an exact tensor has an ordinary array."""
    return type(tensor._array) is _ndarray and not STATE.modes


def unrecorded(*tensors):
    """Whether a call of these tensors (or Nones) is a matter of their arrays alone: all are plain,
    no mode is active, and nothing is recorded or none is part of a graph."""
    if STATE.modes:
        return False
    recording = mode.recording
    for tensor in tensors:
        if tensor is not None:
            if type(tensor) not in EXACT or type(tensor._array) is not _ndarray:
                return False
            if recording and tensor._node is not None:
                return False
    return True


def is_plain_float(tensor):
    """Whether a call of this one tensor is a matter of its array alone: float32 or float64, row by
    row on the CPU, in no graph, and no mode is active."""
    array = tensor._array
    return (
        tensor._node is None
        and type(array) is _ndarray
        and type(tensor) in EXACT
        and not STATE.modes
        and tensor._dtype.code in _PLAIN_FLOATS
        and array.flags.c_contiguous
    )


_PLAIN_FLOATS = frozenset({float32.code, float64.code})


def on_gpu(*tensors):
    """The same for arrays of a GPU, on which the functions of :func:`translated` run."""
    if mode.recording or STATE.modes:
        return False
    for tensor in tensors:
        if tensor is not None and (type(tensor) not in EXACT or tensor._device.type != "cuda"):
            return False
    return True


def translated(function):
    """A function of arrays as it runs on those of a GPU."""
    return importlib.import_module("rushlight.ops._table.cuda").translated(function)


def tensor_of(array):
    """A tensor around a kernel's result."""
    if type(array) is not _ndarray:
        return make_tensor(array, BY_ARRAY_DTYPE[array.dtype])
    out = make.made(array, BY_ARRAY_DTYPE[array.dtype])
    if STATE.inference and mode.inference:
        out._inference = True
    return out


def arrays_of(*tensors):
    """The arrays of tensors, None staying None."""
    return [None if tensor is None else tensor._array for tensor in tensors]


def tensors_of(arrays):
    """The same for several, None staying None."""
    if not STATE.inference:
        found = make.results(tuple(arrays))
        if found is not NotImplemented:
            return found
    return [None if array is None else tensor_of(array) for array in arrays]


def lies_plainly(tensor):
    """Whether an exact tensor of some elements is row-major in memory of the CPU and no function
    transform is around."""
    array = tensor._array
    if STATE.levels or type(tensor) not in EXACT or type(array) is not _ndarray:
        return False
    return (
        array.flags.c_contiguous
        and array.size > 0
        and (1 not in array.shape or lies_by_rows(array))
    )
