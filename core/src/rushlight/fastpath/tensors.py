"""Tensor objects made by machine code: what wrapping a kernel's result costs, three times less.

Like the native calls of :mod:`rushlight.machine.native_functions` these are METH_FASTCALL functions
in LLVM IR whose ``self`` is a plan, an int64 array. They make an instance by ``object.__new__`` and
set its slots, whose positions the class itself tells.

``rl_made``    (array, dtype): a tensor around an array
``rl_result``  (array, source): the same; the dtype is the source's, or found by the array's
``rl_view``    (source, array, step): a view of the source's memory, noted in its storage

:mod:`rushlight.fastpath.views` holds those that make the array of a view as well, and
:mod:`rushlight.fastpath.creation` those that allocate.
"""

from __future__ import annotations

import ctypes

from rushlight.machine import np
from rushlight.machine.built_in_functions import built_in
from rushlight.machine.native_functions import DTYPE_AT, FASTCALL, TYPE_AT, Builtin

# ---- plan words: objects by their addresses, slots by their offsets
(CLASS, NEW, EMPTY, NONE, ARRAY_AT, DTYPE_SLOT, NODE_AT, STORAGE_AT, BY_DTYPE, STORAGE_CLASS,
 VIEWS_AT, BASE_NAME, PATH_NAME, WRITABLE_NAME, ADD_VIEW, ARRAY_TYPE, INT, SLICE, TUPLE,
 ELLIPSIS, SLICE_OP, LEAF, NODE_CLASS, ONE, ZERO, NEXT, NODE_OP, NODE_EDGES, NODE_PLAN,
 NODE_OUTPUTS, NODE_SEQUENCE, NODE_SAVED, VERSION_AT, STORAGE_ARRAY_AT, INFERENCE_NAME,
 FALSE, PARAMETER, SIZE_CLASS, SIZED, MODES, VALUES_NAME, SHAPES_NAME, VERSIONS_NAME,
 METADATA_NAME, GRAD_NAME, TENSOR_HOOKS, HOOKS, PRE_HOOKS, LEAF_HOOKS, POST_HOOKS, INDEX_NAME,
 NUMBERS_NAME, LIST, BYTEARRAY, ITEMSIZE_AT, KINDS, UNSEEN_AT,
 ALIASES_AT) = range(58)  # fmt: skip
BASE_AT, SIZE_AT = 48, 16  # of an array, of a list
BASE_TYPE_AT, _NEW_AT = 256, 312  # ``tp_base`` and ``tp_new`` in a type object
FEW = 16  # views in a storage's list, above which it looks after itself when it has doubled
DECLARATIONS = """declare void @Py_IncRef(ptr)
declare void @Py_DecRef(ptr)
declare ptr @PyDict_GetItemWithError(ptr, ptr)
declare ptr @PyErr_Occurred()
declare ptr @PyObject_GetAttr(ptr, ptr)
declare i32 @PyObject_SetAttr(ptr, ptr, ptr)
declare ptr @PyObject_CallFunctionObjArgs(ptr, ...)
declare ptr @PyWeakref_NewRef(ptr, ptr)
declare ptr @PyDict_New()
declare i32 @PyDict_Contains(ptr, ptr)
declare ptr @PySet_New(ptr)
declare i32 @PySet_Contains(ptr, ptr)
declare i32 @PySet_Add(ptr, ptr)
declare i32 @PyDict_SetItem(ptr, ptr, ptr)
declare ptr @PyList_New(i64)
declare i32 @PyList_Append(ptr, ptr)
declare ptr @PyTuple_New(i64)
declare i32 @PyTuple_SetItem(ptr, i64, ptr)
declare ptr @PySequence_Concat(ptr, ptr)
declare i32 @memcmp(ptr, ptr, i64)
declare ptr @memset(ptr, i32, i64)
declare ptr @memcpy(ptr, ptr, i64)
declare i64 @PyLong_AsLongLong(ptr)
declare void @PyErr_Clear()
declare double @llvm.fabs.f64(double)
declare i32 @PySlice_Unpack(ptr, ptr, ptr, ptr)
declare i64 @PySlice_AdjustIndices(i64, ptr, ptr, i64)
declare i32 @PyList_SetItem(ptr, i64, ptr)
declare ptr @PyType_GenericAlloc(ptr, i64)
declare ptr @PyLong_FromLongLong(i64)
declare ptr @PyFloat_FromDouble(double)
declare ptr @rl_new_array(ptr, ptr, i32, ptr, ptr, ptr, i32, ptr)
declare i32 @rl_set_base(ptr, ptr)
declare ptr @PyByteArray_FromStringAndSize(ptr, i64)
declare ptr @PyByteArray_AsString(ptr)
@_Py_NotImplementedStruct = external global i8"""


