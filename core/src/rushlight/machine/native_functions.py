"""Python-callable functions over compiled kernels, made without a C compiler.

The functions in LLVM IR follow CPython's METH_FASTCALL protocol. They read the public fields of
array objects (stable since NumPy 1.7), check them, convert scalars, allocate the result through
NumPy's C API, call a driver (`rushlight.compiler.cpu.drivers`) and return. A kernel's function is a
``PyCFunction`` over one of the two whose ``self`` is an int64 array, the plan; nothing is compiled
for it. What does not fit gives NotImplemented and takes the Python way.

``rl_fast``     same-shape, C-contiguous, aligned arrays of the plan's dtypes, up to a size; other
                layouts are looked up among a few recent ones, whose plans go to the second
``rl_room``     a new array of uninitialised memory, which starts on a cache line where it is large
``rl_layout``   arrays whose shapes and strides the caller has looked up: the plan holds the rest
"""

from __future__ import annotations

import ctypes
import functools
import struct
import sys
import sysconfig

from rushlight.machine import engine_watchers, memory, np
from rushlight.machine.built_in_functions import built_in
from rushlight.machine.llvm_text import Function
from rushlight.machine.native_table import take_over
from rushlight.settings import fast_path_is_on

# ---- plan words of rl_fast; then the inputs' dtypes, then item sizes of output and inputs
DRIVER, INPUTS, PARAMS, OUT, TYPE, KINDS, GIVEN, LIMIT, DESCRIPTOR, RECENT = range(10)
FAST_DTYPES = 10
# ---- the table at RECENT: RECENT_LAYOUTS entries of the plan of rl_layout (0: none), then for each
# input and each array to write the number of dimensions, extents and strides
RECENT_LAYOUTS, RECENT_DIMS = 8, 6
RECENT_ARRAY = 1 + 2 * RECENT_DIMS
# ---- plan words of rl_layout; the first ones as above, GIVEN counts the outputs passed in
N, GRAIN, POOL, LAUNCH, DIMS, SHAPE = 7, 9, 10, 11, 12, 13
STRIDES, TAIL = SHAPE + 8, SHAPE + 16  # bytes per step; words after the scalars in the table
BYTES, LAYOUT_DTYPES = TAIL + 1, TAIL + 2  # outputs given, inputs; then bounds, masks, the tail
TABLE_WORDS = 256
# Results of at least so many bytes start on a cache line, where NumPy aligns to 16: stores of whole
# lines across two of them took 3.2 us instead of 1.8 for 64 KiB.
ALIGNED_FROM = 1 << 15
# ---- offsets in PyObject and PyArrayObject, 64-bit
TYPE_AT, DATA_AT, NDIM_AT, SHAPE_AT, STRIDES_AT, DTYPE_AT, FLAGS_AT = 8, 16, 24, 32, 40, 56, 64
LENGTH_AT, ITEMS_AT = 16, 24  # of a tuple
CONTIGUOUS, ALIGNED, WRITEABLE = 0x1, 0x100, 0x400
DECLARATIONS = """declare double @PyFloat_AsDouble(ptr)
declare i64 @PyLong_AsLongLong(ptr)
declare ptr @PyErr_Occurred()
declare void @PyErr_Clear()
declare i32 @PyIndex_Check(ptr)
declare double @llvm.fabs.f64(double)
declare void @Py_IncRef(ptr)
declare void @Py_DecRef(ptr)
declare ptr @PyByteArray_FromStringAndSize(ptr, i64)
declare ptr @PyByteArray_AsString(ptr)
declare i32 @rl_set_base(ptr, ptr)
declare ptr @PyEval_SaveThread()
declare void @PyEval_RestoreThread(ptr)
declare i32 @memcmp(ptr, ptr, i64)
declare ptr @memcpy(ptr, ptr, i64)
declare ptr @rl_new_array(ptr, ptr, i32, ptr, ptr, ptr, i32, ptr)
@_Py_NotImplementedStruct = external global i8"""
FASTCALL = "ptr %self, ptr %args, i64 %count"


