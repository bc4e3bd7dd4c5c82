"""Steps of the ordinary backward pass by machine code.

``rl_below(node)``   the node and those below it, a list, and how many gradients each leaf will get,
                     a dictionary; None where a hook is found, or a function of the user
``rl_fits(pieces, shapes, metadata)``  whether gradients (or Nones) have the shapes and dtypes of
                     the tensors that they are of, as a node notes them: None, or NotImplemented
``rl_handed(node, pieces, pending, counts, waiting)``  hand the gradients of a node to the nodes and
                     leaves below it: None, or the number of the first edge that is left to
                     :mod:`rushlight.autograd.ordinary_pass`, whose dictionaries these are
"""

from __future__ import annotations

from rushlight.fastpath import tensors as words
from rushlight.machine.native_functions import CONTIGUOUS, FLAGS_AT, NDIM_AT, SHAPE_AT, TYPE_AT

NAMES = ("below", "fits", "handed")
SIZE_AT, ITEMS_AT = 16, 24  # of a tuple; of a list, where the address of the items is


def _items(f, row):
    """Where the items of a tuple or a list are, and how many."""
    kind, items = f.field(row, TYPE_AT, "ptr"), f.slot()
    f.store(f.at(row, ITEMS_AT, "i8"), items, 0, "ptr")
    with f.when(f.compare("ne", kind, f.word(words.TUPLE), "ptr")):
        f.exit_unless(f.compare("eq", kind, f.word(words.LIST), "ptr"), "fallback")
        f.store(f.field(row, ITEMS_AT, "ptr"), items, 0, "ptr")
    return f.load(items, 0, "ptr"), f.field(row, SIZE_AT)


def _check_none(f, x, names, target):
    """Attributes are None, else leave."""
    for name in names:
        found = f.call("ptr", "@PyObject_GetAttr", f"ptr {x}, ptr {f.word(name)}")
        f.exit_if(f.compare("eq", found, "null", "ptr"), "failed")
        f.call("void", "@Py_DecRef", f"ptr {found}")
        f.exit_unless(f.compare("eq", found, f.word(words.NONE), "ptr"), target)


def _made(f, text, arguments=""):
    """A new object."""
    out = f.call("ptr", text, arguments)
    f.exit_if(f.compare("eq", out, "null", "ptr"), "failed")
    return out


def _done(f, result):
    """A call that answers a negative number where it failed."""
    f.exit_if(f.compare("slt", result, 0, "i32"), "failed")
    return result


def _set_item(f, table, key, value):
    _done(f, f.call("i32", "@PyDict_SetItem", f"ptr {table}, ptr {key}, ptr {value}"))


# ---- the nodes of a pass -------------------------------------------------------------------------
def _below(maker):
    f = maker("rl_below", 1)
    start, i, none = f.load("%args", 0, "ptr"), f.slot(), f.word(words.NONE)
    nodes, seen = _made(f, "@PyList_New", "i64 0"), _made(f, "@PySet_New", "ptr null")
    counts = _made(f, "@PyDict_New")
    _found(f, nodes, seen, start)
    f.store(0, i)
    f.label("next")
    here = f.load(i)
    f.exit_unless(f.compare("slt", here, f.field(nodes, SIZE_AT)), "all")
    f.store(f.add(here, 1), i)
    node = f.load(f.field(nodes, ITEMS_AT, "ptr"), here, "ptr")
    plan = f.load(f.slot_of(node, words.NODE_PLAN), 0, "ptr")
    f.exit_if(f.compare("eq", plan, none, "ptr"), "unusual")
    _check_none(f, node, (words.TENSOR_HOOKS, words.HOOKS, words.PRE_HOOKS), "unusual")
    edges, count = _items(f, f.load(f.slot_of(node, words.NODE_EDGES), 0, "ptr"))
    with f.loop(count) as k:
        edge = f.load(edges, k, "ptr")
        with f.when(f.compare("ne", edge, none, "ptr")):
            inner = f.is_node(edge)
            with f.when(inner):
                known = _done(f, f.call("i32", "@PySet_Contains", f"ptr {seen}, ptr {edge}"))
                with f.when(f.compare("eq", known, 0, "i32")):
                    _found(f, nodes, seen, edge)
            with f.when(f.value(f"xor i1 {inner}, true")):
                _count(f, counts, edge)
    f.do("br label %next")
    f.lines.append("all:")
    f.call("void", "@Py_DecRef", f"ptr {seen}")
    pair = _made(f, "@PyTuple_New", "i64 2")
    for place, x in enumerate((nodes, counts)):
        f.call("i32", "@PyTuple_SetItem", f"ptr {pair}, i64 {place}, ptr {x}")
    f.do(f"ret ptr {pair}")
    f.lines.append("unusual:")
    for x in (nodes, seen, counts):
        f.call("void", "@Py_DecRef", f"ptr {x}")
    f.do(f"ret ptr {f.held(none)}")
    return f.finish()


