"""Puts the memory of arrays and of kernels' scratch between fences (``fences.c``).

Installed for all of core's tests where there is a C compiler: a kernel that reads or writes behind
an array ends the process at once, with the test's name; what is written before one is found when it
is freed. New memory is NaN. ``RUSHLIGHT_FENCES=0`` leaves them out.
"""

from __future__ import annotations

import ctypes
import hashlib
import math
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import weakref

SOURCE = pathlib.Path(__file__).with_name("fences.c")
_SET_HANDLER = 304  # PyDataMem_SetHandler in NumPy's table of functions


def wanted() -> bool:
    """Whether fences can be put up here and nobody has refused them."""
    return (
        os.environ.get("RUSHLIGHT_FENCES", "1") != "0"
        and sys.platform == "linux"
        and sys.implementation.name == "cpython"
        and shutil.which("cc") is not None
    )


def _built():
    """The shared library, compiled once for each text of it."""
    name = (
        f"rushlight_fences_{hashlib.sha256(SOURCE.read_bytes()).hexdigest()[:16]}_{os.getuid()}.so"
    )
    path = pathlib.Path(tempfile.gettempdir()) / name
    if not path.exists():
        with tempfile.TemporaryDirectory(dir=path.parent) as folder:
            made = pathlib.Path(folder) / name
            command = ["cc", "-O2", "-shared", "-fPIC", "-Wall", str(SOURCE), "-o"]
            subprocess.run([*command, str(made)], check=True)
            made.replace(path)
    return ctypes.CDLL(str(path))


class Fences:
    """The library, and where it was put in."""

    def __init__(self):
        self.library = library = _built()
        for name, result, arguments in (
            ("fences_taken", ctypes.c_size_t, []),
            ("fences_exact", ctypes.c_void_p, [ctypes.c_size_t, ctypes.c_int]),
            ("fences_give", None, [ctypes.c_void_p]),
        ):
            function = getattr(library, name)
            function.restype, function.argtypes = result, arguments
        if not library.fences_begin():
            raise MemoryError("no 16 TB of addresses could be reserved for fences")
        self.arrays()
        self.machine_code()

    def taken(self):
        """How many blocks were given out so far."""
        return self.library.fences_taken()

    def arrays(self):
        """NumPy's own memory, and large arrays that Python code aligns."""
        from numpy._core import _multiarray_umath

        from rushlight.machine import memory

        api = ctypes.pythonapi
        api.PyCapsule_GetPointer.restype = ctypes.c_void_p
        api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
        api.PyCapsule_New.restype = ctypes.py_object
        api.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        table = api.PyCapsule_GetPointer(_multiarray_umath._ARRAY_API, None)
        address = ctypes.c_void_p.from_address(table + 8 * _SET_HANDLER).value
        set_handler = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object)(address)
        handler = ctypes.addressof(ctypes.c_char.in_dll(self.library, "fences_handler"))
        self._handler = api.PyCapsule_New(handler, b"mem_handler", None)
        set_handler(self._handler)
        memory._aligned = self._aligned

    def _aligned(self, make, shape, dtype):
        import numpy as np

        from rushlight.machine import memory

        size = (math.prod(shape) if type(shape) is tuple else shape) * dtype.itemsize
        if size < memory.ALIGNED_FROM:
            return make(shape, dtype)
        address = self.library.fences_exact(size, make is np.zeros)
        if not address:
            raise MemoryError(f"unable to allocate {size} bytes")
        block = (ctypes.c_char * size).from_address(address)
        weakref.finalize(block, self.library.fences_give, address)
        return np.frombuffer(memoryview(block), dtype).reshape(shape)

    def machine_code(self):
        """Large arrays that machine code makes, and scratch: by other functions of the same names.

        Nothing may have been loaded before: code finds its functions when it is loaded."""
        import llvmlite.binding as llvm

        from rushlight.machine import machine_code, worker_pool

        assert not machine_code.compiled_symbols(), "kernels were loaded before the fences"
        self.library.fences_bytearrays()
        symbol = worker_pool.scratch.symbol({})
        for name, own in (
            (symbol, "fences_scratch"),
            ("PyByteArray_FromStringAndSize", "fences_large"),
            ("PyByteArray_AsString", "fences_large_start"),
        ):
            address = ctypes.cast(getattr(self.library, own), ctypes.c_void_p).value
            llvm.add_symbol(name, address)
            if name == symbol:
                machine_code._loaded[symbol] = address
