"""The records of calls made by machine code: nodes, edges, saved values.

``rl_recorded(recipe, out, *tensors)`` is what :func:`rushlight.ops._table.recording.record_one` and
`record_two` do where nothing is unusual. The recipe, an int64 array, says which op and plan it is,
which tensors must need a gradient, which are saved, and whether the output is. It answers
NotImplemented to anything else: other shapes, versions that are not 0, stale views, outputs of
several, tensors of inference mode.

``rl_viewed(op, plan, source, values, out)`` is `record_view`: one edge, nothing saved.

``rl_noted(recipes, tensors, values, outs)`` is `record` for all other ops of one output: any number
of tensors, of any shapes and dtypes, whose storages may have versions. The recipe is found by the
pattern of the tensors that are there and need a gradient.
"""

from __future__ import annotations

from rushlight.fastpath import tensors as words
from rushlight.machine.native_functions import DATA_AT, NDIM_AT, SHAPE_AT, TYPE_AT

NAMES = ("recorded", "viewed", "noted")
OP, PLAN, MARKS, OUTPUT, INPUTS, FIRST_INPUT = range(6)  # words of a recipe; inputs come last
SHAPED = MARKS  # in a recipe of rl_noted: whether shapes are wanted; saved outputs come last
ITEMS_AT, SIZE_AT = 24, 16  # of a tuple
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
                _check_node(f, node)
    f.exit_unless(f.compare("eq", f.load(marks), f.load(recipe, MARKS)), "fallback")
    with f.loop(f.load(recipe, INPUTS)) as i:
        _check_saved(f, _input(f, recipe, i), none)


def _check_kind(f, node):
    """It is a node, not the mark of a view whose memory was written to."""
    f.exit_unless(f.is_node(node), "fallback")


def _check_node(f, node):
    """It is a node of one output."""
    _check_kind(f, node)
    outputs = f.load(f.slot_of(node, words.NODE_OUTPUTS), 0, "ptr")
    f.exit_unless(f.compare("eq", outputs, f.word(words.ONE), "ptr"), "fallback")


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
    _check_not_inferred(f, x, none)


def _check_not_inferred(f, x, none):
    """A tensor that is saved, or what it is a view of, was not made in inference mode."""
    storage = f.load(f.slot_of(x, words.STORAGE_AT), 0, "ptr")
    with f.when(f.compare("ne", storage, none, "ptr")):
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
        f.call("i32", "@PyTuple_SetItem", f"ptr {edges}, i64 {i}, ptr {f.held(_edge(f, x))}")
    return edges


def _edge(f, x):
    """Where the gradient of a tensor goes."""
    node = f.load(f.slot_of(x, words.NODE_AT), 0, "ptr")
    leaf = f.compare("eq", node, f.word(words.LEAF), "ptr")
    return f.value(f"select i1 {leaf}, ptr {x}, ptr {node}")


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
        item = _saved_output(f, out, own, f.word(words.ZERO))
        f.call("i32", "@PyList_SetItem", f"ptr {values}, i64 {inputs}, ptr {item}")
    f.store(values, result, 0, "ptr")
    f.label(done)
    return f.load(result, 0, "ptr")


def _saved_output(f, out, own, number):
    """The output with a storage, which it gets here: later writes show in its version."""
    storage = f.new_storage(own)
    f.store(storage, f.slot_of(out, words.STORAGE_AT), 0, "ptr")
    f.call("void", "@Py_DecRef", f"ptr {f.word(words.NONE)}")
    item = f.call("ptr", "@PyTuple_New", "i64 4")
    f.exit_if(f.compare("eq", item, "null", "ptr"), "failed")
    dtype = f.load(f.slot_of(out, words.DTYPE_SLOT), 0, "ptr")
    for place, x in enumerate((own, dtype, storage, number)):
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
    node = _node(f, f.load(recipe, OP, "ptr"), f.load(recipe, PLAN, "ptr"), edges, saved)
    f.store(node, f.slot_of(out, words.NODE_AT), 0, "ptr")
    f.do(f"ret ptr {f.word(words.NONE)}")  # the reference that the output's slot had
    return f.finish()


