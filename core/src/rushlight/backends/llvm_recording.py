"""The records of elementwise calls and views made by machine code: nodes, edges, saved values.

``rl_recorded(recipe, out, *tensors)`` is what :func:`rushlight.ops._recording.record_one` and
`record_two` do where nothing is unusual. The recipe, an int64 array, says which op and plan it is,
which tensors must need a gradient, which are saved, and whether the output is. It answers
NotImplemented to anything else: other shapes, versions that are not 0, stale views, outputs of
several, tensors of inference mode.

``rl_viewed(op, plan, source, values, out)`` is `record_view`: one edge, nothing saved.
"""

from __future__ import annotations

from rushlight.backends import llvm_tensors as words
from rushlight.backends.llvm_door import DATA_AT, NDIM_AT, SHAPE_AT, TYPE_AT

NAMES = ("recorded", "viewed")
OP, PLAN, MARKS, OUTPUT, INPUTS, FIRST_INPUT = range(6)  # words of a recipe; inputs come last
FIRST = 2  # of the tensors among the arguments


def _check(f, recipe, count, out, own):
    """Leave unless the call is as the recipe expects."""
    marks = f.slot()
    f.store(0, marks)
    dims = f.field(own, NDIM_AT, "i32")
    size = f.multiply(f.value(f"zext i32 {dims} to i64"), 8)
    shape, none = f.field(own, SHAPE_AT, "ptr"), f.word(words.NONE)
    fresh = f.load(f.slot_of(out, words.STORAGE_AT), 0, "ptr")
    f.exit_unless(f.compare("eq", fresh, none, "ptr"), "fallback")
    with f.loop(count) as i:
        x = f.load("%args", f.add(i, FIRST), "ptr")
        array = f.load(f.slot_of(x, words.ARRAY_AT), 0, "ptr")
        f.check_arrays(array)
        same = f.compare("eq", f.field(array, NDIM_AT, "i32"), dims, "i32")
        f.exit_unless(same, "fallback")
        own_shape = f.field(array, SHAPE_AT, "ptr")
        differs = f.call("i32", "@memcmp", f"ptr {own_shape}, ptr {shape}, i64 {size}")
        f.exit_unless(f.compare("eq", differs, 0, "i32"), "fallback")
        node = f.load(f.slot_of(x, words.NODE_AT), 0, "ptr")
        with f.when(f.compare("ne", node, none, "ptr")):
            bit = f.value(f"shl i64 1, {i}")
            f.store(f.value(f"or i64 {f.load(marks)}, {bit}"), marks)
            with f.when(f.compare("ne", node, f.word(words.LEAF), "ptr")):
                kind = f.field(node, TYPE_AT, "ptr")
                f.exit_unless(f.compare("eq", kind, f.word(words.NODE_CLASS), "ptr"), "fallback")
                outputs = f.load(f.slot_of(node, words.NODE_OUTPUTS), 0, "ptr")
                f.exit_unless(f.compare("eq", outputs, f.word(words.ONE), "ptr"), "fallback")
    f.exit_unless(f.compare("eq", f.load(marks), f.load(recipe, MARKS)), "fallback")
    with f.loop(f.load(recipe, INPUTS)) as i:
        _check_saved(f, _input(f, recipe, i), none)


def _input(f, recipe, i):
    """The i-th tensor that is saved."""
    place = f.load(recipe, f.add(i, FIRST_INPUT))
    return f.load("%args", f.add(place, FIRST), "ptr")


def _check_saved(f, x, none):
    """A tensor that is saved has not been written to, and is none of inference mode."""
    storage = f.load(f.slot_of(x, words.STORAGE_AT), 0, "ptr")
    with f.when(f.compare("ne", storage, none, "ptr")):
        version = f.load(f.slot_of(storage, words.VERSION_AT), 0, "ptr")
        f.exit_unless(f.compare("eq", version, f.word(words.ZERO), "ptr"), "fallback")
        views = f.load(f.slot_of(storage, words.VIEWS_AT), 0, "ptr")
        with f.when(f.compare("ne", views, none, "ptr")):  # perhaps it is one of them
            base = _attribute(f, x, words.BASE_NAME)
            with f.when(f.compare("ne", base, none, "ptr")):
                _check_made_outside(f, base)
    _check_made_outside(f, x)


def _check_made_outside(f, x):
    """A tensor that was not made in inference mode."""
    mark = _attribute(f, x, words.INFERENCE_NAME)
    f.exit_unless(f.compare("eq", mark, f.word(words.FALSE), "ptr"), "fallback")


