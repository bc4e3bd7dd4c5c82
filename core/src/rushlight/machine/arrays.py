"""The array library's dtypes by Rushlight's codes, and allocation."""

from __future__ import annotations

import ml_dtypes
import numpy as np

from rushlight import dtypes
from rushlight.dtypes import ALL
from rushlight.machine import narrow
from rushlight.machine.meta_array import MetaArray, restrided

bfloat16, complex32 = np.dtype(ml_dtypes.bfloat16), np.dtype(ml_dtypes.complex32)
_eight = {
    "float8_e4m3fn": np.dtype(ml_dtypes.float8_e4m3fn),
    "float8_e5m2": np.dtype(ml_dtypes.float8_e5m2),
    "float8_e4m3fnuz": np.dtype(ml_dtypes.float8_e4m3fnuz),
    "float8_e5m2fnuz": np.dtype(ml_dtypes.float8_e5m2fnuz),
    "float8_e8m0fnu": np.dtype(ml_dtypes.float8_e8m0fnu),
}
eight_bits = frozenset(_eight.values())
_OUTSIDE = {"bfloat16": bfloat16, "complex32": complex32, **_eight}  # of NumPy itself
# What NumPy's own functions take in their place, exactly: to show, list and save numbers.
WIDER = {
    complex32: np.dtype(np.complex64),
    **dict.fromkeys((bfloat16, *_eight.values()), np.dtype(np.float32)),
}
BY_CODE = tuple(_OUTSIDE.get(d.name) or np.dtype(d.name) for d in ALL)
# Integers of the same width for dtypes whose letters NumPy cannot read back.
_BITS = {complex32: np.dtype(np.int32), **dict.fromkeys(_eight.values(), np.dtype(np.uint8))}
_ndarray = np.ndarray
BY_ARRAY_DTYPE = dict(zip(BY_CODE, ALL, strict=True))


def strided(array, shape, strides):
    """A view of memory with any shape and strides (in bytes), of the same class."""
    if type(array) is MetaArray:
        return restrided(array, shape, strides)
    if not isinstance(array, np.ndarray):  # a GPU's
        return array.as_strided(shape, strides)
    bits = _BITS.get(array.dtype)
    if bits is None:
        return np.lib.stride_tricks.as_strided(array, shape, strides, subok=True)
    return strided(array.view(bits), shape, strides).view(array.dtype)


def is_array(value) -> bool:
    """Whether a value is an array, of NumPy or on a device."""
    return isinstance(value, np.ndarray) or hasattr(value, "__cuda_array_interface__")


def of_one_kind(array):
    """An array that comes from outside, and its dtype, None where there is none for it.

    NumPy's dtypes may be equal and yet other objects (in arrays from pickles, of another byte
    order and back, with metadata, ``longlong``). Inside each kind is one object, so that kernels
    compare by identity: the array is seen under that one.
    """
    found = BY_ARRAY_DTYPE.get(array.dtype)
    if found is None or array.dtype is BY_CODE[found.code]:
        return array, found
    return array.view(BY_CODE[found.code]), found


def dtype_of(array):
    """The dtype of an array, as Rushlight's."""
    return BY_ARRAY_DTYPE[array.dtype]


def as_array(value, array_dtype=None):
    """An ndarray from what NumPy returned: its reductions give scalars. No copy if it is one."""
    return np.asarray(value, array_dtype)


_BETWEEN = {np.dtype(np.uint8): np.int64, np.dtype(np.uint32): np.int64}


def cast(array, code: int):
    """`array` in another dtype by PyTorch's rules: complex to real drops the imaginary part; floats
    become integers of 8 and 16 bits by way of int32, uint8 and uint32 by way of int64, and what
    those cannot hold is their smallest number, as on x86."""
    target = BY_CODE[code]
    if array.dtype is target or array.dtype == target:
        return array
    if type(array) is MetaArray:
        return array.astype(target)
    if array.dtype is complex32 or target is complex32:
        return _halves(array) if target is complex32 else cast(array.astype(np.complex64), code)
    if array.dtype in eight_bits:
        return cast(array.astype(np.float32), code)
    if target in eight_bits:
        array = cast(array, dtypes.float32.code)
        on_device = hasattr(array, "__cuda_array_interface__")
        return array.astype(target) if on_device else narrow.to_eight_bits(array, target)
    if array.dtype.kind == "c" and target.kind != "c":
        array = array != 0 if target.kind == "b" else array.real
    if array.dtype == bfloat16 and target.kind in "iu":
        array = array.astype(np.float32)  # ml_dtypes keeps to the integers' ends, from 0.7 on
    with np.errstate(all="ignore"):
        if target.kind in "iu" and target.itemsize < 8 and _is_float(array.dtype):
            return array.astype(_BETWEEN.get(target, np.int32)).astype(target, copy=False)
        return array.astype(target)


def _halves(array):
    """An array as complex32, through complex64: each part is rounded twice, as in PyTorch."""
    with np.errstate(all="ignore"):
        return array.astype(np.complex64, copy=False).astype(complex32)


def is_complex(array_dtype) -> bool:
    """Whether an array's dtype is one of complex numbers: complex32 is no kind of NumPy's."""
    return array_dtype.kind == "c" or array_dtype == complex32


def _is_float(array_dtype):
    return array_dtype.kind == "f" or array_dtype == bfloat16