class _Maker(Builtin):
    """What the functions share."""

    def __init__(self, name, count, parameters=FASTCALL, linkage=""):
        super().__init__("ptr", name, parameters)
        if count is None:
            self.head = self.head.replace("define", f"define {linkage}")
            self.plan = "%plan"
            return
        self.plan = self.field("%self", 16, "ptr")
        least, most = count if type(count) is tuple else (count, count)
        self.exit_if(self.compare("slt", "%count", least), "fallback")
        self.exit_if(self.compare("sgt", "%count", most), "fallback")

    def word(self, index):
        """A word of the plan as a pointer."""
        return self.load(self.plan, index, "ptr")

    def slot_of(self, x, index):
        """Address of a slot whose offset is a plan word."""
        return self.at(x, self.load(self.plan, index), "i8")

    def held(self, x):
        """`x`, with a reference more."""
        self.call("void", "@Py_IncRef", f"ptr {x}")
        return x

    def new(self, cls, *slots):
        """A new instance by ``object.__new__``; it takes a reference to what its slots, ``(word,
        object)`` each, hold."""
        arguments = f"ptr {self.word(cls)}, ptr {self.word(EMPTY)}, ptr null"
        out = self.call("ptr", self.word(NEW), arguments)
        self.exit_if(self.compare("eq", out, "null", "ptr"), "failed")
        for index, x in slots:
            self.store(self.held(x), self.slot_of(out, index), 0, "ptr")
        return out

    def made(self, array, dtype, storage):
        """A new tensor; it takes a reference to each of the three."""
        places = (ARRAY_AT, array), (DTYPE_SLOT, dtype), (STORAGE_AT, storage)
        return self.new(CLASS, *places, (NODE_AT, self.word(NONE)))

    def new_storage(self, array):
        """The storage of an array that nobody has written to or taken a view of."""
        counts = [(index, self.word(ZERO)) for index in (VERSION_AT, UNSEEN_AT, ALIASES_AT)]
        held = (STORAGE_ARRAY_AT, array), (VIEWS_AT, self.word(NONE))
        return self.new(STORAGE_CLASS, *counts, *held)

    def is_node(self, x):
        """Whether `x` is of the class of nodes or, as one that a program looked at, of a class made
        from it: without a branch, as it is asked of every edge."""
        kind, node = self.field(x, TYPE_AT, "ptr"), self.word(NODE_CLASS)
        plain = self.compare("eq", kind, node, "ptr")
        named = self.compare("eq", self.field(kind, BASE_TYPE_AT, "ptr"), node, "ptr")
        return self.value(f"or i1 {plain}, {named}")

    def check_arrays(self, *arrays):
        """All are NumPy's own."""
        for x in arrays:
            kind = self.compare("eq", self.field(x, TYPE_AT, "ptr"), self.word(ARRAY_TYPE), "ptr")
            self.exit_unless(kind, "fallback")


def _made():
    f = _Maker("rl_made", 2)
    array, dtype = f.load("%args", 0, "ptr"), f.load("%args", 1, "ptr")
    f.do(f"ret ptr {f.made(array, dtype, f.word(NONE))}")
    return f.finish()


def _result():
    f = _Maker("rl_result", 2)
    array, source = f.load("%args", 0, "ptr"), f.load("%args", 1, "ptr")
    own = f.load(f.slot_of(source, ARRAY_AT), 0, "ptr")
    f.check_arrays(array, own)
    found, place = f.field(array, DTYPE_AT, "ptr"), f.slot()
    f.store(f.load(f.slot_of(source, DTYPE_SLOT), 0, "ptr"), place, 0, "ptr")
    with f.when(f.compare("ne", f.field(own, DTYPE_AT, "ptr"), found, "ptr")):
        table = f.word(BY_DTYPE)
        dtype = f.call("ptr", "@PyDict_GetItemWithError", f"ptr {table}, ptr {found}")
        with f.when(f.compare("eq", dtype, "null", "ptr")):
            error = f.call("ptr", "@PyErr_Occurred", "")
            f.exit_if(f.compare("ne", error, "null", "ptr"), "failed")
            f.do("br label %fallback")
            f.lines.append(f"{f.name('never')}:")
        f.store(dtype, place, 0, "ptr")
    f.do(f"ret ptr {f.made(array, f.load(place, 0, 'ptr'), f.word(NONE))}")
    return f.finish()