def _found(f, nodes, seen, node):
    _done(f, f.call("i32", "@PySet_Add", f"ptr {seen}, ptr {node}"))
    _done(f, f.call("i32", "@PyList_Append", f"ptr {nodes}, ptr {node}"))


def _count(f, counts, leaf):
    """One gradient more for a leaf."""
    number, before = f.slot(), _found_item(f, counts, leaf)
    f.store(1, number)
    fresh = f.compare("eq", before, "null", "ptr")
    with f.when(fresh):
        _check_none(f, leaf, (words.LEAF_HOOKS, words.POST_HOOKS), "unusual")
    with f.when(f.value(f"xor i1 {fresh}, true")):
        f.store(f.add(f.call("i64", "@PyLong_AsLongLong", f"ptr {before}"), 1), number)
    _set_number(f, counts, leaf, f.load(number))


def _set_number(f, table, key, number):
    x = _made(f, "@PyLong_FromLongLong", f"i64 {number}")
    _set_item(f, table, key, x)
    f.call("void", "@Py_DecRef", f"ptr {x}")


# ---- shapes and dtypes ---------------------------------------------------------------------------
def _fits(maker):
    f = maker("rl_fits", 3)
    pieces, shapes, metadata = (f.load("%args", i, "ptr") for i in range(3))
    none = f.word(words.NONE)
    row, count = _items(f, pieces)
    with f.loop(count) as i:
        x = f.load(row, i, "ptr")
        with f.when(f.compare("ne", x, none, "ptr")):
            exact = f.compare("eq", f.field(x, TYPE_AT, "ptr"), f.word(words.CLASS), "ptr")
            f.exit_unless(exact, "fallback")
            array = f.load(f.slot_of(x, words.ARRAY_AT), 0, "ptr")
            f.check_arrays(array)
            with f.when(f.compare("ne", metadata, none, "ptr")):
                wanted = f.load(f.at(metadata, ITEMS_AT, "i8"), i, "ptr")
                own = f.load(f.slot_of(x, words.DTYPE_SLOT), 0, "ptr")
                f.exit_unless(f.compare("eq", own, wanted, "ptr"), "fallback")
            with f.when(f.compare("ne", shapes, none, "ptr")):
                _check_shape(f, array, f.load(f.at(shapes, ITEMS_AT, "i8"), i, "ptr"))
    f.do(f"ret ptr {f.held(none)}")
    return f.finish()


def _check_shape(f, array, shape):
    """An array has the shape that a tuple gives."""
    kind = f.compare("eq", f.field(shape, TYPE_AT, "ptr"), f.word(words.TUPLE), "ptr")
    f.exit_unless(kind, "fallback")
    dims = f.value(f"zext i32 {f.field(array, NDIM_AT, 'i32')} to i64")
    f.exit_unless(f.compare("eq", f.field(shape, SIZE_AT), dims), "fallback")
    extents, wanted = f.field(array, SHAPE_AT, "ptr"), f.at(shape, ITEMS_AT, "i8")
    with f.loop(dims) as d:
        n = f.call("i64", "@PyLong_AsLongLong", f"ptr {f.load(wanted, d, 'ptr')}")
        f.exit_unless(f.compare("eq", f.load(extents, d), n), "fallback")


