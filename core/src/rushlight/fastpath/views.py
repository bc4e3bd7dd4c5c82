"""Views made whole by machine code: the array and the tensor around it.

``rl_indexed``   (source, index): ints, slices, None and ``...``, or a tuple of them; a view op of
                 another name gives its step as a third argument
``rl_reshaped``  (source, sizes, step): of row-major memory; one size may be -1
``rl_permuted``  (source, order, step)
``rl_swapped``   (source, dim, dim, step)
``rl_expanded``  (source, sizes, step)
``rl_windowed``  (source, sizes, strides, offset, step): anywhere in the source's memory, in bytes;
                 the caller knows that it is there
``rl_parts``     (source, dim, sizes or None, reason): a tuple, cut along a dimension or, with None,
                 one for each of its indices; `reason` refuses writes through them

METH_FASTCALL functions over the plan of :mod:`rushlight.fastpath.tensors`. `source` is a plain
tensor; whatever else is not as expected gives NotImplemented, and Python says what is wrong.
"""

from __future__ import annotations

from rushlight.fastpath import tensors as words
from rushlight.machine.native_functions import (
    ALIGNED,
    CONTIGUOUS,
    DATA_AT,
    DTYPE_AT,
    FLAGS_AT,
    NDIM_AT,
    SHAPE_AT,
    STRIDES_AT,
    TYPE_AT,
    WRITEABLE,
)

NAMES = ("indexed", "reshaped", "permuted", "swapped", "expanded", "windowed", "parts")
MAX_DIMS, MAX_PARTS = 16, 4096
SIZE_AT, ITEMS_AT, START_AT = 16, 24, 16  # of tuples; the first of a slice's three fields


