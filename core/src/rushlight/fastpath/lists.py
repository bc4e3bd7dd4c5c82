"""What an optimizer step does with lists of tensors, by machine code.

``rl_arrays(tensors)``            the arrays of tensors of one dtype, a list
``rl_written(*lists or Nones)``   raise the versions of all their storages by one
``rl_counted(states, name, dtype)``  add one to the scalar of this name and dtype, float32, in every
                                  state, a dictionary: the new numbers, a list of floats

Anything unusual is answered NotImplemented, and nothing has been changed then.
"""

from __future__ import annotations

from contextlib import contextmanager

from rushlight.fastpath import tensors as words
from rushlight.machine.native_functions import DATA_AT, FLAGS_AT, NDIM_AT, TYPE_AT, WRITEABLE

NAMES = ("arrays", "written", "counted")
SIZE_AT, ITEMS_AT = 16, 24  # of a list; at the second is where the items are
MOST_LISTS = 8


def _items(f, row):
    """Where the items of a list are, and how many."""
    kind = f.compare("eq", f.field(row, TYPE_AT, "ptr"), f.word(words.LIST), "ptr")
    f.exit_unless(kind, "fallback")
    return f.field(row, ITEMS_AT, "ptr"), f.field(row, SIZE_AT)


def _check_tensor(f, x):
    """It is a plain tensor."""
    kind = f.field(x, TYPE_AT, "ptr")
    with f.when(f.compare("ne", kind, f.word(words.CLASS), "ptr")):
        f.exit_unless(f.compare("eq", kind, f.word(words.PARAMETER), "ptr"), "fallback")


def _array(f, x):
    array = f.load(f.slot_of(x, words.ARRAY_AT), 0, "ptr")
    f.check_arrays(array)
    return array


def _new_list(f, count):
    out = f.call("ptr", "@PyList_New", f"i64 {count}")
    f.exit_if(f.compare("eq", out, "null", "ptr"), "failed")
    return out


def _arrays(maker):
    f = maker("rl_arrays", 1)
    row, count = _items(f, f.load("%args", 0, "ptr"))
    f.exit_unless(f.compare("sgt", count, 0), "fallback")
    dtype = f.slot()
    with f.loop(count) as i:
        x = f.load(row, i, "ptr")
        _check_tensor(f, x)
        _array(f, x)
        own = f.load(f.slot_of(x, words.DTYPE_SLOT), 0, "ptr")
        with f.when(f.compare("eq", i, 0)):
            f.store(own, dtype, 0, "ptr")
        f.exit_unless(f.compare("eq", own, f.load(dtype, 0, "ptr"), "ptr"), "fallback")
    out = _new_list(f, count)
    with f.loop(count) as i:
        array = f.load(f.slot_of(f.load(row, i, "ptr"), words.ARRAY_AT), 0, "ptr")
        f.call("i32", "@PyList_SetItem", f"ptr {out}, i64 {i}, ptr {f.held(array)}")
    f.do(f"ret ptr {out}")
    return f.finish()


@contextmanager
def _each_storage(f):
    """A loop over the storages of the tensors in the lists."""
    none = f.word(words.NONE)
    with f.loop("%count") as k:
        tensors = f.load("%args", k, "ptr")
        with f.when(f.compare("ne", tensors, none, "ptr")):
            row, count = _items(f, tensors)
            with f.loop(count) as i:
                x = f.load(row, i, "ptr")
                _check_tensor(f, x)
                yield f.load(f.slot_of(x, words.STORAGE_AT), 0, "ptr")


def _written(maker):
    f = maker("rl_written", (0, MOST_LISTS))
    with _each_storage(f) as storage:
        f.exit_if(f.compare("eq", storage, f.word(words.NONE), "ptr"), "fallback")
    with _each_storage(f) as storage:
        place = f.slot_of(storage, words.VERSION_AT)
        before = f.load(place, 0, "ptr")
        version = f.add(f.call("i64", "@PyLong_AsLongLong", f"ptr {before}"), 1)
        after = f.call("ptr", "@PyLong_FromLongLong", f"i64 {version}")
        f.exit_if(f.compare("eq", after, "null", "ptr"), "failed")
        f.store(after, place, 0, "ptr")
        f.call("void", "@Py_DecRef", f"ptr {before}")
    f.do(f"ret ptr {f.held(f.word(words.NONE))}")
    return f.finish()


def _counted(maker):
    f = maker("rl_counted", 3)
    row, count = _items(f, f.load("%args", 0, "ptr"))
    name, dtype = f.load("%args", 1, "ptr"), f.load("%args", 2, "ptr")
    with f.loop(count) as i:
        _number(f, f.load(row, i, "ptr"), name, dtype)
    out = _new_list(f, count)
    with f.loop(count) as i:
        place = _number(f, f.load(row, i, "ptr"), name, dtype)
        number = f.value(f"fadd float {f.load(place, 0, 'float')}, 1.0")
        f.store(number, place, 0, "float")
        wide = f.value(f"fpext float {number} to double")
        item = f.call("ptr", "@PyFloat_FromDouble", f"double {wide}")
        f.exit_if(f.compare("eq", item, "null", "ptr"), "failed")
        f.call("i32", "@PyList_SetItem", f"ptr {out}, i64 {i}, ptr {item}")
    f.do(f"ret ptr {out}")
    f.lines.append("unknown:")
    f.call("void", "@PyErr_Clear", "")
    f.do("br label %fallback")
    return f.finish()


def _number(f, state, name, dtype):
    """Where the number of a state is."""
    x = f.call("ptr", "@PyDict_GetItemWithError", f"ptr {state}, ptr {name}")
    f.exit_if(f.compare("eq", x, "null", "ptr"), "unknown")
    _check_tensor(f, x)
    own = f.load(f.slot_of(x, words.DTYPE_SLOT), 0, "ptr")
    f.exit_unless(f.compare("eq", own, dtype, "ptr"), "fallback")
    array = _array(f, x)
    f.exit_unless(f.compare("eq", f.field(array, NDIM_AT, "i32"), 0, "i32"), "fallback")
    flags = f.value(f"and i32 {f.field(array, FLAGS_AT, 'i32')}, {WRITEABLE}")
    f.exit_if(f.compare("eq", flags, 0, "i32"), "fallback")
    return f.field(array, DATA_AT, "ptr")


def functions(maker):
    """IR texts."""
    return [_arrays(maker), _written(maker), _counted(maker)]
