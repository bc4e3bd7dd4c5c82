"""Calls of layouts that were seen before, by machine code: from tensors to the result.

``rl_known(*tensors, *attributes)`` looks for the shapes, strides and dtypes of the tensors' arrays,
and for the attributes themselves, among the entries of a table. What it finds there is a function
of arrays, ``rl_layout`` (:mod:`rushlight.machine.native_functions`) or ``rl_several``
(:mod:`rushlight.fastpath.results`), and its plan; the tensor around the array that it gives,
or a tuple of tensors, is the answer. Where there is no function, the plan is a window and a view of
the tensor's memory is the answer. Tensors may come as a list. A function that counts what is
wrong with an index must leave the counter alone. Anything else is answered NotImplemented.
"""

from __future__ import annotations

from rushlight.fastpath import tensors as words
from rushlight.fastpath.call_tables import (
    OWN,
    TENSORS_PLAN,
    CallTable,
    answer_tensor,
    computed,
    text,
)
from rushlight.fastpath.views import MAX_DIMS, _View
from rushlight.machine import np
from rushlight.machine.native_functions import (
    DATA_AT,
    DTYPE_AT,
    NDIM_AT,
    SHAPE_AT,
    STRIDES_AT,
    TYPE_AT,
)

NAMES = ()  # of functions over the plan of all tensors: this one has its own
FAILURES, TENSORS, ATTRIBUTES, LISTED, LIST = range(OWN, OWN + 5)
CALL, PLAN, RESULT, COUNT, FIRST = range(5)  # words of an entry: attributes and arrays follow
STEP, OFFSET, DIMS, EXTENTS = range(4)  # words of a window; then extents and strides
MOST_DIMS, MOST_TENSORS, MOST_ENTRIES = 6, 4, 16
ARRAY = 2 + 2 * MOST_DIMS  # words of an array: dtype, number of dimensions, extents, strides
SIZE_AT, ITEMS_AT = 16, 24