class _View:
    """What the functions share: the source's array, and the view's dimensions."""

    def __init__(self, maker, name, count):
        f = maker("rl_" + name, count)
        source = f.load("%args", 0, "ptr")
        own = f.load(f.slot_of(source, words.ARRAY_AT), 0, "ptr")
        kind = f.compare("eq", f.field(own, TYPE_AT, "ptr"), f.word(words.ARRAY_TYPE), "ptr")
        f.exit_unless(kind, "fallback")
        self._begin(f, source, own)
        f.exit_if(f.compare("ugt", self.ndim, MAX_DIMS), "fallback")

    @classmethod
    def over(cls, f, source, own):
        """The same inside of another function, which knows the source and its array."""
        view = cls.__new__(cls)
        view._begin(f, source, own)
        return view

    def _begin(self, f, source, own):
        self.f, self.source, self.own = f, source, own
        self.ndim = f.value(f"zext i32 {f.field(own, NDIM_AT, 'i32')} to i64")
        self.shape = f.field(own, SHAPE_AT, "ptr")
        # Not always right behind the shape: `squeeze` takes dimensions away in place.
        self.strides = f.field(own, STRIDES_AT, "ptr")
        self.dims, self.steps = f.slot(MAX_DIMS), f.slot(MAX_DIMS)
        self.count, self.data = f.slot(), f.slot()
        f.store(0, self.count)
        f.store(f.field(own, DATA_AT), self.data)

    def append(self, extent, step):
        """One dimension more."""
        f, at = self.f, self.f.load(self.count)
        f.exit_unless(f.compare("ult", at, MAX_DIMS), "fallback")
        f.store(extent, self.dims, at)
        f.store(step, self.steps, at)
        f.store(f.add(at, 1), self.count)

    def move(self, bytes):
        """The view starts so much later."""
        self.f.store(self.f.add(self.f.load(self.data), bytes), self.data)

    def tuple_size(self, x, most=MAX_DIMS):
        """The length of an exact tuple, at most as many as there may be dimensions."""
        f = self.f
        kind = f.compare("eq", f.field(x, TYPE_AT, "ptr"), f.word(words.TUPLE), "ptr")
        f.exit_unless(kind, "fallback")
        size = f.field(x, SIZE_AT)
        f.exit_if(f.compare("ugt", size, most), "fallback")
        return size

    def number(self, x):
        """The value of an exact int; -1 also where it is too large, which nothing takes."""
        f = self.f
        kind = f.compare("eq", f.field(x, TYPE_AT, "ptr"), f.word(words.INT), "ptr")
        f.exit_unless(kind, "fallback")
        value = f.call("i64", "@PyLong_AsLongLong", f"ptr {x}")
        with f.when(f.compare("eq", value, -1)):
            error = f.call("ptr", "@PyErr_Occurred", "")
            f.exit_if(f.compare("ne", error, "null", "ptr"), "forget")
        return value

    def wrapped(self, value, limit):
        """A number counted from the end where negative, within the limit."""
        f = self.f
        found = f.choose(f.compare("slt", value, 0), f.add(value, limit), value)
        f.exit_unless(f.compare("ult", found, limit), "fallback")
        return found

    def tensor(self, step, keep=ALIGNED | WRITEABLE, reason="null"):
        """Make the array, with those flags of its base that are to `keep`, and the tensor; leaves
        to `lost` with an error set."""
        f = self.f
        dtype = f.field(self.own, DTYPE_AT, "ptr")
        flags = f.value(f"and i32 {f.field(self.own, FLAGS_AT, 'i32')}, {keep}")
        kind, start = f.word(words.ARRAY_TYPE), f.pointer(f.load(self.data))
        dims = f.load(self.count)
        array = f.array_of(kind, dtype, dims, self.dims, self.steps, start, flags)
        f.exit_if(f.compare("eq", array, "null", "ptr"), "lost")
        refused = f.call("i32", "@rl_set_base", f"ptr {array}, ptr {f.held(self.own)}")
        bad = f.compare("ne", refused, 0, "i32")
        with f.when(bad):
            f.call("void", "@Py_DecRef", f"ptr {array}")
        f.exit_if(bad, "lost")
        arguments = f"ptr {f.plan}, ptr {self.source}, ptr {array}, ptr {step}, ptr {reason}"
        out = f.call("ptr", "@rl_wrap", arguments)
        f.call("void", "@Py_DecRef", f"ptr {array}")
        f.exit_if(f.compare("eq", out, "null", "ptr"), "lost")
        return out

    def finish(self, step, keep=ALIGNED | WRITEABLE, owned=False):
        """The tensor as the function's result; an `owned` step is dropped afterwards."""
        f = self.f
        out = self.tensor(step, keep)
        self._drop(step, owned)
        f.do(f"ret ptr {out}")
        f.lines.append("lost:")
        self._drop(step, owned)
        return self.leave()

    def leave(self):
        """The other ways out."""
        f = self.f
        f.do("ret ptr null")
        f.lines.append("forget:")
        f.call("void", "@PyErr_Clear", "")
        f.do("br label %fallback")
        return f.finish()

    def _drop(self, step, owned):
        if owned:
            self.f.call("void", "@Py_DecRef", f"ptr {step}")


def _permuted(maker):
    v = _View(maker, "permuted", 3)
    f = v.f
    order, seen = f.load("%args", 1, "ptr"), f.slot()
    f.exit_unless(f.compare("eq", v.tuple_size(order), v.ndim), "fallback")
    f.store(0, seen)
    with f.loop(v.ndim) as i:
        item = f.load(f.at(order, ITEMS_AT, "i8"), i, "ptr")
        d = v.wrapped(v.number(item), v.ndim)
        bit = f.value(f"shl i64 1, {d}")
        twice = f.value(f"and i64 {f.load(seen)}, {bit}")
        f.exit_if(f.compare("ne", twice, 0), "fallback")
        f.store(f.value(f"or i64 {f.load(seen)}, {bit}"), seen)
        v.append(f.load(v.shape, d), f.load(v.strides, d))
    return v.finish(f.load("%args", 2, "ptr"))