class Builtin(Function):
    """A function that CPython calls."""

    def finish(self):
        """The ways out: an error is set, or the caller must try another way."""
        self.lines.append("failed:")
        self.do("ret ptr null")
        self.lines.append("fallback:")
        self.call("void", "@Py_IncRef", "ptr @_Py_NotImplementedStruct")
        self.do("ret ptr @_Py_NotImplementedStruct")
        return self.text()

    def array_of(self, kind, dtype, dims, shape, strides="null", data="null", flags=0):
        """A new array of the type `kind`: over memory of its own, or over `data`; null where there
        is an error."""
        self.call("void", "@Py_IncRef", f"ptr {dtype}")  # NumPy takes a reference over
        narrow = self.value(f"trunc i64 {dims} to i32")
        return self.call(
            "ptr",
            "@rl_new_array",
            f"ptr {kind}, ptr {dtype}, i32 {narrow}, ptr {shape}, ptr {strides}, ptr {data}, "
            f"i32 {flags}, ptr null",
        )

    def new_array(self, kind, dtype, dims, shape, strides, size):
        """A new array of the type `kind` and of `size` bytes, owned by the caller; one that is
        large starts on a cache line."""
        holder, data = self.slot(), self.slot()
        self.store("null", holder, 0, "ptr")
        self.store("null", data, 0, "ptr")
        with self.when(self.compare("uge", size, ALIGNED_FROM)):
            room = self.add(size, 64)
            holding = self.call("ptr", "@PyByteArray_FromStringAndSize", f"ptr null, i64 {room}")
            self.exit_if(self.compare("eq", holding, "null", "ptr"), "failed")
            start = self.address(self.call("ptr", "@PyByteArray_AsString", f"ptr {holding}"))
            aligned = self.value(f"and i64 {self.add(start, 63)}, -64")
            self.store(holding, holder, 0, "ptr")
            self.store(self.pointer(aligned), data, 0, "ptr")
        holding, start = self.load(holder, 0, "ptr"), self.load(data, 0, "ptr")
        own = self.compare("eq", holding, "null", "ptr")
        flags = self.value(f"select i1 {own}, i32 0, i32 {CONTIGUOUS | ALIGNED | WRITEABLE}")
        out = self.array_of(kind, dtype, dims, shape, strides, start, flags)
        kept, lost, ready = self.name("kept"), self.name("lost"), self.name("ready")
        self.exit_if(self.compare("eq", out, "null", "ptr"), lost)
        self.do(f"br i1 {own}, label %{ready}, label %{kept}")
        self.lines.append(f"{kept}:")
        refused = self.call("i32", "@rl_set_base", f"ptr {out}, ptr {holding}")  # takes `holding`
        unset = self.compare("ne", refused, 0, "i32")
        dropped = self.name("dropped")
        self.do(f"br i1 {unset}, label %{dropped}, label %{ready}")
        self.lines.append(f"{dropped}:")
        self.call("void", "@Py_DecRef", f"ptr {out}")
        self.do("br label %failed")
        self.lines.append(f"{lost}:")
        self.exit_if(own, "failed")
        self.call("void", "@Py_DecRef", f"ptr {holding}")
        self.do("br label %failed")
        self.lines.append(f"{ready}:")
        return out


