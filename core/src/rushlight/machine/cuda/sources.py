"""The handwritten kernels: their text per dtype, and their compiled modules.

A file of ``kernels/`` is written for type names such as ``T`` (elements) and numbers such as
``KIND``; each set of them is one text, compiled at first need. Every such text names itself what
it can be compiled for, in a line ``// instances: T=float32,bfloat16 KIND=0,1``.
"""

from __future__ import annotations

import functools
import itertools
import pathlib
import re

import ml_dtypes
import numpy as np

from rushlight.machine.cuda import runtime

FOLDER = pathlib.Path(__file__).parents[2] / "kernels"  # the files stand in its families
TYPE_NAMES = {
    np.dtype(np.float32): "float",
    np.dtype(np.float64): "double",
    np.dtype(np.float16): "__half",
    np.dtype(ml_dtypes.bfloat16): "__nv_bfloat16",
    np.dtype(np.int64): "long long",
    np.dtype(np.int32): "int",
    np.dtype(np.int16): "short",
    np.dtype(np.int8): "signed char",
    np.dtype(np.uint8): "unsigned char",
    np.dtype(np.uint16): "unsigned short",
    np.dtype(np.uint32): "unsigned int",
    np.dtype(np.uint64): "unsigned long long",
    np.dtype(np.bool_): "bool",
}
_WIDE = {"float": "float", "double": "double", "__half": "float", "__nv_bfloat16": "float"}
_HEADERS = {"__half": "cuda_fp16.h", "__nv_bfloat16": "cuda_bf16.h"}
_INCLUDE = re.compile(r'^#include "(\w+\.cuh?)"\n', re.MULTILINE)
_INSTANCES = re.compile(r"^// instances:(.*)$", re.MULTILINE)


def compute_dtype(dtype: np.dtype) -> np.dtype:
    """What kernels compute in: float32 for float16 and bfloat16, int64 for integers."""
    if dtype.kind in "iub":
        return np.dtype(np.int64)
    return dtype if dtype == np.float64 else np.dtype(np.float32)


def type_name(dtype) -> str:
    """A dtype's name in C++; TypeError where kernels do not have it."""
    try:
        return TYPE_NAMES[np.dtype(dtype)]
    except KeyError:
        raise TypeError(f"CUDA kernels are not written for elements of dtype {dtype}") from None


@functools.cache
def _file(name):
    (path,) = FOLDER.glob("*/" + name)
    text = path.read_text()
    return _INCLUDE.sub(lambda match: _file(match[1]), text)


@functools.cache
def text(name: str, parameters: tuple) -> str:
    """The complete text of a kernel file; `parameters` are pairs of a name and a dtype or int."""
    return assembled(f'#include "{name}.cu"\n', parameters)


def assembled(body: str, parameters: tuple) -> str:
    """A text that may include files of kernels, after the definitions of `parameters`.

    For a type ``T`` there is also ``T_wide``, what is computed in.
    """
    lines, headers = [], []
    for key, value in parameters:
        if isinstance(value, int):
            lines.append(f"#define {key} {value}\n")
            continue
        word = type_name(value)
        headers += [f"#include <{_HEADERS[word]}>\n"] if word in _HEADERS else []
        lines.append(f"typedef {word} {key};\n")
        lines.append(f"typedef {_WIDE.get(word, 'long long')} {key}_wide;\n")
    body = _INCLUDE.sub(lambda match: _file(match[1]), body)
    return "".join((*sorted(set(headers)), *lines, body))


_modules: dict = {}


def kernel(name: str, function: str, /, **parameters):
    """A kernel of a file, compiled for these types and numbers at first need."""
    current = runtime.current()
    key = (current.name, name, function, *parameters.items())
    try:
        return _modules[key]
    except KeyError:
        shared = key[:2] + key[3:]
        if shared not in _modules:
            _modules[shared] = current.load(text(name, tuple(parameters.items())))
        _modules[key] = _modules[shared].kernel(function)
        return _modules[key]


def dtype_of(word: str) -> np.dtype:
    """The dtype of a name, ``"bfloat16"`` too."""
    return np.dtype(ml_dtypes.bfloat16 if word == "bfloat16" else word)


def _value(word):
    if word.lstrip("-").isdigit():
        return int(word)
    if word.isupper():
        return word
    return dtype_of(word)


def names() -> list[str]:
    """All files of handwritten kernels."""
    return sorted(path.stem for path in FOLDER.glob("*/*.cu"))


def instances(name: str) -> list[tuple]:
    """All sets of parameters that a file says it can be compiled for."""
    found: list[tuple] = []
    for line in _INSTANCES.findall(_file(f"{name}.cu")):
        parts = [part.partition("=") for part in line.split()]
        choices = [[(key, _value(word)) for word in words.split(",")] for key, _, words in parts]
        found += itertools.product(*choices)
    return [_linked(parameters) for parameters in found]


def _linked(parameters):
    """``W=T`` stands for the value of T."""
    values = dict(parameters)
    return tuple(
        (key, values[value] if isinstance(value, str) else value) for key, value in parameters
    )