def _swapped(maker):
    v = _View(maker, "swapped", 4)
    f = v.f
    first = v.wrapped(v.number(f.load("%args", 1, "ptr")), v.ndim)
    second = v.wrapped(v.number(f.load("%args", 2, "ptr")), v.ndim)
    with f.loop(v.ndim) as i:
        d = f.choose(f.compare("eq", i, first), second, i)
        d = f.choose(f.compare("eq", i, second), first, d)
        v.append(f.load(v.shape, d), f.load(v.strides, d))
    return v.finish(f.load("%args", 3, "ptr"))


def _expanded(maker):
    v = _View(maker, "expanded", 3)
    f = v.f
    sizes = f.load("%args", 1, "ptr")
    count = v.tuple_size(sizes)
    lead = f.value(f"sub i64 {count}, {v.ndim}")
    f.exit_if(f.compare("slt", lead, 0), "fallback")
    keep = f.slot()  # the flags: elements that are shown twice must not be written to
    f.store(ALIGNED | WRITEABLE, keep)
    with f.loop(count) as i:
        n = v.number(f.load(f.at(sizes, ITEMS_AT, "i8"), i, "ptr"))
        fresh = f.compare("slt", i, lead)
        d = f.choose(fresh, 0, f.subtract(i, lead))
        have, step = f.slot(), f.slot()
        f.store(1, have)
        f.store(0, step)
        with f.when(f.compare("sge", i, lead)):
            f.store(f.load(v.shape, d), have)
            f.store(f.load(v.strides, d), step)
            with f.when(f.compare("eq", n, -1)):
                v.append(f.load(have), f.load(step))
        keeps = f.compare("eq", n, -1)
        f.exit_if(f.value(f"and i1 {keeps}, {fresh}"), "fallback")
        with f.when(f.compare("ne", n, -1)):
            f.exit_if(f.compare("slt", n, 0), "fallback")
            same = f.compare("eq", n, f.load(have))
            one = f.compare("eq", f.load(have), 1)
            f.exit_unless(f.value(f"or i1 {same}, {one}"), "fallback")
            kept = f.value(f"and i1 {same}, {f.value(f'xor i1 {fresh}, true')}")
            v.append(n, f.choose(kept, f.load(step), 0))
            again = f.value(f"and i1 {f.compare('sgt', n, 1)}, {f.value(f'xor i1 {kept}, true')}")
            with f.when(again):
                f.store(ALIGNED, keep)
    flags = f.value(f"trunc i64 {f.load(keep)} to i32")
    return v.finish(f.load("%args", 2, "ptr"), keep=flags)


def _reshaped(maker):
    v = _View(maker, "reshaped", 3)
    f = v.f
    sizes = f.load("%args", 1, "ptr")
    flags = f.value(f"and i32 {f.field(v.own, FLAGS_AT, 'i32')}, {CONTIGUOUS}")
    f.exit_if(f.compare("eq", flags, 0, "i32"), "fallback")
    count, total, known, open_at = v.tuple_size(sizes), f.slot(), f.slot(), f.slot()
    for slot, value in ((total, 1), (known, 1), (open_at, -1)):
        f.store(value, slot)
    with f.loop(v.ndim) as d:
        f.store(f.multiply(f.load(total), f.load(v.shape, d)), total)
    with f.loop(count) as i:
        n = v.number(f.load(f.at(sizes, ITEMS_AT, "i8"), i, "ptr"))
        f.exit_if(f.compare("slt", n, -1), "fallback")
        f.exit_if(f.compare("sgt", n, 1 << 40), "fallback")
        unknown = f.compare("eq", n, -1)
        with f.when(unknown):
            f.exit_unless(f.compare("eq", f.load(open_at), -1), "fallback")
            f.store(i, open_at)
        f.store(f.multiply(f.load(known), f.choose(unknown, 1, n)), known)
        f.exit_if(f.compare("ugt", f.load(known), f.load(total)), "fallback")
        v.append(n, 0)
    f.exit_if(f.compare("eq", f.load(known), 0), "fallback")
    rest, left = f.divide(f.load(total), f.load(known))
    f.exit_unless(f.compare("eq", left, 0), "fallback")
    is_open = f.compare("ne", f.load(open_at), -1)
    fits = f.compare("eq", rest, 1)
    f.exit_unless(f.value(f"or i1 {is_open}, {fits}"), "fallback")
    with f.when(is_open):
        f.store(rest, v.dims, f.load(open_at))
    step = f.slot()
    f.store(_item_size(f, v), step)
    with f.loop(count) as i:
        d = f.subtract(f.subtract(count, i), 1)
        f.store(f.load(step), v.steps, d)
        f.store(f.multiply(f.load(step), f.load(v.dims, d)), step)
    return v.finish(f.load("%args", 2, "ptr"))