def _attribute(f, x, name):
    """An attribute of a tensor, which holds it."""
    found = f.call("ptr", "@PyObject_GetAttr", f"ptr {x}, ptr {f.word(name)}")
    f.exit_if(f.compare("eq", found, "null", "ptr"), "failed")
    f.call("void", "@Py_DecRef", f"ptr {found}")
    return found


def _edges(f, count):
    """The tuple of where gradients go: a leaf itself, a node, or None."""
    edges = f.call("ptr", "@PyTuple_New", f"i64 {count}")
    f.exit_if(f.compare("eq", edges, "null", "ptr"), "failed")
    with f.loop(count) as i:
        x = f.load("%args", f.add(i, FIRST), "ptr")
        node = f.load(f.slot_of(x, words.NODE_AT), 0, "ptr")
        leaf = f.compare("eq", node, f.word(words.LEAF), "ptr")
        edge = f.held(f.value(f"select i1 {leaf}, ptr {x}, ptr {node}"))
        f.call("i32", "@PyTuple_SetItem", f"ptr {edges}, i64 {i}, ptr {edge}")
    return edges


def _saved(f, recipe, out, own):
    """The saved values: tensors, then the output as (array, dtype, storage, number)."""
    inputs, output = f.load(recipe, INPUTS), f.load(recipe, OUTPUT)
    total = f.add(inputs, output)
    result, some, none, done = f.slot(), f.name("some"), f.name("none"), f.name("saved")
    empty = f.compare("eq", total, 0)
    f.do(f"br i1 {empty}, label %{none}, label %{some}")
    f.lines.append(f"{none}:")
    f.store(f.held(f.word(words.EMPTY)), result, 0, "ptr")
    f.do(f"br label %{done}")
    f.lines.append(f"{some}:")
    values = f.call("ptr", "@PyList_New", f"i64 {total}")
    f.exit_if(f.compare("eq", values, "null", "ptr"), "failed")
    with f.loop(inputs) as i:
        x = f.held(_input(f, recipe, i))
        f.call("i32", "@PyList_SetItem", f"ptr {values}, i64 {i}, ptr {x}")
    with f.when(f.compare("ne", output, 0)):
        item = _saved_output(f, out, own)
        f.call("i32", "@PyList_SetItem", f"ptr {values}, i64 {inputs}, ptr {item}")
    f.store(values, result, 0, "ptr")
    f.label(done)
    return f.load(result, 0, "ptr")


def _new(f, cls):
    out = f.call("ptr", f.word(words.NEW), f"ptr {cls}, ptr {f.word(words.EMPTY)}, ptr null")
    f.exit_if(f.compare("eq", out, "null", "ptr"), "failed")
    return out


def _saved_output(f, out, own):
    """The output with a storage, which it gets here: later writes show in its version."""
    storage, none = _new(f, f.word(words.STORAGE_CLASS)), f.word(words.NONE)
    slots = (words.STORAGE_ARRAY_AT, own), (words.VERSION_AT, f.word(words.ZERO))
    for index, x in (*slots, (words.VIEWS_AT, none)):
        f.store(f.held(x), f.slot_of(storage, index), 0, "ptr")
    f.store(storage, f.slot_of(out, words.STORAGE_AT), 0, "ptr")
    f.call("void", "@Py_DecRef", f"ptr {none}")
    item = f.call("ptr", "@PyTuple_New", "i64 4")
    f.exit_if(f.compare("eq", item, "null", "ptr"), "failed")
    dtype = f.load(f.slot_of(out, words.DTYPE_SLOT), 0, "ptr")
    for place, x in enumerate((own, dtype, storage, f.word(words.ZERO))):
        f.call("i32", "@PyTuple_SetItem", f"ptr {item}, i64 {place}, ptr {f.held(x)}")
    return item


def _recorded(maker):
    f = maker("rl_recorded", (3, 4))
    recipe, out = f.load("%args", 0, "ptr"), f.load("%args", 1, "ptr")
    f.check_arrays(recipe)
    recipe, count = f.field(recipe, DATA_AT, "ptr"), f.subtract("%count", FIRST)
    own = f.load(f.slot_of(out, words.ARRAY_AT), 0, "ptr")
    f.check_arrays(own)
    _check(f, recipe, count, out, own)
    edges, saved = _edges(f, count), _saved(f, recipe, out, own)
    number = f.call("ptr", "(ptr, ...) @PyObject_CallFunctionObjArgs",
                    f"ptr {f.word(words.NEXT)}, ptr null")  # fmt: skip
    f.exit_if(f.compare("eq", number, "null", "ptr"), "failed")
    node = _new(f, f.word(words.NODE_CLASS))
    places = [
        (words.NODE_OP, f.held(f.load(recipe, OP, "ptr"))),
        (words.NODE_PLAN, f.held(f.load(recipe, PLAN, "ptr"))),
        (words.NODE_EDGES, edges),
        (words.NODE_OUTPUTS, f.held(f.word(words.ONE))),
        (words.NODE_SEQUENCE, number),
        (words.NODE_SAVED, saved),
    ]
    for index, x in places:
        f.store(x, f.slot_of(node, index), 0, "ptr")
    none = f.word(words.NONE)
    f.store(node, f.slot_of(out, words.NODE_AT), 0, "ptr")
    f.do(f"ret ptr {none}")  # the reference that the output's slot had
    return f.finish()


