"""New tensors made whole by machine code: the array, its first elements and the tensor around it.

``rl_shared``  (array): around a view of an array of NumPy's own
``rl_fresh``   (sizes, NumPy dtype, dtype, unit[, every]): of new memory
``rl_alike``   (source, unit): the same with the sizes and the dtype of a plain tensor that is row
               by row

A `unit` of None or Ellipsis leaves the memory as it is, False makes it zeros, and an array has all
elements be its first one; with `every`, each so-many-th element only, from the first on, among
zeros.

METH_FASTCALL functions over the plan of :mod:`rushlight.fastpath.tensors`. They are for small
tensors unless the unit is None; larger ones, which threads fill, and whatever is unusual are
answered NotImplemented.
"""

from __future__ import annotations

from rushlight.fastpath import tensors as words
from rushlight.machine.native_functions import (
    ALIGNED,
    ALIGNED_FROM,
    CONTIGUOUS,
    DATA_AT,
    DTYPE_AT,
    FLAGS_AT,
    ITEMS_AT,
    LENGTH_AT,
    NDIM_AT,
    SHAPE_AT,
    STRIDES_AT,
    TYPE_AT,
    WRITEABLE,
)

NAMES = ("shared", "fresh", "alike")
MAX_DIMS = 16


def _is(f, x, word):
    return f.compare("eq", f.field(x, TYPE_AT, "ptr"), f.word(word), "ptr")


def _shared(maker):
    f = maker("rl_shared", 1)
    given, none = f.load("%args", 0, "ptr"), f.word(words.NONE)
    f.check_arrays(given)
    kind = f.field(given, DTYPE_AT, "ptr")
    # One of the dtypes that NumPy counts as equal, so that all inside may compare by identity.
    kind = f.call("ptr", "@PyDict_GetItemWithError", f"ptr {f.word(words.KINDS)}, ptr {kind}")
    f.exit_if(f.compare("eq", kind, "null", "ptr"), "unknown")
    dtype = f.call("ptr", "@PyDict_GetItemWithError", f"ptr {f.word(words.BY_DTYPE)}, ptr {kind}")
    f.exit_if(f.compare("eq", dtype, "null", "ptr"), "unknown")
    dims = f.value(f"zext i32 {f.field(given, NDIM_AT, 'i32')} to i64")
    shape, strides = f.field(given, SHAPE_AT, "ptr"), f.field(given, STRIDES_AT, "ptr")
    with f.loop(dims) as d:
        f.exit_if(f.compare("slt", f.load(strides, d), 0), "fallback")
    flags = f.value(f"and i32 {f.field(given, FLAGS_AT, 'i32')}, {ALIGNED | WRITEABLE}")
    start = f.field(given, DATA_AT, "ptr")
    array = f.array_of(f.word(words.ARRAY_TYPE), kind, dims, shape, strides, start, flags)
    f.exit_if(f.compare("eq", array, "null", "ptr"), "failed")
    refused = f.call("i32", "@rl_set_base", f"ptr {array}, ptr {f.held(given)}")
    made = f.slot()
    f.store("null", made, 0, "ptr")
    with f.when(f.compare("eq", refused, 0, "i32")):
        f.store(f.made(array, dtype, none), made, 0, "ptr")
    f.call("void", "@Py_DecRef", f"ptr {array}")
    f.do(f"ret ptr {f.load(made, 0, 'ptr')}")
    f.lines.append("unknown:")
    f.call("void", "@PyErr_Clear", "")
    f.do("br label %fallback")
    return f.finish()


def _number(f, x):
    """The value of an exact int that is not negative."""
    f.exit_unless(_is(f, x, words.INT), "fallback")
    value = f.call("i64", "@PyLong_AsLongLong", f"ptr {x}")
    with f.when(f.compare("slt", value, 0)):
        error = f.call("ptr", "@PyErr_Occurred", "")
        with f.when(f.compare("ne", error, "null", "ptr")):
            f.call("void", "@PyErr_Clear", "")
        f.do("br label %fallback")
        f.lines.append(f"{f.name('never')}:")
    return value


def _bytes(f, dims, shape, width, unit):
    """How many bytes so many elements have: less than ALIGNED_FROM, unless nothing fills them."""
    total = f.slot()
    limit = f.choose(f.compare("eq", unit, f.word(words.NONE), "ptr"), 1 << 31, ALIGNED_FROM)
    f.store(width, total)
    with f.loop(dims) as d:
        n = f.load(shape, d)
        f.exit_if(f.compare("uge", n, limit), "fallback")
        f.store(f.multiply(f.load(total), n), total)
        f.exit_if(f.compare("uge", f.load(total), limit), "fallback")
    return f.load(total)


def _repeat(f, unit, start, size, width):
    """Fill `size` bytes with the first element of an array, doubling what is there."""
    done, source = f.slot(), f.field(unit, DATA_AT, "ptr")
    with f.when(f.compare("ugt", size, 0)):
        f.call("ptr", "@memcpy", f"ptr {start}, ptr {source}, i64 {width}")
    f.store(width, done)
    head, body, end = f.name("head"), f.name("body"), f.name("end")
    f.label(head)
    have = f.load(done)
    f.do(f"br i1 {f.compare('ult', have, size)}, label %{body}, label %{end}")
    f.lines.append(f"{body}:")
    rest = f.subtract(size, have)
    part = f.choose(f.compare("ult", have, rest), have, rest)
    f.call("ptr", "@memcpy", f"ptr {f.at(start, have, 'i8')}, ptr {start}, i64 {part}")
    f.store(f.add(have, part), done)
    f.do(f"br label %{head}")
    f.lines.append(f"{end}:")