def _item_size(f, v):
    """Bytes of an element: the stride that a row-major array has in its last dimension of more
    than one element; a dtype says it in a field that NumPy has moved, so it is not asked."""
    found = f.slot()
    f.store(1, found)
    with f.loop(v.ndim) as i:
        d = f.subtract(f.subtract(v.ndim, i), 1)
        f.store(f.load(v.strides, d), found)
        f.exit_if(f.compare("ne", f.load(v.shape, d), 1), "sized")
    f.do("br label %fallback")  # nothing tells
    f.lines.append("sized:")
    return f.load(found)


def _indexed(maker):
    v = _View(maker, "indexed", (2, 3))
    f = v.f
    index, single = f.load("%args", 1, "ptr"), f.slot()
    items, count, used = f.slot(), f.slot(), f.slot()
    f.store(index, single, 0, "ptr")
    is_tuple = f.compare("eq", f.field(index, TYPE_AT, "ptr"), f.word(words.TUPLE), "ptr")
    pointer = f.at(index, ITEMS_AT, "i8")
    f.store(f.value(f"select i1 {is_tuple}, ptr {pointer}, ptr {single}"), items, 0, "ptr")
    f.store(1, count)
    with f.when(is_tuple):
        f.store(v.tuple_size(index), count)
    _count_used(f, items, count, used)
    f.exit_if(f.compare("sgt", f.load(used), v.ndim), "fallback")
    dim, whole = f.slot(), f.slot()
    f.store(0, dim)
    f.store(0, whole)
    with f.loop(f.load(count)) as i:
        _take(f, v, f.load(f.load(items, 0, "ptr"), i, "ptr"), dim, used, whole)
    with f.loop(v.ndim, f.load(dim)) as d:
        v.append(f.load(v.shape, d), f.load(v.strides, d))
    step = f.slot()
    own_step, given, ready = f.name("own"), f.name("given"), f.name("step")
    f.do(f"br i1 {f.compare('eq', '%count', 3)}, label %{given}, label %{own_step}")
    f.lines.append(f"{given}:")
    f.store(f.held(f.load("%args", 2, "ptr")), step, 0, "ptr")
    f.do(f"br label %{ready}")
    f.lines.append(f"{own_step}:")
    f.store(_index_step(f, index, items, pointer), step, 0, "ptr")
    f.label(ready)
    return v.finish(f.load(step, 0, "ptr"), owned=True)


def _index_step(f, index, items, pointer):
    """(op, [tuple of the items])."""
    own = f.slot()
    f.store(index, own, 0, "ptr")
    f.call("void", "@Py_IncRef", f"ptr {index}")
    with f.when(f.compare("ne", f.load(items, 0, "ptr"), pointer, "ptr")):
        alone = f.call("ptr", "@PyTuple_New", "i64 1")
        f.exit_if(f.compare("eq", alone, "null", "ptr"), "failed")
        f.call("i32", "@PyTuple_SetItem", f"ptr {alone}, i64 0, ptr {index}")
        f.store(alone, own, 0, "ptr")
    values = f.call("ptr", "@PyList_New", "i64 1")
    f.exit_if(f.compare("eq", values, "null", "ptr"), "failed")
    f.call("i32", "@PyList_SetItem", f"ptr {values}, i64 0, ptr {f.load(own, 0, 'ptr')}")
    pair = f.call("ptr", "@PyTuple_New", "i64 2")
    f.exit_if(f.compare("eq", pair, "null", "ptr"), "failed")
    f.call("i32", "@PyTuple_SetItem", f"ptr {pair}, i64 0, ptr {f.held(f.word(words.SLICE_OP))}")
    f.call("i32", "@PyTuple_SetItem", f"ptr {pair}, i64 1, ptr {values}")
    return pair