class _Door(Builtin):
    """What the two functions share."""

    refused = "fallback"  # where arguments go that do not fit

    def __init__(self, name):
        super().__init__("ptr", name, FASTCALL)
        self.table = self.slot(TABLE_WORDS, 16)
        self.plan = self.field("%self", DATA_AT, "ptr")
        self.inputs, self.params = self.load(self.plan, INPUTS), self.load(self.plan, PARAMS)
        self.given, self.type = self.load(self.plan, GIVEN), self.load(self.plan, TYPE)
        expected = self.add(self.add(self.inputs, self.params), self.given)
        self.exit_unless(self.compare("eq", "%count", expected), "fallback")

    def argument(self, index):
        """An argument that must be an exact ndarray."""
        x = self.load("%args", index, "ptr")
        kind = self.field(x, TYPE_AT)
        self.exit_unless(self.compare("eq", kind, self.type), self.refused)
        return x

    def check(self, x, dtype, flags):
        """Its dtype object and flags."""
        right = self.compare("eq", self.field(x, DTYPE_AT), dtype)
        self.exit_unless(right, self.refused)
        masked = self.value(f"and i32 {self.field(x, FLAGS_AT, 'i32')}, {flags}")
        self.exit_unless(self.compare("eq", masked, flags, "i32"), self.refused)

    def convert_scalars(self, first_slot):
        """Numbers to table words; integers as they are, floats by their bits."""
        kinds = self.load(self.plan, KINDS)
        with self.loop(self.params) as p:
            x = self.load("%args", self.add(self.inputs, p), "ptr")
            slot = self.slot()
            bit = self.value(f"trunc i64 {self.value(f'lshr i64 {kinds}, {p}')} to i1")
            integer, other, join = self.name("int"), self.name("float"), self.name("join")
            self.do(f"br i1 {bit}, label %{integer}, label %{other}")
            self.lines.append(f"{integer}:")
            self.store(self.call("i64", "@PyLong_AsLongLong", f"ptr {x}"), slot)
            self.do(f"br label %{join}")
            self.lines.append(f"{other}:")
            number = self.call("double", "@PyFloat_AsDouble", f"ptr {x}")
            self.store(number, slot, 0, "double")
            size = self.call("double", "@llvm.fabs.f64", f"double {number}")
            with self.when(self.value(f"fcmp uge double {size}, 0x43E0000000000000")):  # 2 ** 63
                whole = self.call("i32", "@PyIndex_Check", f"ptr {x}")
                self.exit_if(self.compare("ne", whole, 0, "i32"), "fallback")
            self.label(join)
            word = self.load(slot)
            minus = self.value("bitcast double -1.0 to i64")
            suspicious = self.choose(bit, -1, minus)
            with self.when(self.compare("eq", word, suspicious)):
                error = self.call("ptr", "@PyErr_Occurred", "")
                raised = self.compare("ne", error, "null", "ptr")
                whole = self.call("i32", "@PyIndex_Check", f"ptr {x}")
                whole = self.compare("ne", whole, 0, "i32")
                self.exit_if(self.value(f"and i1 {raised}, {whole}"), "unfit")
                self.exit_if(raised, "failed")
            self.store(word, self.table, self.add(first_slot, p))

    def finish(self):
        """One more way out: a whole number is for the general call to wrap or to refuse."""
        self.lines.append("unfit:")
        self.call("void", "@PyErr_Clear", "")
        self.do("br label %fallback")
        return super().finish()

    def result_of(self, *layout):
        """A new array of the plan's dtype."""
        dtype = self.pointer(self.load(self.plan, OUT))
        return self.new_array(self.pointer(self.type), dtype, *layout)


def _fast():
    f = _Door("rl_fast")
    f.refused = "search"
    first = f.argument(0)
    dims32 = f.field(first, NDIM_AT, "i32")
    dims = f.value(f"zext i32 {dims32} to i64")
    shape = f.field(first, SHAPE_AT, "ptr")
    size = f.multiply(dims, 8)
    _fast_inputs(f, dims32, shape, size)
    n = _number_of_elements(f, dims, shape)
    f.exit_if(f.compare("ugt", n, f.load(f.plan, LIMIT)), f.refused)
    f.convert_scalars(f.add(f.inputs, 2))
    result = f.slot()
    existing, fresh, ready = f.name("existing"), f.name("fresh"), f.name("ready")
    is_given = f.compare("ne", f.given, 0)
    f.do(f"br i1 {is_given}, label %{existing}, label %{fresh}")
    f.lines.append(f"{existing}:")
    _fast_target(f, result, n, (dims32, shape, size))
    f.do(f"br label %{ready}")
    f.lines.append(f"{fresh}:")
    size = f.multiply(n, f.load(f.at(f.plan, f.add(f.inputs, FAST_DTYPES))))
    f.store(f.result_of(dims, shape, "null", size), result, 0, "ptr")
    f.label(ready)
    out = f.load(result, 0, "ptr")
    f.store(f.load(f.plan, DESCRIPTOR), f.table)
    f.store(f.field(out, DATA_AT), f.table, 1)
    f.call("void", f.load(f.plan, DRIVER, "ptr"), f"ptr {f.table}, i64 0, i64 {n}, i64 0")
    f.do(f"ret ptr {out}")
    _search(f)
    return f.finish()