def _wrap():
    """An array of the source's memory and dtype as a view of the source; null with an error set.
    Without a step it is one of several, which `reason` says must not be written to."""
    parameters = "ptr %plan, ptr %source, ptr %array, ptr %step, ptr %reason"
    f = _Maker("rl_wrap", None, parameters, "internal")
    source, none = "%source", f.word(NONE)
    own = f.load(f.slot_of(source, ARRAY_AT), 0, "ptr")
    place = f.slot_of(source, STORAGE_AT)
    with f.when(f.compare("eq", f.load(place, 0, "ptr"), none, "ptr")):
        f.store(f.new_storage(own), place, 0, "ptr")
        f.call("void", "@Py_DecRef", f"ptr {none}")
    storage = f.load(place, 0, "ptr")
    out = f.made("%array", f.load(f.slot_of(source, DTYPE_SLOT), 0, "ptr"), storage)
    _note_in_storage(f, storage, out)
    alone, several, linked = f.name("alone"), f.name("several"), f.name("linked")
    f.do(f"br i1 {f.compare('eq', '%step', 'null', 'ptr')}, label %{several}, label %{alone}")
    f.lines.append(f"{several}:")
    _set_base(f, source, out)
    f.do(f"br label %{linked}")
    f.lines.append(f"{alone}:")
    _set_origin(f, source, "%step", out)
    f.label(linked)
    f.do(f"ret ptr {out}")
    f.lines.append("undone:")
    f.call("void", "@Py_DecRef", f"ptr {out}")
    f.do("ret ptr null")
    f.lines.append("failed:")
    f.do("ret ptr null")
    return f.text()


def _view():
    f = _Maker("rl_view", 3)
    source, array, step = (f.load("%args", i, "ptr") for i in range(3))
    own = f.load(f.slot_of(source, ARRAY_AT), 0, "ptr")
    f.check_arrays(array, own)
    _check_shared(f, array, own)
    same = f.compare("eq", f.field(array, DTYPE_AT, "ptr"), f.field(own, DTYPE_AT, "ptr"), "ptr")
    f.exit_unless(same, "fallback")
    arguments = f"ptr {f.plan}, ptr {source}, ptr {array}, ptr {step}, ptr null"
    f.do(f"ret ptr {f.call('ptr', '@rl_wrap', arguments)}")
    return f.finish()


def _check_shared(f, array, own):
    """Only what stands on the source's memory is a view; NumPy copies where strides will not do."""
    base, root = f.field(array, BASE_AT, "ptr"), f.field(own, BASE_AT, "ptr")
    direct = f.compare("eq", base, own, "ptr")
    itself = f.compare("eq", array, own, "ptr")
    there = f.compare("ne", base, "null", "ptr")
    common = f.value(f"and i1 {there}, {f.compare('eq', base, root, 'ptr')}")
    either = f.value(f"or i1 {f.value(f'or i1 {direct}, {itself}')}, {common}")
    f.exit_unless(either, "fallback")


def _note_in_storage(f, storage, out):
    """A weak reference in the storage's list; whenever a long list has doubled, it is left to the
    storage's own method, which drops the views that are gone."""
    place, done = f.slot_of(storage, VIEWS_AT), f.name("noted")
    none, views, long = f.word(NONE), f.slot(), f.name("long")
    short, first, listed = f.name("short"), f.name("first"), f.name("listed")
    f.store(f.load(place, 0, "ptr"), views, 0, "ptr")
    empty = f.compare("eq", f.load(views, 0, "ptr"), none, "ptr")
    f.do(f"br i1 {empty}, label %{first}, label %{listed}")
    f.lines.append(f"{first}:")
    fresh = f.call("ptr", "@PyList_New", "i64 0")
    f.exit_if(f.compare("eq", fresh, "null", "ptr"), "undone")
    f.store(fresh, place, 0, "ptr")
    f.call("void", "@Py_DecRef", f"ptr {none}")
    f.store(fresh, views, 0, "ptr")
    f.do(f"br label %{short}")
    f.lines.append(f"{listed}:")
    count = f.field(f.load(views, 0, "ptr"), SIZE_AT)
    double = f.value(f"and i64 {count}, {f.value(f'add i64 {count}, -1')}")
    full = f.value(f"and i1 {f.compare('eq', double, 0)}, {f.compare('sge', count, FEW)}")
    f.do(f"br i1 {full}, label %{long}, label %{short}")
    f.lines.append(f"{long}:")
    method = f.word(ADD_VIEW)
    nothing = f.call("ptr", "(ptr, ...) @PyObject_CallFunctionObjArgs",
                     f"ptr {method}, ptr {storage}, ptr {out}, ptr null")  # fmt: skip
    f.exit_if(f.compare("eq", nothing, "null", "ptr"), "undone")
    f.call("void", "@Py_DecRef", f"ptr {nothing}")
    f.do(f"br label %{done}")
    f.lines.append(f"{short}:")
    weak = f.call("ptr", "@PyWeakref_NewRef", f"ptr {out}, ptr null")
    f.exit_if(f.compare("eq", weak, "null", "ptr"), "undone")
    refused = f.call("i32", "@PyList_Append", f"ptr {f.load(views, 0, 'ptr')}, ptr {weak}")
    f.call("void", "@Py_DecRef", f"ptr {weak}")
    f.exit_if(f.compare("ne", refused, 0, "i32"), "undone")
    f.label(done)