# ---- where gradients go --------------------------------------------------------------------------
def _handed(maker):
    f = maker("rl_handed", 5)
    node, pieces, pending, counts, waiting = (f.load("%args", i, "ptr") for i in range(5))
    none, place = f.word(words.NONE), f.slot()
    edges, count = _items(f, f.load(f.slot_of(node, words.NODE_EDGES), 0, "ptr"))
    row, size = _items(f, pieces)
    f.exit_unless(f.compare("eq", count, size), "fallback")
    with f.loop(count) as i:
        f.store(i, place)
        edge, piece = f.load(edges, i, "ptr"), f.load(row, i, "ptr")
        with f.when(f.compare("ne", edge, none, "ptr")):
            inner, there = f.is_node(edge), f.compare("ne", piece, none, "ptr")
            with f.when(f.value(f"and i1 {inner}, {there}")):
                alone = _has_one_output(f, edge)
                with f.when(alone):
                    _to_node(f, pending, edge, piece)
                with f.when(f.value(f"xor i1 {alone}, true")):
                    _to_output(f, pending, edge, _number(f, node, i), piece)
            with f.when(f.value(f"xor i1 {inner}, true")):
                _to_leaf(f, counts, waiting, edge, piece, there)
    f.do(f"ret ptr {f.held(none)}")
    f.lines.append("left:")
    f.do(f"ret ptr {_made(f, '@PyLong_FromLongLong', f'i64 {f.load(place)}')}")
    return f.finish()


def _has_one_output(f, node):
    outputs = f.load(f.slot_of(node, words.NODE_OUTPUTS), 0, "ptr")
    return f.compare("eq", outputs, f.word(words.ONE), "ptr")


def _to_node(f, pending, node, piece):
    """The first gradient of a node of one output."""
    known = _done(f, f.call("i32", "@PyDict_Contains", f"ptr {pending}, ptr {node}"))
    f.exit_unless(f.compare("eq", known, 0, "i32"), "left")
    _set_item(f, pending, node, piece)


def _to_output(f, pending, node, number, piece):
    """The first gradient of one of several outputs."""
    none, row = f.word(words.NONE), f.slot()
    f.store(_found_item(f, pending, node), row, 0, "ptr")
    with f.when(f.compare("eq", f.load(row, 0, "ptr"), "null", "ptr")):
        outputs = f.load(f.slot_of(node, words.NODE_OUTPUTS), 0, "ptr")
        count = f.call("i64", "@PyLong_AsLongLong", f"ptr {outputs}")
        fresh = _made(f, "@PyList_New", f"i64 {count}")
        with f.loop(count) as k:
            f.call("i32", "@PyList_SetItem", f"ptr {fresh}, i64 {k}, ptr {f.held(none)}")
        _set_item(f, pending, node, fresh)
        f.call("void", "@Py_DecRef", f"ptr {fresh}")
        f.store(fresh, row, 0, "ptr")
    slots, count = _items(f, f.load(row, 0, "ptr"))
    f.exit_unless(f.compare("ult", number, count), "left")
    f.exit_unless(f.compare("eq", f.load(slots, number, "ptr"), none, "ptr"), "left")
    arguments = f"ptr {f.load(row, 0, 'ptr')}, i64 {number}, ptr {f.held(piece)}"
    _done(f, f.call("i32", "@PyList_SetItem", arguments))


def _number(f, node, i):
    """Which output of the node below the i-th gradient of a node is of."""
    found = f.slot()
    own = _made(f, "@PyObject_GetAttr", f"ptr {node}, ptr {f.word(words.NUMBERS_NAME)}")
    f.call("void", "@Py_DecRef", f"ptr {own}")  # the node holds it
    f.store(0, found)
    with f.when(f.compare("ne", own, f.word(words.NONE), "ptr")):
        items, _ = _items(f, own)
        number = f.load(items, i, "ptr")
        f.store(f.call("i64", "@PyLong_AsLongLong", f"ptr {number}"), found)
    return f.load(found)