def _same_shape(f, x, dims32, shape, size):
    """Refuse an array `x` of another shape: `dims32` extents at `shape`, `size` bytes of them."""
    own = f.field(x, NDIM_AT, "i32")
    f.exit_unless(f.compare("eq", own, dims32, "i32"), f.refused)
    differs = f.call(
        "i32", "@memcmp", f"ptr {f.field(x, SHAPE_AT, 'ptr')}, ptr {shape}, i64 {size}"
    )
    f.exit_unless(f.compare("eq", differs, 0, "i32"), f.refused)


def _fast_inputs(f, *layout):
    """Check that inputs are contiguous, of the plan's dtypes and one shape; enter their data."""
    with f.loop(f.inputs) as j:
        x = f.argument(j)
        f.check(x, f.load(f.plan, f.add(j, FAST_DTYPES)), CONTIGUOUS | ALIGNED)
        with f.when(f.compare("ne", j, 0)):
            _same_shape(f, x, *layout)
        f.store(f.field(x, DATA_AT), f.table, f.add(j, 2))


def _number_of_elements(f, dims, shape):
    total = f.slot()
    f.store(1, total)
    with f.loop(dims) as d:
        f.store(f.multiply(f.load(total), f.load(shape, d)), total)
    return f.load(total)


def _fast_target(f, result, n, layout):
    """Check the array to write that was passed in and store a new reference to it at `result`."""
    target = f.argument(f.add(f.inputs, f.params))
    f.check(target, f.load(f.plan, OUT), CONTIGUOUS | ALIGNED | WRITEABLE)
    _same_shape(f, target, *layout)
    # The very same bytes are safe (a block is loaded before it is stored), other overlap is not.
    sizes = f.at(f.plan, f.add(f.inputs, FAST_DTYPES))
    start, size = f.field(target, DATA_AT), f.load(sizes)
    stop = f.add(start, f.multiply(n, size))
    with f.loop(f.inputs) as j:
        other, width = f.load(f.table, f.add(j, 2)), f.load(sizes, f.add(j, 1))
        before = f.compare("ule", f.add(other, f.multiply(n, width)), start)
        apart = f.value(f"or i1 {before}, {f.compare('uge', other, stop)}")
        alike = f.value(f"and i1 {f.compare('eq', other, start)}, {f.compare('eq', width, size)}")
        f.exit_unless(f.value(f"or i1 {apart}, {alike}"), "fallback")
    f.call("void", "@Py_IncRef", f"ptr {target}")
    f.store(target, result, 0, "ptr")


def _search(f):
    """Among the recent layouts, that of the arguments: its plan goes to `rl_layout`."""
    f.lines.append("search:")
    operands = f.add(f.inputs, f.given)
    words = f.add(f.multiply(operands, RECENT_ARRAY), 1)
    recent = f.load(f.plan, RECENT, "ptr")
    f.exit_if(f.compare("eq", recent, "null", "ptr"), "fallback")
    with f.loop(RECENT_LAYOUTS) as e:
        entry = f.at(recent, f.multiply(e, words))
        plan = f.load(entry, 0, "ptr")
        f.exit_if(f.compare("eq", plan, "null", "ptr"), "fallback")
        alike = f.slot()
        f.store(1, alike)
        with f.loop(operands) as j:
            passed = f.compare("slt", j, f.inputs)
            x = f.load("%args", f.choose(passed, j, f.add(j, f.params)), "ptr")
            right = f.compare("eq", f.field(x, TYPE_AT), f.type)
            f.exit_unless(right, "fallback")
            own = f.at(entry, f.add(f.multiply(j, RECENT_ARRAY), 1))
            dims = f.value(f"zext i32 {f.field(x, NDIM_AT, 'i32')} to i64")
            same, differ = f.compare("eq", dims, f.load(own)), f.name("differ")
            compared = f.name("compared")
            f.exit_unless(same, differ)
            bytes_ = f.multiply(dims, 8)
            shape, strides = f.field(x, SHAPE_AT, "ptr"), f.field(x, STRIDES_AT, "ptr")
            first = f.call("i32", "@memcmp", f"ptr {shape}, ptr {f.at(own, 1)}, i64 {bytes_}")
            second_at = f.at(own, 1 + RECENT_DIMS)
            second = f.call("i32", "@memcmp", f"ptr {strides}, ptr {second_at}, i64 {bytes_}")
            f.exit_unless(f.compare("eq", f.value(f"or i32 {first}, {second}"), 0, "i32"), differ)
            f.do(f"br label %{compared}")
            f.lines.append(f"{differ}:")
            f.store(0, alike)
            f.label(compared)
        found, other = f.name("found"), f.name("other")
        f.do(f"br i1 {f.compare('ne', f.load(alike), 0)}, label %{found}, label %{other}")
        f.lines.append(f"{found}:")
        result = f.call("ptr", "@rl_layout", f"ptr {plan}, ptr %args, i64 %count")
        f.do(f"ret ptr {result}")
        f.lines.append(f"{other}:")
    f.do("br label %fallback")