def _node(f, op, plan, edges, saved):
    """A new node of one output; it takes the edges and what is saved."""
    number = f.call("ptr", "(ptr, ...) @PyObject_CallFunctionObjArgs",
                    f"ptr {f.word(words.NEXT)}, ptr null")  # fmt: skip
    f.exit_if(f.compare("eq", number, "null", "ptr"), "failed")
    node = f.new(words.NODE_CLASS)
    places = [
        (words.NODE_OP, f.held(op)),
        (words.NODE_PLAN, f.held(plan)),
        (words.NODE_EDGES, edges),
        (words.NODE_OUTPUTS, f.held(f.word(words.ONE))),
        (words.NODE_SEQUENCE, number),
        (words.NODE_SAVED, saved),
    ]
    for index, x in places:
        f.store(x, f.slot_of(node, index), 0, "ptr")
    return node


def _set(f, node, name, x):
    """An attribute of a node that not all nodes have."""
    bad = f.call("i32", "@PyObject_SetAttr", f"ptr {node}, ptr {f.word(name)}, ptr {x}")
    f.exit_if(f.compare("ne", bad, 0, "i32"), "failed")


def _shape(f, array):
    """The shape of an array as a tuple."""
    count = f.value(f"zext i32 {f.field(array, NDIM_AT, 'i32')} to i64")
    own, row = f.field(array, SHAPE_AT, "ptr"), f.call("ptr", "@PyTuple_New", f"i64 {count}")
    f.exit_if(f.compare("eq", row, "null", "ptr"), "failed")
    with f.loop(count) as d:
        n = f.call("ptr", "@PyLong_FromLongLong", f"i64 {f.load(own, d)}")
        f.exit_if(f.compare("eq", n, "null", "ptr"), "failed")
        f.call("i32", "@PyTuple_SetItem", f"ptr {row}, i64 {d}, ptr {n}")
    return row


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
    _check_node(f, before)
    f.label(joined)
    edges = _single(f, f.held(f.load(edge, 0, "ptr")))
    node, shapes = (
        _node(f, op, plan, edges, f.held(f.word(words.EMPTY))),
        _single(f, _shape(f, own)),
    )
    _set(f, node, words.VALUES_NAME, values)
    _set(f, node, words.SHAPES_NAME, shapes)
    f.call("void", "@Py_DecRef", f"ptr {shapes}")
    f.store(node, f.slot_of(out, words.NODE_AT), 0, "ptr")
    f.do(f"ret ptr {f.word(words.NONE)}")  # the reference that the output's slot had
    return f.finish()