def _found_item(f, table, key):
    """What a dictionary has for a key, or null."""
    found = f.call("ptr", "@PyDict_GetItemWithError", f"ptr {table}, ptr {key}")
    with f.when(f.compare("eq", found, "null", "ptr")):
        error = f.call("ptr", "@PyErr_Occurred", "")
        f.exit_if(f.compare("ne", error, "null", "ptr"), "failed")
    return found


def _to_leaf(f, counts, waiting, leaf, piece, there):
    """The first gradient of a leaf: it waits for others, or is taken as it is."""
    known = _done(f, f.call("i32", "@PyDict_Contains", f"ptr {waiting}, ptr {leaf}"))
    f.exit_unless(f.compare("eq", known, 0, "i32"), "left")
    number = f.call("ptr", "@PyDict_GetItemWithError", f"ptr {counts}, ptr {leaf}")
    f.exit_if(f.compare("eq", number, "null", "ptr"), "left")
    rest = f.subtract(f.call("i64", "@PyLong_AsLongLong", f"ptr {number}"), 1)
    last = f.compare("eq", rest, 0)
    with f.when(f.value(f"and i1 {last}, {there}")):
        _give(f, leaf, piece)
    with f.when(f.value(f"and i1 {f.value(f'xor i1 {last}, true')}, {there}")):
        _set_item(f, waiting, leaf, piece)
    _set_number(f, counts, leaf, rest)


def _give(f, leaf, gradient):
    """Make a gradient whose memory nobody else holds that of a leaf that has none."""
    none = f.word(words.NONE)
    exact = f.compare("eq", f.field(gradient, TYPE_AT, "ptr"), f.word(words.CLASS), "ptr")
    f.exit_unless(exact, "left")
    for slot in (words.NODE_AT, words.STORAGE_AT):
        own = f.load(f.slot_of(gradient, slot), 0, "ptr")
        f.exit_unless(f.compare("eq", own, none, "ptr"), "left")
    array, own = (f.load(f.slot_of(x, words.ARRAY_AT), 0, "ptr") for x in (gradient, leaf))
    for x in (array, own):  # its strides are those of the leaf
        _check_array(f, x)
        flags = f.value(f"and i32 {f.field(x, FLAGS_AT, 'i32')}, {CONTIGUOUS}")
        f.exit_if(f.compare("eq", flags, 0, "i32"), "left")
    base = f.field(array, words.BASE_AT, "ptr")
    with f.when(f.compare("ne", base, "null", "ptr")):  # a buffer, or an array of another shape
        kind = f.field(base, TYPE_AT, "ptr")
        with f.when(f.compare("ne", kind, f.word(words.BYTEARRAY), "ptr")):
            _check_array(f, base)
            owner = f.field(base, words.BASE_AT, "ptr")
            f.exit_unless(f.compare("eq", owner, "null", "ptr"), "left")
        f.exit_unless(f.compare("eq", _references(f, base), 1), "left")
    for x in (gradient, array):
        f.exit_unless(f.compare("eq", _references(f, x), 1), "left")
    _check_none(f, leaf, (words.GRAD_NAME,), "left")
    bad = f.call("i32", "@PyObject_SetAttr", f"ptr {leaf}, ptr {f.word(words.GRAD_NAME)}, "
                 f"ptr {gradient}")  # fmt: skip
    _done(f, bad)


def _check_array(f, x):
    """It is an array of NumPy's own."""
    kind = f.compare("eq", f.field(x, TYPE_AT, "ptr"), f.word(words.ARRAY_TYPE), "ptr")
    f.exit_unless(kind, "left")


def _references(f, x):
    """How many references to an object there are."""
    return f.value(f"zext i32 {f.field(x, 0, 'i32')} to i64")


def functions(maker):
    """IR texts."""
    return [_below(maker), _fits(maker), _handed(maker)]