class _Layouts(_Door):
    """``rl_layout``. Plan tail: dtypes[given + inputs], then low and high byte bounds of each of
    these, then for each output passed in a mask of the inputs that have its very layout, then the
    table's tail."""

    def __init__(self):
        super().__init__("rl_layout")
        operands = self.add(self.given, self.inputs)
        self.dtypes = self.at(self.plan, LAYOUT_DTYPES)
        self.lows = self.at(self.dtypes, operands)
        self.highs = self.at(self.lows, operands)
        self.masks = self.at(self.highs, operands)
        self.tail = self.at(self.masks, self.given)
        fresh_outputs = self.value(f"zext i1 {self.compare('eq', self.given, 0)} to i64")
        outputs = self.add(self.given, fresh_outputs)
        self.first_input = self.add(outputs, 1)
        self.after_params = self.add(self.inputs, self.params)

    def take_inputs(self):
        with self.loop(self.inputs) as j:
            x = self.argument(j)
            self.check(x, self.load(self.dtypes, self.add(self.given, j)), ALIGNED)
            self.store(self.field(x, DATA_AT), self.table, self.add(self.first_input, j))

    def take_outputs(self):
        """Enter outputs passed in; each is apart from every input, or has its very layout."""
        with self.loop(self.given) as o:
            target = self.argument(self.add(self.after_params, o))
            self.check(target, self.load(self.dtypes, o), ALIGNED | WRITEABLE)
            data = self.field(target, DATA_AT)
            self.store(data, self.table, self.add(o, 1))
            low = self.add(data, self.load(self.lows, o))
            high = self.add(data, self.load(self.highs, o))
            mask = self.load(self.masks, o)
            with self.loop(self.inputs) as j:
                self.refuse_overlap(j, data, (low, high), mask)

    def refuse_overlap(self, j, data, bounds, mask):
        other = self.load(self.table, self.add(self.first_input, j))
        k = self.add(self.given, j)
        ends_before = self.compare("sle", self.add(other, self.load(self.highs, k)), bounds[0])
        starts_after = self.compare("sge", self.add(other, self.load(self.lows, k)), bounds[1])
        apart = self.value(f"or i1 {ends_before}, {starts_after}")
        alike = self.value(f"trunc i64 {self.value(f'lshr i64 {mask}, {j}')} to i1")
        same = self.value(f"and i1 {alike}, {self.compare('eq', other, data)}")
        self.exit_unless(self.value(f"or i1 {apart}, {same}"), "fallback")

    def take_scalars(self):
        """Enter the numbers, and the table's tail behind them."""
        scalars = self.add(self.first_input, self.inputs)
        self.convert_scalars(scalars)
        words = self.multiply(self.load(self.plan, TAIL), 8)
        target = self.at(self.table, self.add(scalars, self.params))
        self.call("ptr", "@memcpy", f"ptr {target}, ptr {self.tail}, i64 {words}")

    def store_result(self, result):
        """Store a new reference at `result`: to the first output passed in, or to a new array."""
        existing, fresh, ready = self.name("existing"), self.name("fresh"), self.name("ready")
        self.do(f"br i1 {self.compare('ne', self.given, 0)}, label %{existing}, label %{fresh}")
        self.lines.append(f"{existing}:")
        out = self.load("%args", self.after_params, "ptr")
        self.call("void", "@Py_IncRef", f"ptr {out}")
        self.store(out, result, 0, "ptr")
        self.do(f"br label %{ready}")
        self.lines.append(f"{fresh}:")
        plan, strides = self.plan, self.at(self.plan, STRIDES)
        dims, shape = self.load(plan, DIMS), self.at(plan, SHAPE)
        made = self.result_of(dims, shape, strides, self.load(plan, BYTES))
        self.store(self.field(made, DATA_AT), self.table, 1)
        self.store(made, result, 0, "ptr")
        self.label(ready)
        self.store(self.load(plan, DESCRIPTOR), self.table)

    def launch(self):
        """Run the driver here, or by the pool's launcher without the interpreter's lock."""
        driver, n = self.load(self.plan, DRIVER, "ptr"), self.load(self.plan, N)
        launch = self.load(self.plan, LAUNCH, "ptr")
        inline, shared, done = self.name("inline"), self.name("shared"), self.name("done")
        is_inline = self.compare("eq", launch, "null", "ptr")
        self.do(f"br i1 {is_inline}, label %{inline}, label %{shared}")
        self.lines.append(f"{inline}:")
        self.call("void", driver, f"ptr {self.table}, i64 0, i64 {n}, i64 0")
        self.do(f"br label %{done}")
        self.lines.append(f"{shared}:")
        thread = self.call("ptr", "@PyEval_SaveThread", "")
        pool, grain = self.load(self.plan, POOL), self.load(self.plan, GRAIN)
        work = f"i64 {self.address(driver)}, i64 {self.address(self.table)}, i64 {n}, i64 {grain}"
        self.call("void", launch, f"i64 {pool}, {work}")
        self.call("void", "@PyEval_RestoreThread", f"ptr {thread}")
        self.label(done)