def _count_used(f, items, count, used):
    """How many dimensions the items use up; ints and slices do."""
    f.store(0, used)
    with f.loop(f.load(count)) as i:
        kind = f.field(f.load(f.load(items, 0, "ptr"), i, "ptr"), TYPE_AT, "ptr")
        number = f.compare("eq", kind, f.word(words.INT), "ptr")
        part = f.compare("eq", kind, f.word(words.SLICE), "ptr")
        one = f.value(f"zext i1 {f.value(f'or i1 {number}, {part}')} to i64")
        f.store(f.add(f.load(used), one), used)


def _take(f, v, item, dim, used, whole):
    """One item of an index."""
    kind = f.field(item, TYPE_AT, "ptr")
    after = f.name("taken")
    number, part, fresh = (f.name(n) for n in ("number", "slice", "fresh"))
    not_number, not_part, not_fresh = (f.name("other") for _ in range(3))
    d = f.load(dim)
    f.do(f"br i1 {f.compare('eq', kind, f.word(words.INT), 'ptr')}, label %{number}, "
         f"label %{not_number}")  # fmt: skip
    f.lines.append(f"{number}:")
    place = v.wrapped(v.number(item), f.load(v.shape, d))
    v.move(f.multiply(place, f.load(v.strides, d)))
    f.store(f.add(d, 1), dim)
    f.do(f"br label %{after}")
    f.lines.append(f"{not_number}:")
    f.do(f"br i1 {f.compare('eq', kind, f.word(words.SLICE), 'ptr')}, label %{part}, "
         f"label %{not_part}")  # fmt: skip
    f.lines.append(f"{part}:")
    _slice(f, v, item, d)
    f.store(f.add(d, 1), dim)
    f.do(f"br label %{after}")
    f.lines.append(f"{not_part}:")
    f.do(f"br i1 {f.compare('eq', item, f.word(words.NONE), 'ptr')}, label %{fresh}, "
         f"label %{not_fresh}")  # fmt: skip
    f.lines.append(f"{fresh}:")
    step = f.slot()  # as if it were the outer part of the dimension behind it
    inner, last = f.compare("ult", d, v.ndim), f.compare("eq", d, v.ndim)
    with f.when(inner):
        f.store(f.multiply(f.load(v.shape, d), f.load(v.strides, d)), step)
    with f.when(last):
        dtype = f.load(f.slot_of(v.source, words.DTYPE_SLOT), 0, "ptr")
        f.store(v.number(f.load(f.slot_of(dtype, words.ITEMSIZE_AT), 0, "ptr")), step)
    v.append(1, f.load(step))
    f.do(f"br label %{after}")
    f.lines.append(f"{not_fresh}:")
    f.exit_unless(f.compare("eq", item, f.word(words.ELLIPSIS), "ptr"), "fallback")
    f.exit_unless(f.compare("eq", f.load(whole), 0), "fallback")
    f.store(1, whole)
    stop = f.add(d, f.subtract(v.ndim, f.load(used)))
    with f.loop(stop, d) as k:
        v.append(f.load(v.shape, k), f.load(v.strides, k))
    f.store(stop, dim)
    f.label(after)


