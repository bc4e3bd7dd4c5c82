"""Device arrays to and from other libraries without a copy: DLPack and CUDA's array interface."""

from __future__ import annotations

import ctypes

from rushlight.backends import ml_dtypes, np
from rushlight.backends.cuda import runtime
from rushlight.backends.cuda.device_array import DeviceArray

_CUDA = 2
_CODES = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}
_BFLOAT = 4
_NAME, _USED = b"dltensor", b"used_dltensor"


class _Tensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int),
        ("device_id", ctypes.c_int),
        ("ndim", ctypes.c_int),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


class _Managed(ctypes.Structure):
    """DLPack's managed tensor: what a capsule holds."""


_Deleter = ctypes.CFUNCTYPE(None, ctypes.POINTER(_Managed))
_Managed._fields_ = (("tensor", _Tensor), ("context", ctypes.c_void_p), ("deleter", _Deleter))
_Destructor = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_held: dict[int, tuple] = {}  # address of a managed tensor -> what must live as long


@_Deleter
def _delete(managed):
    _held.pop(ctypes.addressof(managed.contents), None)


@_Destructor
def _unused(capsule):
    """A capsule that nobody took: its memory is let go."""
    api = ctypes.pythonapi
    api.PyCapsule_IsValid.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
    if api.PyCapsule_IsValid(capsule, _NAME):
        api.PyCapsule_GetPointer.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
        api.PyCapsule_GetPointer.restype = ctypes.c_void_p
        _held.pop(api.PyCapsule_GetPointer(capsule, _NAME), None)


def export(array, *, stream=None, max_version=None, dl_device=None, copy=None):
    """A DLPack capsule of a device array; it keeps the memory alive."""
    if dl_device is not None and tuple(dl_device) != (_CUDA, array.device):
        raise BufferError(
            f"__dlpack__: the array is on CUDA device {array.device}, not {dl_device}"
        )
    array = array.copy() if copy else array
    current = runtime.current()
    if stream not in (None, -1) and current.name != "emu":  # the taker's may be another than ours
        current.stream_synchronize(current.streams.current(array.device))
    item, kind = array.itemsize, array.dtype.kind
    code = _BFLOAT if array.dtype == ml_dtypes.bfloat16 else _CODES[kind]
    shape = (ctypes.c_int64 * max(array.ndim, 1))(*array.shape)
    strides = (ctypes.c_int64 * max(array.ndim, 1))(*[s // item for s in array.strides])
    managed = _Managed()
    managed.tensor = _Tensor(
        array.address, _CUDA, array.device, array.ndim, code, 8 * item, 1, shape, strides, 0
    )
    managed.deleter = _delete
    place = ctypes.addressof(managed)
    _held[place] = managed, array, shape, strides
    make = ctypes.pythonapi.PyCapsule_New
    make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, _Destructor]
    return make(place, _NAME, _unused)


class _Foreign:
    """Memory of another library, as a block."""

    __slots__ = ("__weakref__", "address", "device", "nbytes", "owner", "release")

    def __init__(self, address, nbytes, device, owner, release=None):
        self.address, self.nbytes, self.device = address, nbytes, device
        self.owner, self.release = owner, release

    def used_by(self, stream) -> None:
        """The owner answers for when its memory is given to others."""

    def __del__(self):
        if self.release is not None:
            self.release()


def _over(address, shape, strides, dtype, device, owner, release=None):
    extent = dtype.itemsize
    for n, s in zip(shape, strides or (), strict=False):
        extent += (n - 1) * abs(s) if n else 0
    if strides is None:
        extent = dtype.itemsize * int(np.prod(shape, dtype=np.int64))
    block = _Foreign(address, extent, device, owner, release)
    return DeviceArray(block, shape, dtype, strides)


def from_interface(value) -> DeviceArray:
    """A device array over the memory of an object with ``__cuda_array_interface__``."""
    found = value.__cuda_array_interface__
    address, read_only = found["data"]
    shape, dtype = tuple(found["shape"]), np.dtype(found["typestr"])
    if dtype.kind == "V" and dtype.itemsize == 2:
        dtype = np.dtype(ml_dtypes.bfloat16)
    strides = found.get("strides")
    device = getattr(value, "device", None)
    index = getattr(device, "id", getattr(device, "index", device))
    index = index if isinstance(index, int) else runtime.streams.current_device()
    made = _over(address, shape, None if strides is None else tuple(strides), dtype, index, value)
    made._writeable = not read_only
    return made


def from_capsule(capsule) -> DeviceArray:
    """A device array over the memory of a DLPack capsule."""
    api = ctypes.pythonapi
    get, rename = api.PyCapsule_GetPointer, api.PyCapsule_SetName
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    rename.argtypes = [ctypes.py_object, ctypes.c_char_p]
    managed = ctypes.cast(get(capsule, _NAME), ctypes.POINTER(_Managed))
    tensor = managed.contents.tensor
    if tensor.device_type != _CUDA:
        raise BufferError(
            f"from_dlpack: the memory is on device type {tensor.device_type}, not CUDA"
        )
    kinds = {code: kind for kind, code in _CODES.items()}
    if tensor.code == _BFLOAT:
        dtype = np.dtype(ml_dtypes.bfloat16)
    elif tensor.code == _CODES["b"]:
        dtype = np.dtype(bool)
    else:
        dtype = np.dtype(f"{kinds[tensor.code]}{tensor.bits // 8}")
    shape = tuple(tensor.shape[i] for i in range(tensor.ndim))
    strides = None
    if tensor.strides:
        strides = tuple(tensor.strides[i] * dtype.itemsize for i in range(tensor.ndim))
    rename(capsule, _USED)
    address = tensor.data + tensor.byte_offset

    def release():
        managed.contents.deleter(managed)

    return _over(address, shape, strides, dtype, tensor.device_id, capsule, release)