def _layout():
    f = _Layouts()
    f.take_inputs()
    f.take_outputs()
    f.take_scalars()
    result = f.slot()
    f.store_result(result)
    f.launch()
    f.do(f"ret ptr {f.load(result, 0, 'ptr')}")
    return f.finish()


class _Room(_Door):
    """``rl_room``: (tuple of extents, dtype, bytes of one element)."""

    def __init__(self):
        Builtin.__init__(self, "ptr", "rl_room", FASTCALL)
        self.plan = self.field("%self", DATA_AT, "ptr")
        self.type = self.load(self.plan, TYPE)
        self.exit_unless(self.compare("eq", "%count", 3), "fallback")


def _room():
    f = _Room()
    given, dtype = f.load("%args", 0, "ptr"), f.load("%args", 1, "ptr")
    is_tuple = f.compare("eq", f.field(given, TYPE_AT), f.load(f.plan, OUT))
    f.exit_unless(is_tuple, "fallback")
    dims, total = f.field(given, LENGTH_AT), f.slot()
    f.exit_if(f.compare("ugt", dims, 8), "fallback")
    shape, strides = f.slot(8), f.slot(8)
    f.store(f.call("i64", "@PyLong_AsLongLong", f"ptr {f.load('%args', 2, 'ptr')}"), total)
    with f.loop(dims) as i:
        last = f.subtract(f.subtract(dims, 1), i)
        item = f.load(f.at(given, ITEMS_AT, "i8"), last, "ptr")
        extent = f.call("i64", "@PyLong_AsLongLong", f"ptr {item}")
        failed = f.value(f"icmp slt i64 {extent}, 0")
        with f.when(failed):
            error = f.call("ptr", "@PyErr_Occurred", "")
            f.exit_if(f.compare("ne", error, "null", "ptr"), "failed")
        # none, negative or so large that it cannot be meant: NumPy knows what to say
        f.exit_if(f.compare("ugt", f.subtract(extent, 1), 1 << 31), "fallback")
        size = f.load(total)
        f.store(extent, shape, last)
        f.store(size, strides, last)
        size = f.multiply(size, extent)
        f.exit_if(f.compare("ugt", size, 1 << 46), "fallback")
        f.store(size, total)
    out = f.new_array(f.pointer(f.type), dtype, dims, shape, strides, f.load(total))
    f.do(f"ret ptr {out}")
    return f.finish()


def module(key: str) -> str:
    """IR text of the functions; `key` becomes a function that says which build this is."""
    marker = f"define i64 @{key}() {{\n  ret i64 1\n}}"
    return "\n".join([DECLARATIONS, _fast(), _layout(), _room(), marker])


# ------------------------------------------------------------------------------------ Python's side
def _array_api():
    """From NumPy's C API table: the array type, PyArray_NewFromDescr, PyArray_SetBaseObject."""
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    capsule = np._core._multiarray_umath._ARRAY_API
    table = ctypes.cast(pointer(capsule, None), ctypes.POINTER(ctypes.c_void_p))
    return table[2], table[94], table[282]