def _scatter(f, unit, start, size, width, every):
    """Zeros, and the first element of an array at each `every`-th of `width` bytes."""
    f.call("ptr", "@memset", f"ptr {start}, i32 0, i64 {size}")
    source = f.field(unit, DATA_AT, "ptr")
    with f.loop(size, 0, f.multiply(every, width)) as place:
        f.call("ptr", "@memcpy", f"ptr {f.at(start, place, 'i8')}, ptr {source}, i64 {width}")


def _filled(f, array, unit, size, width, every=None):
    """What `unit` asks for, in the memory of a new array."""
    start, done = f.field(array, DATA_AT, "ptr"), f.name("filled")
    for as_it_is in (words.NONE, words.ELLIPSIS):
        f.exit_if(f.compare("eq", unit, f.word(as_it_is), "ptr"), done)
    zero, other = f.name("zero"), f.name("other")
    is_zero = f.compare("eq", unit, f.word(words.FALSE), "ptr")
    f.do(f"br i1 {is_zero}, label %{zero}, label %{other}")
    f.lines.append(f"{zero}:")
    f.call("ptr", "@memset", f"ptr {start}, i32 0, i64 {size}")
    f.do(f"br label %{done}")
    f.lines.append(f"{other}:")
    if every is not None:
        whole = f.compare("eq", every, 0)
        with f.when(f.value(f"xor i1 {whole}, true")):
            _scatter(f, unit, start, size, width, every)
        f.exit_unless(whole, done)
    _repeat(f, unit, start, size, width)
    f.label(done)


def _made(f, kind, dtype, dims, shape, unit, every=None):
    """The function's result: a tensor of new memory. What `unit` is has been checked."""
    width = _number(f, f.load(f.slot_of(dtype, words.ITEMSIZE_AT), 0, "ptr"))
    size = _bytes(f, dims, shape, width, unit)
    array = f.new_array(f.word(words.ARRAY_TYPE), kind, dims, shape, "null", size)
    _filled(f, array, unit, size, width, every)
    out = f.made(array, dtype, f.word(words.NONE))
    f.call("void", "@Py_DecRef", f"ptr {array}")
    f.do(f"ret ptr {out}")
    return f.finish()


def _check_unit(f, unit):
    """None, Ellipsis, False or an array of NumPy's own."""
    fits = f.compare("eq", unit, f.word(words.NONE), "ptr")
    for mark in (words.ELLIPSIS, words.FALSE):
        fits = f.value(f"or i1 {fits}, {f.compare('eq', unit, f.word(mark), 'ptr')}")
    with f.when(f.value(f"xor i1 {fits}, true")):
        f.check_arrays(unit)


def _fresh(maker):
    f = maker("rl_fresh", (4, 5))
    sizes, kind, dtype, unit = (f.load("%args", i, "ptr") for i in range(4))
    _check_unit(f, unit)
    f.exit_unless(_is(f, sizes, words.TUPLE), "fallback")
    dims, shape, every = f.field(sizes, LENGTH_AT), f.slot(MAX_DIMS), f.slot()
    f.exit_if(f.compare("ugt", dims, MAX_DIMS), "fallback")
    with f.loop(dims) as d:
        f.store(_number(f, f.load(f.at(sizes, ITEMS_AT, "i8"), d, "ptr")), shape, d)
    f.store(0, every)
    with f.when(f.compare("eq", "%count", 5)):
        f.store(_number(f, f.load("%args", 4, "ptr")), every)
    return _made(f, kind, dtype, dims, shape, unit, f.load(every))


def _alike(maker):
    f = maker("rl_alike", 2)
    source, unit = f.load("%args", 0, "ptr"), f.load("%args", 1, "ptr")
    _check_unit(f, unit)
    with f.when(f.value(f"xor i1 {_is(f, source, words.CLASS)}, true")):
        f.exit_unless(_is(f, source, words.PARAMETER), "fallback")
    own = f.load(f.slot_of(source, words.ARRAY_AT), 0, "ptr")
    f.check_arrays(own)
    flags = f.value(f"and i32 {f.field(own, FLAGS_AT, 'i32')}, {CONTIGUOUS}")
    f.exit_if(f.compare("eq", flags, 0, "i32"), "fallback")
    dims = f.value(f"zext i32 {f.field(own, NDIM_AT, 'i32')} to i64")
    shape, strides = f.field(own, SHAPE_AT, "ptr"), f.field(own, STRIDES_AT, "ptr")
    dtype = f.load(f.slot_of(source, words.DTYPE_SLOT), 0, "ptr")
    width, step = _number(f, f.load(f.slot_of(dtype, words.ITEMSIZE_AT), 0, "ptr")), f.slot()
    f.store(width, step)  # also dimensions of one element, whose strides NumPy does not look at
    with f.loop(dims) as i:
        d = f.subtract(f.subtract(dims, i), 1)
        f.exit_unless(f.compare("eq", f.load(strides, d), f.load(step)), "fallback")
        f.store(f.multiply(f.load(step), f.load(shape, d)), step)
        f.exit_if(f.compare("eq", f.load(step), 0), "fallback")
    return _made(f, f.field(own, DTYPE_AT, "ptr"), dtype, dims, shape, unit)


def functions(maker):
    """IR texts."""
    return [_shared(maker), _fresh(maker), _alike(maker)]
