"""Safetensors files: tensors by name, nothing that could run (``rushlight.safetensors``).

The format: eight bytes with the length of a JSON header, the header, then the tensors' bytes
without gaps. Files are written by the format's own library and read here, entry by entry, straight
into the tensors' memory: a load takes as much memory as the tensors.
"""

from __future__ import annotations

import json
import math
import os
import re
import sys
from json.decoder import scanstring

from rushlight.dtypes import NAMES
from rushlight.machine import np
from rushlight.machine.arrays import BY_CODE
from rushlight.serialization.archive import _read_some
from rushlight.serialization.atomic import replacing
from rushlight.serialization.restricted import shown
from rushlight.serialization.room import room
from rushlight.tensor.tensor import Tensor, make_tensor

_CODES = {
    "F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16", "I64": "int64",
    "I32": "int32", "I16": "int16", "I8": "int8", "U8": "uint8", "BOOL": "bool",
    "C64": "complex64", "U16": "uint16", "U32": "uint32", "U64": "uint64",
}  # fmt: skip
_LONGEST_HEADER = 100_000_000  # the format's own limit
_SPARE = 48 << 20  # bytes that a load may take beyond the file's, for the header
_ENTRY = re.compile(r"\s*(\{[^{}]{0,100000}\})\s*")
# The strings of metadata may hold braces, as other programs' JSON does, and be of any length.
_METADATA = re.compile(r'\s*+(\{(?:[^{}"]++|"(?:[^"\\]++|\\.)*+")*+\})\s*')
_FIELDS = {"dtype", "shape", "data_offsets"}
_PER_TENSOR = 1200  # bytes of the objects that stand for a tensor
_PER_QUOTE = 60


def save(tensors, metadata=None) -> bytes:
    """A dict of tensors as the bytes of a safetensors file."""
    from safetensors import serialize

    arrays = _arrays(tensors)  # entries know addresses alone: what is copied must stay until then
    entries = {key: _entry(tensors[key].dtype.name, array) for key, array in arrays.items()}
    return bytes(serialize(entries, metadata=metadata))


def _arrays(tensors):
    """The values of a dict of tensors, one after the other in memory."""
    names, arrays = set(_CODES.values()), {}
    for key, tensor in tensors.items():
        if not isinstance(tensor, Tensor):
            raise ValueError(f"safetensors: '{key}' is a {type(tensor).__name__}, not a Tensor")
        if tensor.dtype.name not in names:
            raise ValueError(f"safetensors: '{key}' has dtype {tensor.dtype}, which has no code")
        arrays[key] = np.ascontiguousarray(tensor.detach()._array).reshape(tuple(tensor.shape))
    return arrays


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
    import io

    return _load(io.BytesIO(data), len(data), "the data")