def _shapes(f, array):
    """``((extent, ...),)``."""
    count = f.value(f"zext i32 {f.field(array, NDIM_AT, 'i32')} to i64")
    own, row = f.field(array, SHAPE_AT, "ptr"), f.call("ptr", "@PyTuple_New", f"i64 {count}")
    f.exit_if(f.compare("eq", row, "null", "ptr"), "failed")
    with f.loop(count) as d:
        n = f.call("ptr", "@PyLong_FromLongLong", f"i64 {f.load(own, d)}")
        f.exit_if(f.compare("eq", n, "null", "ptr"), "failed")
        f.call("i32", "@PyTuple_SetItem", f"ptr {row}, i64 {d}, ptr {n}")
    return _single(f, row)


def _single(f, x):
    """A tuple of one item, which it takes."""
    row = f.call("ptr", "@PyTuple_New", "i64 1")
    f.exit_if(f.compare("eq", row, "null", "ptr"), "failed")
    f.call("i32", "@PyTuple_SetItem", f"ptr {row}, i64 0, ptr {x}")
    return row


def _viewed(maker):
    f = maker("rl_viewed", 5)
    op, plan, source, values, out = (f.load("%args", i, "ptr") for i in range(5))
    own = f.load(f.slot_of(source, words.ARRAY_AT), 0, "ptr")
    f.check_arrays(own)
    edge = f.slot()
    f.store(f.load(f.slot_of(source, words.NODE_AT), 0, "ptr"), edge, 0, "ptr")
    leaf, joined = f.name("leaf"), f.name("edge")
    inner, before = f.name("inner"), f.load(edge, 0, "ptr")
    is_leaf = f.compare("eq", before, f.word(words.LEAF), "ptr")
    f.do(f"br i1 {is_leaf}, label %{leaf}, label %{inner}")
    f.lines.append(f"{leaf}:")
    f.store(source, edge, 0, "ptr")
    f.do(f"br label %{joined}")
    f.lines.append(f"{inner}:")
    kind = f.field(before, TYPE_AT, "ptr")
    f.exit_unless(f.compare("eq", kind, f.word(words.NODE_CLASS), "ptr"), "fallback")
    outputs = f.load(f.slot_of(before, words.NODE_OUTPUTS), 0, "ptr")
    f.exit_unless(f.compare("eq", outputs, f.word(words.ONE), "ptr"), "fallback")
    f.label(joined)
    number = f.call("ptr", "(ptr, ...) @PyObject_CallFunctionObjArgs",
                    f"ptr {f.word(words.NEXT)}, ptr null")  # fmt: skip
    f.exit_if(f.compare("eq", number, "null", "ptr"), "failed")
    node, edges = _new(f, f.word(words.NODE_CLASS)), _single(f, f.held(f.load(edge, 0, "ptr")))
    places = [
        (words.NODE_OP, f.held(op)),
        (words.NODE_PLAN, f.held(plan)),
        (words.NODE_EDGES, edges),
        (words.NODE_OUTPUTS, f.held(f.word(words.ONE))),
        (words.NODE_SEQUENCE, number),
        (words.NODE_SAVED, f.held(f.word(words.EMPTY))),
    ]
    for index, x in places:
        f.store(x, f.slot_of(node, index), 0, "ptr")
    shapes = _shapes(f, own)
    for name, x in ((words.VALUES_NAME, values), (words.SHAPES_NAME, shapes)):
        bad = f.call("i32", "@PyObject_SetAttr", f"ptr {node}, ptr {f.word(name)}, ptr {x}")
        f.exit_if(f.compare("ne", bad, 0, "i32"), "failed")
    f.call("void", "@Py_DecRef", f"ptr {shapes}")
    f.store(node, f.slot_of(out, words.NODE_AT), 0, "ptr")
    f.do(f"ret ptr {f.word(words.NONE)}")  # the reference that the output's slot had
    return f.finish()


def functions(maker):
    """IR texts."""
    return [_recorded(maker), _viewed(maker)]