def _layout_is_known():
    """Whether objects of this interpreter and NumPy have their fields where the code reads them."""
    word = ctypes.c_int64.from_address
    for probe in (np.arange(6.0).reshape(2, 3), np.zeros((), np.int32), np.zeros((3, 4))[:, 1]):
        at = id(probe)
        dims = ctypes.c_int.from_address(at + NDIM_AT).value
        flags = ctypes.c_int.from_address(at + FLAGS_AT).value
        if (
            word(at + TYPE_AT).value != id(np.ndarray)
            or word(at + DATA_AT).value != probe.ctypes.data
            or word(at + DTYPE_AT).value != id(probe.dtype)
            or dims != probe.ndim
            or bool(flags & CONTIGUOUS) != probe.flags.c_contiguous
            or not flags & ALIGNED
            or not flags & WRITEABLE
        ):
            return False
        # NumPy keeps the strides right behind the shape; only then is the pointer followed.
        shape, strides = (word(at + SHAPE_AT + k).value for k in (0, 8))
        if strides != shape + 8 * dims or shape % 8:
            return False
        if any(word(shape + 8 * d).value != n for d, n in enumerate(probe.shape)):
            return False
    return _array_api()[0] == id(np.ndarray)


@functools.cache
def is_available() -> bool:
    """Whether the native calls may be used: not with ``RUSHLIGHT_FAST_PATH=off``, nor where objects
    have other headers (free-threaded or unknown interpreters)."""
    if not fast_path_is_on() or sys.implementation.name != "cpython":
        return False
    if sysconfig.get_config_var("Py_GIL_DISABLED") or struct.calcsize("P") != 8:
        return False
    try:
        return sys.byteorder == "little" and _layout_is_known()
    except AttributeError:  # a NumPy that keeps its C API elsewhere
        return False


_immortal: list = []  # like compiled code: built-in functions hold bare addresses


class Recent:
    """The recent layouts of one plan of ``rl_fast``."""

    def __init__(self, operands):
        self.words = 1 + operands * RECENT_ARRAY
        self.table = np.zeros((RECENT_LAYOUTS, self.words), np.int64)
        self.address, self.plans, self.seen = self.table.ctypes.data, [None] * RECENT_LAYOUTS, 0
        _immortal.append(self)

    def note(self, call, arrays):
        """Let arrays of these layouts go to `call`, a function over ``rl_layout``."""
        if any(x.ndim > RECENT_DIMS for x in arrays):
            return
        words = [id(call.__self__)]
        for x in arrays:
            rest = [0] * (RECENT_DIMS - x.ndim)
            words += [x.ndim, *x.shape, *rest, *x.strides, *rest]
        place = self.seen % RECENT_LAYOUTS
        self.table[place] = words
        self.plans[place] = call.__self__  # kept alive: the table holds its bare address
        self.seen += 1


class Doors:
    """The two compiled functions, and how Python functions are made of them."""

    def __init__(self, engine):
        from rushlight.machine.llvm_passes import simplify

        self.type, new_array, set_base = _array_api()
        engine.provide("rl_new_array", new_array)
        engine.provide("rl_set_base", set_base)
        key = engine.key("doors")
        engine.function(key, lambda: (module(key), 0, simplify))
        self.fast_address = engine.symbol("rl_fast")
        self.layout_address = engine.symbol("rl_layout")
        words = [0] * FAST_DTYPES
        words[OUT], words[TYPE] = id(tuple), self.type
        self.room = built_in(b"room", engine.symbol("rl_room"), np.array(words, np.int64))
        take_over("machine.memory", memory, {"room": self.room})
        for watcher in engine_watchers:
            watcher(engine)

    def fast(self, words):
        """A function over ``rl_fast``; `words` is its plan."""
        return built_in(b"fast", self.fast_address, np.array(words, np.int64))

    def layout(self, words):
        """A function over ``rl_layout``; `words` is its plan."""
        return built_in(b"layout", self.layout_address, np.array(words, np.int64))


@functools.cache
def doors() -> Doors:
    """The process's native calls, made at first need."""
    from rushlight.machine.elementwise_engine import engine

    return Doors(engine())
