"""Reductions of small arrays as built-in functions: array and dimension in, array out.

``rl_reduce(array, dim, keepdim)`` follows CPython's METH_FASTCALL protocol over a plan, like the
native calls of :mod:`rushlight.machine.native_functions`. It takes row-major arrays of the plan's
dtypes up to a size, one dimension or None for all, and gives one or two new arrays, or
NotImplemented."""

from __future__ import annotations

import functools

from rushlight.machine import np
from rushlight.machine.built_in_functions import built_in
from rushlight.machine.native_functions import (
    ALIGNED,
    CONTIGUOUS,
    DATA_AT,
    DTYPE_AT,
    FASTCALL,
    FLAGS_AT,
    NDIM_AT,
    SHAPE_AT,
    TYPE_AT,
    Builtin,
    doors,
)

# ---- plan words; then for each dtype: its address, the result's, the kernel
TYPE, LIMIT, TUPLE, PLACES_DTYPE, COUNT, INT, FALSE, TRUE, NONE = range(9)
FIRST, EACH = 9, 3
VALUES, PLACES, BOTH = range(3)  # what TUPLE says is given
MAX_DIMS = 8
DECLARATIONS = """declare i64 @PyLong_AsLongLong(ptr)
declare ptr @PyErr_Occurred()
declare void @PyErr_Clear()
declare void @Py_IncRef(ptr)
declare void @Py_DecRef(ptr)
declare ptr @PyTuple_New(i64)
declare i32 @PyTuple_SetItem(ptr, i64, ptr)
declare ptr @rl_new_array(ptr, ptr, i32, ptr, ptr, ptr, i32, ptr)
@_Py_NotImplementedStruct = external global i8"""