# ---- calls of any number of tensors --------------------------------------------------------------
class _Noted:
    """Writes ``rl_noted``."""

    def __init__(self, maker):
        f = self.f = maker("rl_noted", 4)
        recipes, tensors, self.values, outs = (f.load("%args", i, "ptr") for i in range(4))
        self.tensors, self.count = self._items(tensors)
        self.outs, _ = self._items(outs)
        self.none, self.first = f.word(words.NONE), f.load(self.outs, 0, "ptr")
        self.key, self.shaped, self.typed, self.numbered = (f.slot() for _ in range(4))
        for mark in (self.shaped, self.typed, self.numbered):
            f.store(0, mark)
        self._look()
        self.recipe = self._found(recipes)
        f.store(
            f.value(f"or i64 {f.load(self.shaped)}, {f.load(self.recipe, SHAPED)}"), self.shaped
        )
        self.inputs, self.outputs = f.load(self.recipe, INPUTS), f.load(self.recipe, OUTPUT)
        self._check_kept()

    def _items(self, row):
        """Where the items of a tuple are, and how many."""
        f = self.f
        kind = f.compare("eq", f.field(row, TYPE_AT, "ptr"), f.word(words.TUPLE), "ptr")
        f.exit_unless(kind, "fallback")
        return f.at(row, ITEMS_AT, "i8"), f.field(row, SIZE_AT)

    def _array(self, x):
        """The array of a tensor, NumPy's own."""
        array = self.f.load(self.f.slot_of(x, words.ARRAY_AT), 0, "ptr")
        self.f.check_arrays(array)
        return array

    def _raise(self, slot):
        self.f.store(self.f.add(self.f.load(slot), 1), slot)

    def _look(self):
        """The pattern of the tensors, in base 3: not there, there, in need of a gradient; and
        whether one differs from the output in shape or dtype."""
        f = self.f
        own, dtype = (
            self._array(self.first),
            f.load(f.slot_of(self.first, words.DTYPE_SLOT), 0, "ptr"),
        )
        dims, shape = f.field(own, NDIM_AT, "i32"), f.field(own, SHAPE_AT, "ptr")
        size = f.multiply(f.value(f"zext i32 {dims} to i64"), 8)
        f.store(1, self.key)
        with f.loop(self.count) as i:
            f.store(f.multiply(f.load(self.key), 3), self.key)
            x = f.load(self.tensors, i, "ptr")
            with f.when(f.compare("ne", x, self.none, "ptr")):
                self._raise(self.key)
                array = self._array(x)
                same = f.compare("eq", f.field(array, NDIM_AT, "i32"), dims, "i32")
                differs, unlike = f.slot(), f.value(f"xor i1 {same}, true")
                f.store(f.value(f"zext i1 {unlike} to i64"), differs)
                with f.when(same):
                    extents = f.field(array, SHAPE_AT, "ptr")
                    order = f.call("i32", "@memcmp", f"ptr {extents}, ptr {shape}, i64 {size}")
                    unlike = f.compare("ne", order, 0, "i32")
                    f.store(f.value(f"zext i1 {unlike} to i64"), differs)
                f.store(f.value(f"or i64 {f.load(self.shaped)}, {f.load(differs)}"), self.shaped)
                other = f.load(f.slot_of(x, words.DTYPE_SLOT), 0, "ptr")
                with f.when(f.compare("ne", other, dtype, "ptr")):
                    f.store(1, self.typed)
                node = f.load(f.slot_of(x, words.NODE_AT), 0, "ptr")
                with f.when(f.compare("ne", node, self.none, "ptr")):
                    self._raise(self.key)
                    with f.when(f.compare("ne", node, f.word(words.LEAF), "ptr")):
                        _check_kind(f, node)
                        number = _attribute(f, x, words.INDEX_NAME)
                        with f.when(f.compare("ne", number, f.word(words.ZERO), "ptr")):
                            f.store(1, self.numbered)

    def _found(self, recipes):
        """The recipe for the pattern."""
        f = self.f
        key = f.call("ptr", "@PyLong_FromLongLong", f"i64 {f.load(self.key)}")
        f.exit_if(f.compare("eq", key, "null", "ptr"), "failed")
        found = f.call("ptr", "@PyDict_GetItemWithError", f"ptr {recipes}, ptr {key}")
        f.call("void", "@Py_DecRef", f"ptr {key}")
        f.exit_if(f.compare("eq", found, "null", "ptr"), "unknown")
        return f.field(found, DATA_AT, "ptr")

    def _input(self, i):
        f = self.f
        return f.load(self.tensors, f.load(self.recipe, f.add(i, FIRST_INPUT)), "ptr")

    def _output(self, i):
        """The number and the tensor of the i-th output that is saved."""
        f = self.f
        number = f.load(self.recipe, f.add(f.add(i, self.inputs), FIRST_INPUT))
        return number, f.load(self.outs, number, "ptr")

    def _check_kept(self):
        """Saved inputs are none of inference mode, saved outputs nobody else's yet."""
        f = self.f
        with f.loop(self.inputs) as i:
            _check_not_inferred(f, self._input(i), self.none)
        with f.loop(self.outputs) as i:
            _, out = self._output(i)
            self._array(out)
            storage = f.load(f.slot_of(out, words.STORAGE_AT), 0, "ptr")
            f.exit_unless(f.compare("eq", storage, self.none, "ptr"), "fallback")

    def _row(self, of_each, missing=None):
        """A tuple with an item for each tensor, None (or `missing`) where there is none."""
        f, other = self.f, missing or self.none
        row = f.call("ptr", "@PyTuple_New", f"i64 {self.count}")
        f.exit_if(f.compare("eq", row, "null", "ptr"), "failed")
        with f.loop(self.count) as i:
            x, item = f.load(self.tensors, i, "ptr"), f.slot()
            f.store(other, item, 0, "ptr")
            nothing = f.compare("eq", x, self.none, "ptr")
            with f.when(nothing):
                f.held(other)
            with f.when(f.value(f"xor i1 {nothing}, true")):
                f.store(of_each(x), item, 0, "ptr")
            f.call("i32", "@PyTuple_SetItem", f"ptr {row}, i64 {i}, ptr {f.load(item, 0, 'ptr')}")
        return row

    def _saved(self):
        """The saved values and the versions that are not 0, a dictionary or null."""
        f, result, versions = self.f, self.f.slot(), self.f.slot()
        f.store("null", versions, 0, "ptr")
        f.store(f.word(words.EMPTY), result, 0, "ptr")
        total = f.add(self.inputs, self.outputs)
        with f.when(f.compare("eq", total, 0)):
            f.held(f.word(words.EMPTY))
        with f.when(f.compare("ne", total, 0)):
            row = f.call("ptr", "@PyList_New", f"i64 {total}")
            f.exit_if(f.compare("eq", row, "null", "ptr"), "failed")
            f.store(row, result, 0, "ptr")
            with f.loop(self.inputs) as i:
                x = f.held(self._input(i))
                f.call("i32", "@PyList_SetItem", f"ptr {row}, i64 {i}, ptr {x}")
                self._note_version(i, x, versions)
            with f.loop(self.outputs) as i:
                number, out = self._output(i)
                number = f.call("ptr", "@PyLong_FromLongLong", f"i64 {number}")
                f.exit_if(f.compare("eq", number, "null", "ptr"), "failed")
                own = f.load(f.slot_of(out, words.ARRAY_AT), 0, "ptr")
                item = _saved_output(f, out, own, number)
                f.call("void", "@Py_DecRef", f"ptr {number}")
                place = f.add(self.inputs, i)
                f.call("i32", "@PyList_SetItem", f"ptr {row}, i64 {place}, ptr {item}")
        return f.load(result, 0, "ptr"), f.load(versions, 0, "ptr")

    def _note_version(self, i, x, versions):
        f = self.f
        storage = f.load(f.slot_of(x, words.STORAGE_AT), 0, "ptr")
        with f.when(f.compare("ne", storage, self.none, "ptr")):
            version = f.load(f.slot_of(storage, words.VERSION_AT), 0, "ptr")
            with f.when(f.compare("ne", version, f.word(words.ZERO), "ptr")):
                with f.when(f.compare("eq", f.load(versions, 0, "ptr"), "null", "ptr")):
                    fresh = f.call("ptr", "@PyDict_New", "")
                    f.exit_if(f.compare("eq", fresh, "null", "ptr"), "failed")
                    f.store(fresh, versions, 0, "ptr")
                place = f.call("ptr", "@PyLong_FromLongLong", f"i64 {i}")
                f.exit_if(f.compare("eq", place, "null", "ptr"), "failed")
                found = f.load(versions, 0, "ptr")
                arguments = f"ptr {found}, ptr {place}, ptr {version}"
                bad = f.call("i32", "@PyDict_SetItem", arguments)
                f.call("void", "@Py_DecRef", f"ptr {place}")
                f.exit_if(f.compare("ne", bad, 0, "i32"), "failed")

    def _set_owned(self, node, name, x):
        _set(self.f, node, name, x)
        self.f.call("void", "@Py_DecRef", f"ptr {x}")

    def text(self):
        """The function."""
        f = self.f
        edges = self._row(lambda x: f.held(_edge(f, x)))
        saved, versions = self._saved()
        node = _node(
            f, f.load(self.recipe, OP, "ptr"), f.load(self.recipe, PLAN, "ptr"), edges, saved
        )
        with f.when(f.compare("ne", self.values, self.none, "ptr")):
            _set(f, node, words.VALUES_NAME, self.values)
        with f.when(f.compare("ne", f.load(self.shaped), 0)):
            shapes = self._row(lambda x: _shape(f, f.load(f.slot_of(x, words.ARRAY_AT), 0, "ptr")))
            self._set_owned(node, words.SHAPES_NAME, shapes)
        with f.when(f.compare("ne", f.load(self.typed), 0)):
            dtypes = self._row(lambda x: f.held(f.load(f.slot_of(x, words.DTYPE_SLOT), 0, "ptr")))
            self._set_owned(node, words.METADATA_NAME, dtypes)
        with f.when(f.compare("ne", versions, "null", "ptr")):
            self._set_owned(node, words.VERSIONS_NAME, versions)
        with f.when(f.compare("ne", f.load(self.numbered), 0)):
            numbers = self._row(
                lambda x: f.held(_attribute(f, x, words.INDEX_NAME)), f.word(words.ZERO)
            )
            self._set_owned(node, words.NUMBERS_NAME, numbers)
        f.store(node, f.slot_of(self.first, words.NODE_AT), 0, "ptr")
        f.do(f"ret ptr {self.none}")  # the reference that the output's slot had
        f.lines.append("unknown:")
        f.call("void", "@PyErr_Clear", "")
        f.do("br label %fallback")
        return f.finish()


def functions(maker):
    """IR texts."""
    return [_recorded(maker), _viewed(maker), _Noted(maker).text()]
