"""Ops on GPUs: the same declarations, run on device arrays.

Elementwise bodies and formulas become generated kernels. Other ops run their own device kernel
(``op.cuda(kernel)``) or their body, in which every kernel's name means the handwritten one for
devices and NumPy's functions are array code (`rushlight.compiler.cuda.translation`). `ran` counts,
by op, which of these it was.
"""

from __future__ import annotations

import collections

from rushlight.compiler.cuda import array_code, translation
from rushlight.compiler.cuda.compilation import compile_for_device
from rushlight.compiler.cuda.device_array import DeviceArray, from_host
from rushlight.compiler.cuda.translation import on_device
from rushlight.dtypes import FLOAT
from rushlight.machine import np

translation.ARRAY_LAYERS += ["rushlight.ops.", "rushlight.tensor.memory_format"]
translation.OWN |= {
    ("rushlight.ops.losses.pointwise_losses", "_divided"): translation.divided,
    ("rushlight.ops.indexing.index_checks", "check_bounds"): translation.unchecked,
    ("rushlight.ops.indexing.taking", "flat_places"): translation.flat_places,
    ("rushlight.ops.shape.views", "_follow_array"): translation.followed,
    ("rushlight.ops.elementwise.special_gamma", "_log_gamma"): translation.log_gamma,
}

ran: dict[str, collections.Counter] = {
    kind: collections.Counter() for kind in ("generated", "handwritten", "array code", "view")
}


def results_of(op, arrays, device):
    """What an op's body or kernel gives for device arrays."""
    kernel = getattr(op, "cuda_kernel", None)
    if kernel is None:
        kernel = on_device(op.array_kernel)
    before = array_code.counts[op.name], translation.used.get(op.name, 0)
    with array_code.running_op(op.name, device.index):
        if len(arrays) == op.positional:
            results = kernel(*arrays)
        else:
            named = zip(op.names[op.positional :], arrays[op.positional :], strict=True)
            results = kernel(*arrays[: op.positional], **dict(named))
        _count(op, before)
        if isinstance(results, (tuple, list)):
            return [_on_device(r, device.index) for r in results]
        return _on_device(results, device.index)


def translated(function):
    """A function of arrays, outside of an op, as it runs on device arrays."""
    made = translation._value(function)

    def call(array, *args, **kwargs):
        with array_code.running_op(function.__name__, array.device):
            return made(array, *args, **kwargs)

    return call


class Kernels:
    """A module of kernels as code outside of ops calls it, on device arrays."""

    def __init__(self, module):
        self._module = module

    def __getattr__(self, name):
        function = translation._value(getattr(self._module, name))

        def call(arrays, *args, **kwargs):
            with array_code.running_op(name, arrays[0].device):
                return function(arrays, *args, **kwargs)

        self.__dict__[name] = call
        return call


def _count(op, before):
    code, written = before
    if array_code.counts[op.name] > code:
        ran["array code"][op.name] += 1
    elif translation.used.get(op.name, 0) > written or hasattr(op, "cuda_kernel"):
        ran["handwritten"][op.name] += 1
    else:
        ran["generated"][op.name] += 1  # copies and casts


def _on_device(result, index):
    """A kernel's result as a device array: numbers and arrays of the host are uploaded."""
    if result is None or type(result) is DeviceArray:
        return result
    array_code.uploads[array_code.running.op] += 1
    return from_host(np.asarray(result), index)


def view_of(op, array, values):
    """What a view op gives for a device array."""
    ran["view"][op.name] += 1
    with array_code.running_op(op.name, array.device):
        return on_device(op.body)(array, *values)


def kernel_of(op, key, build):
    """The kernel of an elementwise op for a key; `build` compiles it."""
    kernels = op.paths.gpu_kernels
    kernel = kernels.get(key)
    if kernel is None:
        kernel = kernels[key] = build(compile_for_device)
    return kernel


def run_elementwise(op, kernel, arrays, scalars, device):
    """Call an elementwise op's kernel; tensors of the host of one element join as numbers."""
    generated = hasattr(kernel, "printer")
    ran["generated" if generated else "array code"][op.name] += 1
    with array_code.running_op(op.name, device.index):
        if arrays and all(type(a) is not DeviceArray for a in arrays):
            arrays = [from_host(a, device.index) for a in arrays]
        return kernel(*arrays, *scalars)


def fused(formula, grad, args):
    """A gradient formula of an elementwise op as one generated kernel; None where it has none."""
    dtype = grad._dtype
    if dtype.category != FLOAT or type(grad._array) is not DeviceArray:
        return None  # inside of function transforms
    arrays, key, scalars = [grad._array], ["cuda", dtype.code], []
    for value, tensor in zip(args, formula.tensors[1:], strict=True):
        if tensor:
            if value._dtype is not dtype or type(value._array) is not DeviceArray:
                return None
            arrays.append(value._array)
        elif type(value) is float or type(value) is int:
            scalars.append(value)
            key.append(type(value))
        else:
            key.append(value)
    try:
        entry = formula.kernels.get(tuple(key))
    except TypeError:
        return None
    if entry is None:
        entry = formula.kernels[tuple(key)] = formula._build(dtype, args, compile_for_device)
    kernel = entry[0]
    if kernel is None or not hasattr(kernel, "printer"):
        return None
    with array_code.running_op(formula.op.name, grad._array.device):
        return kernel(*arrays, *scalars)
