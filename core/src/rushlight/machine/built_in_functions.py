"""Built-in functions of CPython over machine code that this process has made.

CPython reads a function's ``PyMethodDef`` once more when the function goes. At the end of the
process that may come after everything else has gone, so definitions are never freed.
"""

from __future__ import annotations

import ctypes
import functools

__all__ = ["METH_FASTCALL", "built_in"]

METH_FASTCALL = 0x80


class _MethodDef(ctypes.Structure):
    """CPython's ``PyMethodDef``."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


@functools.cache
def _definition(name, address):
    """Address of a definition; one reference to it and to its name is never given back."""
    made = _MethodDef(name, address, METH_FASTCALL, None)
    for owner in (made, name):
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(owner))
    return ctypes.addressof(made)


def built_in(name, address, plan):
    """The function ``name`` (bytes) over METH_FASTCALL code at an address; its ``self`` is `plan`,
    an int64 array."""
    make = ctypes.pythonapi.PyCMethod_New
    make.restype = ctypes.py_object
    make.argtypes = (ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p, ctypes.c_void_p)
    return make(_definition(name, address), plan, None, None)
