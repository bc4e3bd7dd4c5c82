"""Device arrays to and from other libraries without a copy: DLPack and CUDA's array interface; and
arrays of the host whose dtypes NumPy's own DLPack does not know.
"""

from __future__ import annotations

import ctypes
import math
import weakref

from rushlight.compiler.cuda.device_array import DeviceArray
from rushlight.machine import np
from rushlight.machine.arrays import BY_CODE, bfloat16, complex32, eight_bits, is_complex
from rushlight.machine.cuda import runtime

_HOST, _CUDA = 1, 2
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
    item, code = array.itemsize, _code(array.dtype)
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


_EIGHT_BITS = {
    "float8_e4m3fn": 10, "float8_e4m3fnuz": 11, "float8_e5m2": 12, "float8_e5m2fnuz": 13,
    "float8_e8m0fnu": 14,
}  # fmt: skip


def _code(dtype):
    """DLPack's number of a dtype's kind."""
    if dtype == bfloat16:
        return _BFLOAT
    if dtype in eight_bits:
        return _EIGHT_BITS[dtype.name]
    return _CODES["c" if is_complex(dtype) else dtype.kind]


_pointer_in = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)


def _managed(capsule):
    """What an unused capsule holds."""
    return ctypes.cast(_pointer_in(capsule, _NAME), ctypes.POINTER(_Managed))


def of_host(array, *, stream=None, max_version=None, dl_device=None, copy=None):
    """A DLPack capsule of an array of the host that NumPy exports as bits only."""
    capsule = array.view(f"u{array.itemsize}").__dlpack__(dl_device=dl_device, copy=copy)
    _managed(capsule).contents.tensor.code = _code(array.dtype)
    return capsule


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


def _extent(shape, strides, dtype):
    """How many bytes there are from the first element's to the last one's."""
    count = math.prod(shape)
    if strides is None or not count:
        return count * dtype.itemsize
    return dtype.itemsize + sum((n - 1) * abs(s) for n, s in zip(shape, strides, strict=True))


def _over(address, shape, strides, dtype, device, owner, release=None):
    block = _Foreign(address, _extent(shape, strides, dtype), device, owner, release)
    return DeviceArray(block, shape, dtype, strides)


def from_interface(value) -> DeviceArray:
    """A device array over the memory of an object with ``__cuda_array_interface__``."""
    found = value.__cuda_array_interface__
    address, read_only = found["data"]
    shape, dtype = tuple(found["shape"]), np.dtype(found["typestr"])
    if dtype.kind == "V" and dtype.itemsize in (2, 4):  # as ours say it
        dtype = bfloat16 if dtype.itemsize == 2 else complex32
    strides = found.get("strides")
    device = getattr(value, "device", None)
    index = getattr(device, "id", getattr(device, "index", device))
    index = index if isinstance(index, int) else runtime.streams.current_device()
    made = _over(address, shape, None if strides is None else tuple(strides), dtype, index, value)
    made._writeable = not read_only
    return made


def _dtype(tensor):
    """The dtype of a DLPack tensor's elements."""
    for dtype in BY_CODE:
        if tensor.lanes == 1 and tensor.bits == 8 * dtype.itemsize and tensor.code == _code(dtype):
            return dtype
    raise BufferError(
        f"from_dlpack: no dtype has elements of {tensor.lanes} x {tensor.bits} bits of DLPack's "
        f"kind {tensor.code}"
    )


def from_capsule(capsule):
    """An array over the memory of a DLPack capsule: of a device or of the host."""
    rename = ctypes.pythonapi.PyCapsule_SetName
    rename.argtypes = [ctypes.py_object, ctypes.c_char_p]
    managed = _managed(capsule)
    tensor = managed.contents.tensor
    if tensor.device_type not in (_HOST, _CUDA):
        raise BufferError(
            f"from_dlpack: the memory is on device type {tensor.device_type}, neither the CPU nor "
            "CUDA"
        )
    dtype = _dtype(tensor)
    shape = tuple(tensor.shape[i] for i in range(tensor.ndim))
    strides = None
    if tensor.strides:
        strides = tuple(tensor.strides[i] * dtype.itemsize for i in range(tensor.ndim))
    rename(capsule, _USED)
    address = tensor.data + tensor.byte_offset if math.prod(shape) else 0

    def release():
        managed.contents.deleter(managed)

    if tensor.device_type == _HOST:
        buffer = (ctypes.c_byte * _extent(shape, strides, dtype)).from_address(address)
        weakref.finalize(buffer, release).atexit = False
        return np.ndarray(shape, dtype, buffer, 0, strides)
    return _over(address, shape, strides, dtype, tensor.device_id, capsule, release)