def _attributes(f, source, out):
    """Functions that read an attribute of the source, and write one of the view."""

    def read(name):
        value = f.call("ptr", "@PyObject_GetAttr", f"ptr {source}, ptr {f.word(name)}")
        f.exit_if(f.compare("eq", value, "null", "ptr"), "undone")
        return value

    def write(name, value):
        """Set an attribute and drop the reference to its value."""
        refused = f.call("i32", "@PyObject_SetAttr", f"ptr {out}, ptr {f.word(name)}, ptr {value}")
        f.call("void", "@Py_DecRef", f"ptr {value}")
        f.exit_if(f.compare("ne", refused, 0, "i32"), "undone")

    return read, write


def _set_base(f, source, out):
    """`_base` and `_writable` of one of several views, which has no path."""
    (read, write), none, base = _attributes(f, source, out), f.word(NONE), f.slot()
    f.store(read(BASE_NAME), base, 0, "ptr")
    with f.when(f.compare("eq", f.load(base, 0, "ptr"), none, "ptr")):
        f.call("void", "@Py_DecRef", f"ptr {none}")
        f.store(f.held(source), base, 0, "ptr")
    write(BASE_NAME, f.load(base, 0, "ptr"))
    write(WRITABLE_NAME, f.held("%reason"))


def _set_origin(f, source, step, out):
    """`_base` and `_path`, of a view of a view continued; `_writable` where it says something."""
    none, (read, write) = f.word(NONE), _attributes(f, source, out)
    row = f.call("ptr", "@PyTuple_New", "i64 1")
    f.exit_if(f.compare("eq", row, "null", "ptr"), "undone")
    f.call("i32", "@PyTuple_SetItem", f"ptr {row}, i64 0, ptr {f.held(step)}")
    base, path = f.slot(), f.slot()
    f.store(row, path, 0, "ptr")
    f.store(read(BASE_NAME), base, 0, "ptr")
    first, later, both = f.name("root"), f.name("later"), f.name("origin")
    is_root = f.compare("eq", f.load(base, 0, "ptr"), none, "ptr")
    f.do(f"br i1 {is_root}, label %{first}, label %{later}")
    f.lines.append(f"{first}:")
    f.call("void", "@Py_DecRef", f"ptr {none}")
    f.store(f.held(source), base, 0, "ptr")
    f.do(f"br label %{both}")
    f.lines.append(f"{later}:")
    before = read(PATH_NAME)
    whole = f.call("ptr", "@PySequence_Concat", f"ptr {before}, ptr {row}")
    f.call("void", "@Py_DecRef", f"ptr {before}")
    f.call("void", "@Py_DecRef", f"ptr {row}")
    f.exit_if(f.compare("eq", whole, "null", "ptr"), "undone")
    f.store(whole, path, 0, "ptr")
    f.label(both)
    write(BASE_NAME, f.load(base, 0, "ptr"))
    write(PATH_NAME, f.load(path, 0, "ptr"))
    reason, plain, refused, end = read(WRITABLE_NAME), f.name("w"), f.name("w"), f.name("w")
    f.do(f"br i1 {f.compare('eq', reason, none, 'ptr')}, label %{plain}, label %{refused}")
    f.lines.append(f"{refused}:")
    write(WRITABLE_NAME, reason)
    f.do(f"br label %{end}")
    f.lines.append(f"{plain}:")
    f.call("void", "@Py_DecRef", f"ptr {reason}")
    f.label(end)


def _families():
    from rushlight.fastpath import (
        backward,
        creation,
        known_layouts,
        lists,
        pointwise,
        recording,
        results,
        shapes,
        views,
    )

    return (
        views, recording, backward, lists, shapes, known_layouts, results, pointwise, creation,
    )  # fmt: skip


def module(key: str) -> str:
    """IR text of the functions; `key` becomes a function that says which build this is."""
    marker = f"define i64 @{key}() {{\n  ret i64 1\n}}"
    functions = [_wrap(), _made(), _result(), _view()]
    for family in _families():
        functions += family.functions(_Maker)
    return "\n".join([DECLARATIONS, *functions, marker])