def _slice(f, v, item, d):
    """A slice of ints and Nones, forwards."""
    for field in range(3):
        x = f.field(item, START_AT + 8 * field, "ptr")
        kind = f.field(x, TYPE_AT, "ptr")
        number = f.compare("eq", kind, f.word(words.INT), "ptr")
        nothing = f.compare("eq", x, f.word(words.NONE), "ptr")
        f.exit_unless(f.value(f"or i1 {number}, {nothing}"), "fallback")
    start, stop, step = f.slot(), f.slot(), f.slot()
    bad = f.call("i32", "@PySlice_Unpack", f"ptr {item}, ptr {start}, ptr {stop}, ptr {step}")
    f.exit_if(f.compare("ne", bad, 0, "i32"), "forget")
    f.exit_unless(f.compare("sgt", f.load(step), 0), "fallback")
    extent, by = f.load(v.shape, d), f.load(step)
    arguments = f"i64 {extent}, ptr {start}, ptr {stop}, i64 {by}"
    length = f.call("i64", "@PySlice_AdjustIndices", arguments)
    width = f.load(v.strides, d)
    empty = f.compare("eq", length, 0)
    v.move(f.choose(empty, 0, f.multiply(f.load(start), width)))
    v.append(length, f.multiply(width, f.load(step)))


def _parts(maker):
    v = _View(maker, "parts", 4)
    f = v.f
    cut = v.wrapped(v.number(f.load("%args", 1, "ptr")), v.ndim)
    sizes, reason = (f.load("%args", i, "ptr") for i in (2, 3))
    extent, stride = f.load(v.shape, cut), f.load(v.strides, cut)
    each = f.compare("eq", sizes, f.word(words.NONE), "ptr")
    count, total = f.slot(), f.slot()
    f.store(extent, count)
    f.store(extent, total)
    with f.when(f.value(f"xor i1 {each}, true")):
        f.store(v.tuple_size(sizes, MAX_PARTS), count)
        f.store(0, total)
        with f.loop(f.load(count)) as i:
            n = v.number(f.load(f.at(sizes, ITEMS_AT, "i8"), i, "ptr"))
            f.exit_if(f.compare("ugt", n, extent), "fallback")
            f.store(f.add(f.load(total), n), total)
    f.exit_unless(f.compare("eq", f.load(total), extent), "fallback")
    f.exit_if(f.compare("ugt", f.load(count), MAX_PARTS), "fallback")
    outs = f.call("ptr", "@PyTuple_New", f"i64 {f.load(count)}")
    f.exit_if(f.compare("eq", outs, "null", "ptr"), "failed")
    with f.loop(f.load(count)) as i:
        length = f.slot()
        f.store(1, length)
        with f.when(f.value(f"xor i1 {each}, true")):
            item = f.load(f.at(sizes, ITEMS_AT, "i8"), i, "ptr")
            f.store(f.call("i64", "@PyLong_AsLongLong", f"ptr {item}"), length)
        f.store(0, v.count)
        with f.loop(v.ndim) as d:
            here = f.compare("eq", d, cut)
            with f.when(f.value(f"xor i1 {f.value(f'and i1 {here}, {each}')}, true")):
                v.append(f.choose(here, f.load(length), f.load(v.shape, d)), f.load(v.strides, d))
        out = v.tensor("null", reason=reason)
        f.call("i32", "@PyTuple_SetItem", f"ptr {outs}, i64 {i}, ptr {out}")
        v.move(f.multiply(f.load(length), stride))
    f.do(f"ret ptr {outs}")
    f.lines.append("lost:")
    f.call("void", "@Py_DecRef", f"ptr {outs}")
    return v.leave()


def _windowed(maker):
    v = _View(maker, "windowed", 5)
    f = v.f
    sizes, strides = f.load("%args", 1, "ptr"), f.load("%args", 2, "ptr")
    count = v.tuple_size(sizes)
    f.exit_unless(f.compare("eq", v.tuple_size(strides), count), "fallback")
    with f.loop(count) as i:
        n, step = (
            v.number(f.load(f.at(row, ITEMS_AT, "i8"), i, "ptr")) for row in (sizes, strides)
        )
        f.exit_if(f.compare("slt", n, 0), "fallback")
        v.append(n, step)
    v.move(v.number(f.load("%args", 3, "ptr")))
    return v.finish(f.load("%args", 4, "ptr"))


def functions(maker):
    """IR texts."""
    makers = (_indexed, _reshaped, _permuted, _swapped, _expanded, _windowed, _parts)
    return [make(maker) for make in makers]