def load_file(filename, device="cpu") -> dict:
    """The tensors of a safetensors file, by name."""
    with open(filename, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        found = _load(file, size, f"'{os.fspath(filename)}'")
    return {k: t.to(device) for k, t in found.items()} if str(device) != "cpu" else found


def _load(file, size, label):
    try:
        return _tensors(file, size)
    except NotImplementedError as error:
        raise NotImplementedError(f"{label}: {error}") from None
    except (ValueError, TypeError, KeyError, RecursionError, MemoryError, OverflowError) as error:
        text = str(error)[:500] or type(error).__name__
        raise RuntimeError(f"{label} is no safetensors file, or damaged: {text}") from None


def _tensors(file, size):
    length = int.from_bytes(file.read(8), "little")
    if size < 8 or length > min(size - 8, _LONGEST_HEADER):
        raise ValueError(f"a header of {length} bytes in a file of {size}")
    header = _text(file.read(length), size)
    body = size - 8 - length
    entries = _header(header, size + _SPARE - sys.getsizeof(header))
    del header
    places = sorted((begin, end, name) for name, (_, _, begin, end) in entries.items())
    at = 0
    for begin, end, name in places:
        if begin != at:
            raise ValueError(f"the data of {shown(name)} begin at {begin}, not at {at}")
        at = end
    if at != body:
        raise ValueError(f"the tensors have {at} bytes, the file holds {body}")
    found = {}
    for _, _, name in places:
        dtype, shape, _, _ = entries[name]
        found[name] = _tensor(file, dtype, shape)
    return {name: found[name] for name in entries}


def _text(header, size):
    """The header's text: beside its bytes it takes as many again, or four times as many."""
    if len(header) * (2 if header.isascii() else 5) > size + _SPARE:
        raise ValueError(
            f"a header of {len(header)} bytes in a file of {size} takes too much memory"
        )
    return header.decode("utf-8")


def _tensor(file, dtype, shape):
    array = room(math.prod(shape), BY_CODE[dtype.code]).reshape(shape)
    target = memoryview(array.reshape(-1).view(np.uint8))
    done = 0
    while done < len(target):
        got = _read_some(file, target[done:])
        if not got:
            raise ValueError("the file ends early")
        done += got
    if dtype.name == "bool" and array.size and array.view(np.uint8).max() > 1:
        raise ValueError("a bool is neither 0 nor 1")
    return make_tensor(array, dtype)


def _header(text, budget):
    """name -> (dtype, shape, begin, end), read entry by entry so that no file can make the header
    into something much larger than it is."""
    entries: dict = {}
    at = _token(text, 0, "{")
    metadata = False
    while True:
        at = _blank(text, at)
        if text[at : at + 1] == "}" and not entries and not metadata:
            break
        name, at = scanstring(text, _token(text, at, '"'))
        pattern = _METADATA if name == "__metadata__" else _ENTRY
        found = pattern.match(text, _token(text, at, ":"))
        if found is None:
            raise ValueError(f"the header's entry {shown(name)} is no JSON object")
        budget -= _PER_TENSOR
        if pattern is _METADATA:  # four quotation marks a pair, which is two objects in a dict
            budget -= _PER_QUOTE * found.group(1).count('"') + 4 * len(found.group(1))
        if budget < 0:
            raise ValueError("its header lists more than a file of its size can hold")
        value, at = json.loads(found.group(1), object_pairs_hook=_unique), found.end()
        if name == "__metadata__" and not metadata:
            metadata = True
            if not all(isinstance(v, str) for v in value.values()):
                raise ValueError("the metadata are no strings")
        elif name in entries or name == "__metadata__":
            raise ValueError(f"the header has two entries {shown(name)}")
        else:
            entries[name] = _described(name, value)
        if text[at : at + 1] == ",":
            at += 1
            continue
        break
    if text[_token(text, at, "}") :].strip(" \t\r\n"):
        raise ValueError("something follows the header's last brace")
    return entries


def _unique(pairs):
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a field of the header stands twice")
    return found


def _blank(text, at):
    while text[at : at + 1] in (" ", "\t", "\n", "\r"):
        at += 1
    return at


def _token(text, at, wanted):
    at = _blank(text, at)
    if text[at : at + 1] != wanted:
        raise ValueError(f"the header has {shown(text[at : at + 1])} where {wanted!r} belongs")
    return at + 1


def _described(name, value):
    if value.keys() != _FIELDS:
        raise ValueError(f"the header's entry {shown(name)} has the fields {shown(list(value))}")
    code, shape, offsets = value["dtype"], value["shape"], value["data_offsets"]
    if not isinstance(code, str) or code not in _CODES:
        raise NotImplementedError(f"{shown(name)} has dtype {shown(code)}")
    dtype = NAMES[_CODES[code]]
    numbers = isinstance(shape, list) and isinstance(offsets, list) and len(offsets) == 2
    if not numbers or any(type(n) is not int or not 0 <= n < 1 << 60 for n in (*shape, *offsets)):
        raise ValueError(f"{shown(name)} has shape {shown(shape)} at {shown(offsets)}")
    if len(shape) > 64:
        raise ValueError(f"{shown(name)} has {len(shape)} dimensions")
    begin, end = offsets
    if end - begin != math.prod(shape) * dtype.itemsize:
        raise ValueError(
            f"{shown(name)} of shape {shown(shape)} and dtype {dtype} has {end - begin} bytes"
        )
    return dtype, tuple(shape), begin, end