# ------------------------------------------------------------------------------------ Python's side
def slot_offset(cls, name) -> int:
    """Where in an instance a slot is: from its descriptor's member definition."""
    word = ctypes.c_int64.from_address
    return word(word(id(cls.__dict__[name]) + 40).value + 16).value


def _offsets_are_right(cls, names, probe):
    """Whether the slots of an instance are where the descriptors say."""
    word = ctypes.c_int64.from_address
    for name in names:
        offset = slot_offset(cls, name)
        if not 16 <= offset < 4096:
            return False
        if word(id(probe) + offset).value != id(getattr(probe, name)):
            return False
    return True


class TensorDoors:
    """The functions for one class of tensors; `probe` is an instance with all slots set,
    `storage` one of its storages, `node` a node of the graph, `leaf` the mark of tensors that begin
    one, ``sequence()`` numbers nodes, `parameter` is the other class of plain tensors, `size` that
    of shapes, ``sized(tensor)`` the shape by Python, and `state` counts modes."""

    def __init__(
        self, engine, probe, storage, by_dtype, node, leaf, sequence, parameter, size, sized, state
    ):
        from rushlight.machine.llvm_passes import simplify
        from rushlight.machine.native_functions import _array_api

        cls, slots = type(probe), ("_array", "_dtype", "_node", "_storage")
        kind = type(storage)
        of_node = ("op", "edges", "plan", "outputs", "sequence", "saved")
        of_storage = ("views", "version", "array", "unseen", "aliases")
        known = (cls, slots, probe), (kind, of_storage, storage), (type(node), of_node, node)
        dtype = probe._dtype
        known = *known, (type(state), ("modes",), state), (type(dtype), ("itemsize",), dtype)
        if not all(_offsets_are_right(*layout) for layout in known):
            raise RuntimeError("tensors have another layout than their class says")
        if ctypes.c_int64.from_address(id(parameter) + BASE_TYPE_AT).value != id(cls):
            raise RuntimeError("classes have another layout than this Python's")
        key = engine.key("tensors")
        engine.function(key, lambda: (module(key), 0, simplify))
        names = [
            b"_base", b"_path", b"_writable", b"_inference", b"values", b"shapes", b"versions",
            b"dtypes", b"_grad", b"tensor_hooks", b"hooks", b"pre_hooks", b"_hooks",
            b"_post_hooks", b"_index", b"numbers",
        ]  # fmt: skip
        self.kept = [(), kind.add_view, *(_interned(n) for n in names)]
        new = ctypes.c_int64.from_address(id(object) + _NEW_AT).value
        kinds = {each: each for each in by_dtype}  # NumPy's dtype -> the equal one used inside
        words = [
            id(cls), new, id(self.kept[0]), id(None), *(slot_offset(cls, s) for s in slots),
            id(by_dtype), id(kind), slot_offset(kind, "views"), *map(id, self.kept[2:5]),
            id(self.kept[1]), _array_api()[0], id(int), id(slice), id(tuple), id(Ellipsis), 0,
            id(leaf), id(type(node)), id(1), id(0), id(sequence),
            *(slot_offset(type(node), s) for s in of_node), slot_offset(kind, "version"),
            slot_offset(kind, "array"), id(self.kept[5]), id(False), id(parameter), id(size),
            id(sized), id(state) + slot_offset(type(state), "modes"), *map(id, self.kept[6:18]),
            id(list), id(bytearray), slot_offset(type(dtype), "itemsize"), id(kinds),
            slot_offset(kind, "unseen"), slot_offset(kind, "aliases"),
        ]  # fmt: skip
        self.kept += [
            cls,
            kind,
            by_dtype,
            kinds,
            type(node),
            leaf,
            sequence,
            parameter,
            size,
            sized,
            state,
        ]
        plan = self.plan = np.array(words, np.int64)
        self.made = self._function(engine, b"made", plan)
        self.result = self._function(engine, b"result", plan)
        self.view = self._function(engine, b"view", plan)
        for family in _families():
            for name in family.NAMES:
                setattr(self, name, self._function(engine, name.encode(), plan))

        TensorDoors.current = self

    current = None  # the latest, whose plan other functions look into

    def slices_by(self, op):
        """The op of basic indexing, which the views that `indexed` makes are noted with."""
        self.kept.append(op)
        self.plan[SLICE_OP] = id(op)

    def _function(self, engine, name, plan):
        return built_in(name, engine.symbol("rl_" + name.decode()), plan)


def _interned(name):
    import sys

    return sys.intern(name.decode())
