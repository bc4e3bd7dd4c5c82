"""Safetensors files: tensors by name, nothing that could run (``rushlight.safetensors``)."""

from __future__ import annotations

import os

from rushlight.backends import np
from rushlight.backends.arrays import BY_CODE
from rushlight.dtypes import NAMES
from rushlight.serialization.atomic import replacing
from rushlight.tensor.tensor import Tensor, make_tensor

_CODES = {
    "F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16", "I64": "int64",
    "I32": "int32", "I16": "int16", "I8": "int8", "U8": "uint8", "BOOL": "bool",
    "C64": "complex64",
}  # fmt: skip


def save(tensors, metadata=None) -> bytes:
    """A dict of tensors as the bytes of a safetensors file."""
    from safetensors import serialize

    names, arrays = set(_CODES.values()), {}
    for key, tensor in tensors.items():
        if not isinstance(tensor, Tensor):
            raise ValueError(f"safetensors: '{key}' is a {type(tensor).__name__}, not a Tensor")
        if tensor.dtype.name not in names:
            raise ValueError(f"safetensors: '{key}' has dtype {tensor.dtype}, which has no code")
        arrays[key] = np.ascontiguousarray(tensor.detach()._array).reshape(tuple(tensor.shape))
    entries = {key: _entry(tensors[key].dtype.name, array) for key, array in arrays.items()}
    return bytes(serialize(entries, metadata=metadata))


def _entry(dtype_name, array):
    """One tensor as the installed library takes it: by address since 0.8, as bytes before."""
    import safetensors._safetensors_rust as library

    if not hasattr(library, "TensorSpec"):
        return {"dtype": dtype_name, "shape": array.shape, "data": array.tobytes()}
    return library.TensorSpec(
        dtype=dtype_name, shape=array.shape, data_ptr=array.ctypes.data, data_len=array.nbytes
    )


def save_file(tensors, filename, metadata=None) -> None:
    """Write a dict of tensors to a safetensors file, atomically."""
    data = save(tensors, metadata)
    with replacing(filename) as file:
        file.write(data)


def load(data: bytes) -> dict:
    """The tensors in the bytes of a safetensors file."""
    return _load(data, "the data")


def load_file(filename, device="cpu") -> dict:
    """The tensors of a safetensors file, by name."""
    with open(filename, "rb") as file:
        data = file.read()
    return {k: t.to(device) for k, t in _load(data, f"'{os.fspath(filename)}'").items()}


def _load(data, label):
    from safetensors import SafetensorError, deserialize

    try:
        entries = deserialize(data)
    except SafetensorError as error:
        raise RuntimeError(f"{label} is no safetensors file, or damaged: {error}") from None
    tensors = {}
    for name, entry in entries:
        if entry["dtype"] not in _CODES:
            raise NotImplementedError(f"{label}: '{name}' has dtype {entry['dtype']}")
        dtype = NAMES[_CODES[entry["dtype"]]]
        array = np.frombuffer(bytearray(entry["data"]), BY_CODE[dtype.code])
        tensors[name] = make_tensor(array.reshape(entry["shape"]), dtype)
    return tensors