class _Reduce(Builtin):
    def __init__(self):
        super().__init__("ptr", "rl_reduce", FASTCALL)
        self.plan = self.field("%self", DATA_AT, "ptr")
        self.exit_unless(self.compare("eq", "%count", 3), "fallback")
        self.x, self.dim, self.keep = (self.load("%args", i, "ptr") for i in range(3))
        self.dims, self.rows, self.inner = self.slot(), self.slot(), self.slot()
        self.outer, self.out_dims, self.kept = self.slot(), self.slot(), self.slot()
        self.shape, self.table = self.slot(MAX_DIMS + 1), self.slot(8)

    def check_array(self):
        """An exact ndarray, row by row, aligned; gives the entry of its dtype."""
        kind = self.compare("eq", self.field(self.x, TYPE_AT), self.load(self.plan, TYPE))
        self.exit_unless(kind, "fallback")
        flags = self.value(f"and i32 {self.field(self.x, FLAGS_AT, 'i32')}, {CONTIGUOUS | ALIGNED}")
        self.exit_unless(self.compare("eq", flags, CONTIGUOUS | ALIGNED, "i32"), "fallback")
        entry, dtype = self.slot(), self.field(self.x, DTYPE_AT)
        self.store(0, entry)
        with self.loop(self.load(self.plan, COUNT)) as k:
            at = self.add(self.multiply(k, EACH), FIRST)
            with self.when(self.compare("eq", self.load(self.plan, at), dtype)):
                self.store(at, entry)
        self.exit_if(self.compare("eq", self.load(entry), 0), "fallback")
        return self.load(entry)

    def read_dim(self):
        """The reduced dimension to `rows` as a number, or -1 for all."""
        where = self.slot()
        self.store(-1, where)
        count = self.value(f"zext i32 {self.field(self.x, NDIM_AT, 'i32')} to i64")
        self.exit_if(self.compare("ugt", count, MAX_DIMS), "fallback")
        self.store(count, self.dims)
        is_number = self.compare("ne", self.dim, self.load(self.plan, NONE, "ptr"), "ptr")
        with self.when(is_number):
            exact = self.compare("eq", self.field(self.dim, TYPE_AT), self.load(self.plan, INT))
            self.exit_unless(exact, "fallback")
            number = self.call("i64", "@PyLong_AsLongLong", f"ptr {self.dim}")
            with self.when(self.compare("eq", number, -1)):
                error = self.call("ptr", "@PyErr_Occurred", "")
                self.exit_if(self.compare("ne", error, "null", "ptr"), "range")
            negative = self.compare("slt", number, 0)
            wrapped = self.choose(negative, self.add(number, count), number)
            self.exit_unless(self.compare("ult", wrapped, count), "range")
            self.store(wrapped, where)
        true = self.compare("eq", self.keep, self.load(self.plan, TRUE, "ptr"), "ptr")
        false = self.compare("eq", self.keep, self.load(self.plan, FALSE, "ptr"), "ptr")
        self.exit_unless(self.value(f"or i1 {true}, {false}"), "fallback")
        self.store(self.value(f"zext i1 {true} to i64"), self.kept)
        return self.load(where)

    def measure(self, where):
        """(outer, n, inner), the result's shape."""
        shape = self.field(self.x, SHAPE_AT, "ptr")
        for word in (self.outer, self.rows, self.inner):
            self.store(1, word)
        self.store(0, self.out_dims)
        whole = self.compare("eq", where, -1)
        with self.loop(self.load(self.dims)) as d:
            extent = self.load(shape, d)
            here = self.compare("eq", d, where)
            reduced = self.value(f"or i1 {whole}, {here}")
            before = self.compare("slt", d, where)
            after = self.value(f"and i1 {self.compare('sgt', d, where)}, "
                               f"{self.value(f'xor i1 {whole}, true')}")  # fmt: skip
            for condition, word in (
                (reduced, self.rows),
                (before, self.outer),
                (after, self.inner),
            ):
                factor = self.choose(condition, extent, 1)
                self.store(self.multiply(self.load(word), factor), word)
            kept = self.compare("ne", self.load(self.kept), 0)
            place = self.load(self.out_dims)
            self.store(self.choose(reduced, 1, extent), self.shape, place)
            more = self.value(f"or i1 {kept}, {self.value(f'xor i1 {reduced}, true')}")
            self.store(self.add(place, self.value(f"zext i1 {more} to i64")), self.out_dims)
        size = self.multiply(
            self.load(self.outer), self.multiply(self.load(self.rows), self.load(self.inner))
        )
        self.exit_if(self.compare("eq", size, 0), "fallback")
        self.exit_if(self.compare("ugt", size, self.load(self.plan, LIMIT)), "fallback")

    def new_array(self, dtype):
        """A new array of the result's shape."""
        kind = self.load(self.plan, TYPE, "ptr")
        return self.array_of(kind, dtype, self.load(self.out_dims), self.shape)

    def run(self, entry):
        """Allocate, compute, return."""
        first, second = self.slot(), self.slot()
        self.store("null", first, 0, "ptr")
        self.store("null", second, 0, "ptr")
        gives = self.load(self.plan, TUPLE)
        with self.when(self.compare("ne", gives, PLACES)):
            dtype = self.load(self.plan, self.add(entry, 1), "ptr")
            out = self.new_array(dtype)
            self.exit_if(self.compare("eq", out, "null", "ptr"), "failed")
            self.store(out, first, 0, "ptr")
            self.store(self.field(out, DATA_AT), self.table, 1)
        with self.when(self.compare("ne", gives, VALUES)):
            out = self.new_array(self.load(self.plan, PLACES_DTYPE, "ptr"))
            self.exit_if(self.compare("eq", out, "null", "ptr"), "lost")
            self.store(out, second, 0, "ptr")
            self.store(self.field(out, DATA_AT), self.table, 2)
        self.store(self.field(self.x, DATA_AT), self.table)
        for place, word in enumerate((self.outer, self.rows, self.inner)):
            self.store(self.load(word), self.table, 3 + place)
        kernel = self.load(self.plan, self.add(entry, 2), "ptr")
        self.call("void", kernel, f"i64 {self.address(self.table)}, i64 0, i64 1, i64 0")
        self.exit_if(self.compare("eq", gives, BOTH), "both")
        one, other = self.load(first, 0, "ptr"), self.load(second, 0, "ptr")
        empty = self.compare("eq", one, "null", "ptr")
        self.do(f"ret ptr {self.value(f'select i1 {empty}, ptr {other}, ptr {one}')}")
        self.lines.append("both:")
        pair = self.call("ptr", "@PyTuple_New", "i64 2")
        self.exit_if(self.compare("eq", pair, "null", "ptr"), "lost")
        for place, word in enumerate((first, second)):
            self.call("i32", "@PyTuple_SetItem",
                      f"ptr {pair}, i64 {place}, ptr {self.load(word, 0, 'ptr')}")  # fmt: skip
        self.do(f"ret ptr {pair}")
        self.lines.append("lost:")
        for word in (first, second):
            held = self.load(word, 0, "ptr")
            with self.when(self.compare("ne", held, "null", "ptr")):
                self.call("void", "@Py_DecRef", f"ptr {held}")
        self.do("br label %failed")


def module(key: str) -> str:
    """IR text; `key` becomes a function that says which build this is."""
    f = _Reduce()
    entry = f.check_array()
    f.measure(f.read_dim())
    f.run(entry)
    f.lines.append("range:")  # too large a number set an error; others say what is wrong
    f.call("void", "@PyErr_Clear", "")
    f.do("br label %fallback")
    text = f.finish()
    marker = f"define i64 @{key}() {{\n  ret i64 1\n}}"
    return "\n".join([DECLARATIONS, text, marker])


@functools.cache
def _address():
    from rushlight.machine.llvm_passes import optimise

    engine = _engine()
    doors()  # they say where NumPy makes arrays
    key = engine.key("reductions")
    engine.function(key, lambda: (module(key), 0, optimise))
    return engine.symbol("rl_reduce")


def _engine():
    from rushlight.machine.elementwise_engine import engine

    return engine()


def reduction(entries, limit, gives):
    """The built-in function of ``(dtype, result dtype, kernel address)`` entries."""
    places = np.dtype(np.int64)
    words = [doors().type, limit, gives, id(places), len(entries), id(int), id(False), id(True),
             id(None)]  # fmt: skip
    for dtype, out, address in entries:
        words += [id(dtype), id(out), address]
    return built_in(b"reduce", _address(), np.array(words, np.int64))
