"""Elementwise calls of several tensors and numbers by machine code, from tensors to a tensor.

``rl_pointwise(*arguments)`` compares the arguments with the entries of a table: tensors outside of
graphs by their dtypes, numbers by their types, other objects with themselves. What it finds is a
function of arrays and numbers over ``rl_fast`` (:mod:`rushlight.machine.native_functions`), which
knows or refuses their shapes. Anything else is answered NotImplemented.
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
from rushlight.machine.native_functions import DTYPE_AT, NDIM_AT, TYPE_AT

NAMES = ()  # of functions over the plan of all tensors: this one has its own
CALL, COUNT, FLOAT = range(OWN, OWN + 3)
PLAN, RESULT, FIRST = range(3)  # words of an entry; then kind and value of every argument
TENSOR, REAL, WHOLE, ITSELF = range(4)
MOST_ARGUMENTS, MOST_ENTRIES = 6, 8
DOUBLE_AT = 16  # the value of a float
EXACT = 1 << 53  # whole numbers up to it are doubles


class _Pointwise:
    """The parts of the function."""

    def __init__(self, maker):
        f = self.f = maker("rl_pointwise", (1, MOST_ARGUMENTS))
        self.own, f.plan = f.plan, f.load(f.plan, TENSORS_PLAN, "ptr")
        self.arrays, self.numbers = f.slot(2 * MOST_ARGUMENTS), f.slot(MOST_ARGUMENTS)
        self.tensors, self.scalars, self.alike = f.slot(), f.slot(), f.slot()
        f.exit_unless(f.compare("eq", "%count", f.load(self.own, COUNT)), "fallback")

    def differs(self, condition):
        """The entry is another one where the condition holds."""
        with self.f.when(condition):
            self.f.store(0, self.alike)

    def append(self, x, rows, count):
        """One argument more for the function of arrays."""
        f = self.f
        f.store(x, rows, f.load(count), "ptr")
        f.store(f.add(f.load(count), 1), count)

    def compare(self, entry):
        """Whether the arguments are an entry's; sorts them into arrays and numbers."""
        f = self.f
        for slot, value in ((self.alike, 1), (self.tensors, 0), (self.scalars, 0)):
            f.store(value, slot)
        with f.loop("%count") as i:
            x, at = f.load("%args", i, "ptr"), f.add(f.multiply(i, 2), FIRST)
            kind, value = f.load(entry, at), f.load(entry, f.add(at, 1), "ptr")
            with f.when(f.compare("eq", kind, ITSELF)):
                self.differs(f.compare("ne", x, value, "ptr"))
            with f.when(f.compare("eq", kind, REAL)):
                own = f.field(x, TYPE_AT, "ptr")
                is_float = f.compare("eq", own, f.load(self.own, FLOAT, "ptr"), "ptr")
                self.differs(f.value(f"xor i1 {is_float}, true"))
                with f.when(is_float):
                    self._check_limit(f.field(x, DOUBLE_AT, "double"), value)
                self.append(x, self.numbers, self.scalars)
            with f.when(f.compare("eq", kind, WHOLE)):
                own = f.field(x, TYPE_AT, "ptr")
                is_int = f.compare("eq", own, f.word(words.INT), "ptr")
                self.differs(f.value(f"xor i1 {is_int}, true"))
                with f.when(is_int):
                    number = self._check_size(x)
                    self._check_limit(f.value(f"sitofp i64 {number} to double"), value)
                self.append(x, self.numbers, self.scalars)
            with f.when(f.compare("eq", kind, TENSOR)):
                self._tensor(x, value)
        return f.compare("ne", f.load(self.alike), 0)

    def _check_size(self, x):
        """A whole number must be a double exactly."""
        f = self.f
        number = f.call("i64", "@PyLong_AsLongLong", f"ptr {x}")
        with f.when(f.compare("eq", number, -1)):
            error = f.call("ptr", "@PyErr_Occurred", "")
            f.exit_if(f.compare("ne", error, "null", "ptr"), "large")
        self.differs(f.compare("ugt", f.add(number, EXACT), 2 * EXACT))
        return number

    def _check_limit(self, number, limit):
        """A number is within the limit of its argument, infinite or nan."""
        f = self.f
        size = f.call("double", "@llvm.fabs.f64", f"double {number}")
        beyond = f.value(f"fcmp ogt double {size}, {f.field(limit, DOUBLE_AT, 'double')}")
        finite = f.value(f"fcmp one double {size}, 0x7FF0000000000000")
        self.differs(f.value(f"and i1 {beyond}, {finite}"))

    def _tensor(self, x, dtype):
        f = self.f
        kind = f.field(x, TYPE_AT, "ptr")
        plain = f.compare("eq", kind, f.word(words.CLASS), "ptr")
        leaf = f.compare("eq", kind, f.word(words.PARAMETER), "ptr")
        known = f.value(f"or i1 {plain}, {leaf}")
        self.differs(f.value(f"xor i1 {known}, true"))
        with f.when(known):
            node = f.load(f.slot_of(x, words.NODE_AT), 0, "ptr")
            self.differs(f.compare("ne", node, f.word(words.NONE), "ptr"))
            array = f.load(f.slot_of(x, words.ARRAY_AT), 0, "ptr")
            own = f.compare("eq", f.field(array, TYPE_AT, "ptr"), f.word(words.ARRAY_TYPE), "ptr")
            self.differs(f.value(f"xor i1 {own}, true"))
            with f.when(own):
                self.differs(f.compare("ne", f.field(array, DTYPE_AT, "ptr"), dtype, "ptr"))
                self.differs(f.compare("eq", f.field(array, NDIM_AT, "i32"), 0, "i32"))
            self.append(array, self.arrays, self.tensors)

    def answer(self, entry):
        """Compute, and make the tensor."""
        f = self.f
        with f.loop(f.load(self.scalars)) as i:
            number = f.load(self.numbers, i, "ptr")
            f.store(number, self.arrays, f.add(f.load(self.tensors), i), "ptr")
        count = f.add(f.load(self.tensors), f.load(self.scalars))
        call, plan = f.load(self.own, CALL, "ptr"), f.load(entry, PLAN, "ptr")
        result = computed(f, call, plan, self.arrays, count)
        answer_tensor(f, result, f.load(entry, RESULT, "ptr"))


def _pointwise(maker):
    p = _Pointwise(maker)
    f = p.f
    text(f, p.own, p.compare, p.answer)
    f.lines.append("large:")
    f.call("void", "@PyErr_Clear", "")
    f.do("br label %fallback")
    return f.finish()


def functions(maker):
    """IR texts."""
    return [_pointwise(maker)]


# ------------------------------------------------------------------------------------ Python's side
class PointwiseCalls(CallTable):
    """One function over ``rl_pointwise`` for calls of `count` arguments, and its table."""

    def __init__(self, count):
        from rushlight.machine.native_functions import doors

        own = doors().fast_address, count, id(float)
        super().__init__("pointwise", MOST_ENTRIES, FIRST + 2 * count, own)

    def note(self, arguments, call, dtype):
        """Let calls with such arguments, ``(kind, value)`` each, go to `call`, a function over
        ``rl_fast``; `dtype` is that of the result's tensor. The value of a number is the largest
        finite one that the call takes, a float."""
        row = [id(call.__self__), id(dtype)]
        for kind, value in arguments:
            row += [kind, id(value)]
        self.enter(row, call, dtype, arguments)