class _Known:
    """The parts of the function."""

    def __init__(self, maker):
        f = self.f = maker("rl_known", (1, 16))
        self.own, f.plan = f.plan, f.load(f.plan, TENSORS_PLAN, "ptr")
        self.items, self.count, self.first = f.slot(), f.slot(), f.slot()
        self.arrays = f.slot(MOST_TENSORS)
        tensors = f.load(self.own, TENSORS)
        f.store("%args", self.items, 0, "ptr")
        for place in (self.count, self.first):
            f.store(tensors, place)

    def read_list(self):
        """Where the tensors come as a list or tuple: its items."""
        f = self.f
        with f.when(f.compare("ne", f.load(self.own, LISTED), 0)):
            row = f.load("%args", 0, "ptr")
            kind, inner = f.field(row, TYPE_AT, "ptr"), f.at(row, ITEMS_AT, "i8")
            is_list = f.compare("eq", kind, f.load(self.own, LIST, "ptr"), "ptr")
            is_tuple = f.compare("eq", kind, f.word(words.TUPLE), "ptr")
            f.exit_unless(f.value(f"or i1 {is_list}, {is_tuple}"), "fallback")
            outer = f.load(inner, 0, "ptr")
            items = f.value(f"select i1 {is_list}, ptr {outer}, ptr {inner}")
            f.store(items, self.items, 0, "ptr")
            f.store(f.field(row, SIZE_AT), self.count)
            f.store(1, self.first)
        count = f.load(self.count)
        f.exit_if(f.compare("ugt", f.subtract(count, 1), MOST_TENSORS - 1), "fallback")

    def read_arrays(self):
        """The arrays of plain tensors."""
        f = self.f
        given = f.add(f.load(self.first), f.load(self.own, ATTRIBUTES))
        f.exit_unless(f.compare("eq", "%count", given), "fallback")
        with f.loop(f.load(self.count)) as j:
            x = f.load(f.load(self.items, 0, "ptr"), j, "ptr")
            kind = f.field(x, TYPE_AT, "ptr")
            plain = f.compare("eq", kind, f.word(words.CLASS), "ptr")
            leaf = f.compare("eq", kind, f.word(words.PARAMETER), "ptr")
            f.exit_unless(f.value(f"or i1 {plain}, {leaf}"), "fallback")
            array = f.load(f.slot_of(x, words.ARRAY_AT), 0, "ptr")
            f.check_arrays(array)
            f.store(array, self.arrays, j, "ptr")

    def matches(self, entry):
        """Whether an entry is that of this call."""
        f, alike = self.f, self.f.slot()
        count, attributes = f.load(self.count), f.load(self.own, ATTRIBUTES)
        same = f.compare("eq", f.load(entry, COUNT), count)
        f.store(f.value(f"zext i1 {same} to i64"), alike)
        with f.loop(attributes) as a:
            given = f.load("%args", f.add(f.load(self.first), a))
            with f.when(f.compare("ne", f.load(entry, f.add(a, FIRST)), given)):
                f.store(0, alike)
        arrays = f.at(entry, f.add(attributes, FIRST))
        with f.when(f.compare("ne", f.load(alike), 0)), f.loop(count) as j:
            self._compare(f.load(self.arrays, j, "ptr"), f.at(arrays, f.multiply(j, ARRAY)), alike)
        return f.compare("ne", f.load(alike), 0)

    def _compare(self, array, known, alike):
        f = self.f
        dims = f.value(f"zext i32 {f.field(array, NDIM_AT, 'i32')} to i64")
        kind = f.compare("eq", f.field(array, DTYPE_AT), f.load(known))
        same = f.value(f"and i1 {kind}, {f.compare('eq', dims, f.load(known, 1))}")
        with f.when(f.value(f"xor i1 {same}, true")):
            f.store(0, alike)
        with f.when(same):
            size = f.multiply(dims, 8)
            for offset, place in ((SHAPE_AT, 2), (STRIDES_AT, 2 + MOST_DIMS)):
                own, other = f.field(array, offset, "ptr"), f.at(known, place)
                differs = f.call("i32", "@memcmp", f"ptr {own}, ptr {other}, i64 {size}")
                with f.when(f.compare("ne", differs, 0, "i32")):
                    f.store(0, alike)

    def answer(self, entry):
        """Compute, and make the tensor or tensors."""
        f = self.f
        call, plan = f.load(entry, CALL, "ptr"), f.load(entry, PLAN, "ptr")
        counter, before = f.load(self.own, FAILURES, "ptr"), f.slot()
        counted = f.compare("ne", counter, "null", "ptr")
        with f.when(counted):
            f.store(f.load(counter), before)
        result = computed(f, call, plan, self.arrays, f.load(self.count))
        with f.when(counted):
            wrong = f.compare("ne", f.load(counter), f.load(before))
            with f.when(wrong):
                f.call("void", "@Py_DecRef", f"ptr {result}")
            f.exit_if(wrong, "fallback")
        dtypes = f.load(entry, RESULT, "ptr")
        is_tuple = f.compare("eq", f.field(result, TYPE_AT, "ptr"), f.word(words.TUPLE), "ptr")
        one, many = f.name("one"), f.name("many")
        f.do(f"br i1 {is_tuple}, label %{many}, label %{one}")
        f.lines.append(f"{one}:")
        answer_tensor(f, result, dtypes)
        f.lines.append(f"{many}:")
        count = f.field(result, SIZE_AT)
        outs = f.call("ptr", "@PyTuple_New", f"i64 {count}")
        f.exit_if(f.compare("eq", outs, "null", "ptr"), "failed")
        with f.loop(count) as i:
            array, dtype = (f.load(f.at(x, ITEMS_AT, "i8"), i, "ptr") for x in (result, dtypes))
            out = f.made(array, dtype, f.word(words.NONE))
            f.call("i32", "@PyTuple_SetItem", f"ptr {outs}, i64 {i}, ptr {out}")
        f.call("void", "@Py_DecRef", f"ptr {result}")
        f.do(f"ret ptr {outs}")

    def show(self, entry):
        """Make a view's array and the tensor around it; the entry's plan is a window."""
        f = self.f
        window = f.field(f.load(entry, PLAN, "ptr"), DATA_AT, "ptr")
        step = f.held(f.load(window, STEP, "ptr"))  # the entry may be replaced meanwhile
        view = _View.over(f, f.load("%args", 0, "ptr"), f.load(self.arrays, 0, "ptr"))
        view.move(f.load(window, OFFSET))
        dims, extents = f.load(window, DIMS), f.at(window, EXTENTS)
        with f.loop(dims) as d:
            view.append(f.load(extents, d), f.load(extents, f.add(d, dims)))
        out = view.tensor(step)
        f.call("void", "@Py_DecRef", f"ptr {step}")
        f.do(f"ret ptr {out}")
        f.lines.append("lost:")
        f.call("void", "@Py_DecRef", f"ptr {step}")
        f.do("ret ptr null")

    def found(self, entry):
        """Answer a call that an entry stands for."""
        f = self.f
        view, computes = f.name("view"), f.name("computes")
        is_view = f.compare("eq", f.load(entry, CALL, "ptr"), "null", "ptr")
        f.do(f"br i1 {is_view}, label %{view}, label %{computes}")
        f.lines.append(f"{view}:")
        self.show(entry)
        f.lines.append(f"{computes}:")
        self.answer(entry)

    def text(self):
        """The whole function."""
        self.read_list()
        self.read_arrays()
        text(self.f, self.own, self.matches, self.found)
        return self.f.finish()


def functions(maker):
    """IR texts."""
    return [_Known(maker).text()]


# ------------------------------------------------------------------------------------ Python's side
class KnownCalls(CallTable):
    """One function over ``rl_known`` and its table."""

    def __init__(self, tensors, attributes, listed, failures):
        self.listed, self.attributes = listed, attributes
        size = FIRST + attributes + ARRAY * (MOST_TENSORS if listed else tensors)
        own = failures, tensors, attributes, int(listed), id(list)
        super().__init__("known", MOST_ENTRIES, size, own)

    def note(self, arrays, attributes, call, dtype):
        """Let calls like this one go to `call`, a function over ``rl_layout`` or ``rl_several``;
        `dtype` is that of the result's tensor, or a tuple of them."""
        from rushlight.fastpath.results import address_of

        head = [address_of(call), id(call.__self__), id(dtype)]
        self._note(head, arrays, attributes, (call, dtype))

    def note_view(self, array, attributes, view, step):
        """Let calls like this one give a view of this layout, noted as taken by `step`."""
        if view.ndim <= MAX_DIMS:
            offset = view.ctypes.data - array.ctypes.data
            window = [id(step), offset, view.ndim, *view.shape, *view.strides]
            window = np.array(window, np.int64)
            self._note([0, id(window), 0], [array], attributes, (window, step))

    def _note(self, head, arrays, attributes, kept):
        if any(x.ndim > MOST_DIMS for x in arrays) or len(arrays) > MOST_TENSORS:
            return
        row = [*head, len(arrays), *map(id, attributes)]
        for x in arrays:
            rest = [0] * (MOST_DIMS - x.ndim)
            row += [id(x.dtype), x.ndim, *x.shape, *rest, *x.strides, *rest]
        self.enter(row, *kept, attributes, [x.dtype for x in arrays])
