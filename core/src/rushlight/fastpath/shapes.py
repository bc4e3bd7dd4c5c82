"""What needs no kernel, by machine code: shapes, whether memory is in order, zeros.

``rl_sized``  (tensor): its shape as a `Size`; of arrays that are not NumPy's own Python says it
``rl_dense``  (tensor): the tensor itself where it is row-major already and no mode is active
``rl_cleared``  (array): zeros into a small row-major array

METH_FASTCALL functions over the plan of :mod:`rushlight.fastpath.tensors`.
"""

from __future__ import annotations

from rushlight.fastpath import tensors as words
from rushlight.machine.native_functions import (
    CONTIGUOUS,
    DATA_AT,
    FLAGS_AT,
    NDIM_AT,
    SHAPE_AT,
    STRIDES_AT,
    TYPE_AT,
    WRITEABLE,
)

NAMES = ("sized", "dense", "cleared")
CLEARED = 1 << 16  # bytes up to which nobody minds waiting
ITEMS_AT = 24  # of tuples


def _array_of(f, source, otherwise):
    own = f.load(f.slot_of(source, words.ARRAY_AT), 0, "ptr")
    kind = f.compare("eq", f.field(own, TYPE_AT, "ptr"), f.word(words.ARRAY_TYPE), "ptr")
    f.exit_unless(kind, otherwise)
    return own


def _sized(maker):
    f = maker("rl_sized", 1)
    source = f.load("%args", 0, "ptr")
    own = _array_of(f, source, "otherwise")
    ndim = f.value(f"zext i32 {f.field(own, NDIM_AT, 'i32')} to i64")
    out = f.call("ptr", "@PyType_GenericAlloc", f"ptr {f.word(words.SIZE_CLASS)}, i64 {ndim}")
    f.exit_if(f.compare("eq", out, "null", "ptr"), "failed")
    shape, items = f.field(own, SHAPE_AT, "ptr"), f.at(out, ITEMS_AT, "i8")
    with f.loop(ndim) as d:
        n = f.call("ptr", "@PyLong_FromLongLong", f"i64 {f.load(shape, d)}")
        f.exit_if(f.compare("eq", n, "null", "ptr"), "lost")
        f.store(n, items, d, "ptr")
    f.do(f"ret ptr {out}")
    f.lines.append("lost:")
    f.call("void", "@Py_DecRef", f"ptr {out}")
    f.do("ret ptr null")
    f.lines.append("otherwise:")
    found = f.call("ptr", "(ptr, ...) @PyObject_CallFunctionObjArgs",
                   f"ptr {f.word(words.SIZED)}, ptr {source}, ptr null")  # fmt: skip
    f.do(f"ret ptr {found}")
    return f.finish()


def _dense(maker):
    f = maker("rl_dense", 1)
    source = f.load("%args", 0, "ptr")
    watched = f.load(f.load(f.plan, words.MODES, "ptr"), 0, "ptr")
    f.exit_unless(f.compare("eq", watched, f.word(words.ZERO), "ptr"), "fallback")
    kind = f.field(source, TYPE_AT, "ptr")
    plain = f.compare("eq", kind, f.word(words.CLASS), "ptr")
    plain = f.value(f"or i1 {plain}, {f.compare('eq', kind, f.word(words.PARAMETER), 'ptr')}")
    f.exit_unless(plain, "fallback")
    own = _array_of(f, source, "fallback")
    flags = f.value(f"and i32 {f.field(own, FLAGS_AT, 'i32')}, {CONTIGUOUS}")
    f.exit_if(f.compare("eq", flags, 0, "i32"), "fallback")
    f.do(f"ret ptr {f.held(source)}")
    return f.finish()


def _cleared(maker):
    f = maker("rl_cleared", 1)
    array = f.load("%args", 0, "ptr")
    f.check_arrays(array)
    wanted = CONTIGUOUS | WRITEABLE
    flags = f.value(f"and i32 {f.field(array, FLAGS_AT, 'i32')}, {wanted}")
    f.exit_unless(f.compare("eq", flags, wanted, "i32"), "fallback")
    ndim = f.value(f"zext i32 {f.field(array, NDIM_AT, 'i32')} to i64")
    shape, strides = f.field(array, SHAPE_AT, "ptr"), f.field(array, STRIDES_AT, "ptr")
    size = f.slot()
    f.store(0, size)
    with f.loop(ndim) as d:  # backwards: the outermost of several elements has them all
        at = f.subtract(f.subtract(ndim, d), 1)
        n = f.load(shape, at)
        f.exit_if(f.compare("eq", n, 0), "fallback")
        with f.when(f.compare("ne", n, 1)):
            f.store(f.multiply(n, f.load(strides, at)), size)
    bytes_ = f.load(size)
    f.exit_if(f.compare("eq", bytes_, 0), "fallback")  # nothing tells how long an element is
    f.exit_if(f.compare("ugt", bytes_, CLEARED), "fallback")
    f.call("ptr", "@memset", f"ptr {f.field(array, DATA_AT, 'ptr')}, i32 0, i64 {bytes_}")
    f.do(f"ret ptr {f.held(f.word(words.NONE))}")
    return f.finish()


def functions(maker):
    """IR texts."""
    return [_sized(maker), _dense(maker), _cleared(maker)]
