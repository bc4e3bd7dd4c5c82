"""Words of memory compared with what they were, by one call of machine code.

CPython's objects hold addresses of others, and numbers, at known offsets. That an object refers to
the same others as before is so a comparison of a few words, without a look at what they mean: 100
words take 0.1 us, where Python needs 10. Import at first need: it imports LLVM.
"""

from __future__ import annotations

import ctypes
import functools
import gc
import sys

from rushlight.machine import np
from rushlight.machine.built_in_functions import built_in
from rushlight.machine.elementwise_engine import engine
from rushlight.machine.llvm_passes import optimise
from rushlight.machine.native_functions import (
    DATA_AT,
    FASTCALL,
    TYPE_AT,
    Builtin,
    is_available,
)

# ---- offsets in CPython's objects, 64-bit: of any, of a dict, of a list, of a cell
CLASS_AT = TYPE_AT
USED_AT, VERSION_AT, LENGTH_AT, ITEMS_AT, CONTENTS_AT = 16, 24, 16, 24, 16
DECLARATIONS = """declare void @Py_IncRef(ptr)
@_Py_TrueStruct = external global i8
@_Py_FalseStruct = external global i8
@_Py_NotImplementedStruct = external global i8"""


def _unchanged():
    """``rl_unchanged()``: whether the words of the plan, ``[count, address, value, address, value,
    ...]``, are all as they were. They are read in order, and none behind one that is not."""
    f = Builtin("ptr", "rl_unchanged", FASTCALL)
    plan = f.field("%self", DATA_AT, "ptr")
    with f.loop(f.load(plan)) as i:
        pair = f.at(plan, f.multiply(i, 2))
        word = f.load(f.load(pair, 1, "ptr"))
        f.exit_unless(f.compare("eq", word, f.load(pair, 2)), "changed")
    f.call("void", "@Py_IncRef", "ptr @_Py_TrueStruct")
    f.do("ret ptr @_Py_TrueStruct")
    f.lines.append("changed:")
    f.call("void", "@Py_IncRef", "ptr @_Py_FalseStruct")
    f.do("ret ptr @_Py_FalseStruct")
    return f.finish()


def module(key: str) -> str:
    """IR text; `key` becomes a function that says which build this is."""
    marker = f"define i64 @{key}() {{\n  ret i64 1\n}}"
    return "\n".join([DECLARATIONS, _unchanged(), marker])


@functools.cache
def _address():
    found = engine()
    key = found.key("memory words")
    found.function(key, lambda: (module(key), 0, optimise))
    return found.symbol("rl_unchanged")


def word_at(address) -> int:
    """The 64-bit word at an address."""
    return ctypes.c_int64.from_address(address).value


class Words:
    """Addresses and what is there now; :meth:`check` makes the function.

    Whoever adds an address sees to it that the memory stays there while all words before it are as
    they were; `kept` are objects to keep alive.
    """

    def __init__(self):
        self.pairs, self.kept = [], []

    def add(self, address):
        """The word at an address."""
        self.pairs += address, word_at(address)

    def field(self, value, offset):
        """A field of an object, which is kept."""
        self.kept.append(value)
        self.add(id(value) + offset)

    def items(self, value):
        """What a list holds."""
        self.field(value, LENGTH_AT)
        self.field(value, ITEMS_AT)
        self.kept.append(list(value))
        first = word_at(id(value) + ITEMS_AT)
        for i in range(len(value)):
            self.add(first + 8 * i)

    def check(self):
        """``check() -> bool``: whether all words are as they were. It holds for as long as these
        words are kept."""
        plan = np.array([len(self.pairs) // 2, *self.pairs], np.int64)
        return built_in(b"unchanged", _address(), plan)


@functools.cache
def function_fields() -> tuple[int, int] | None:
    """Offsets of the code and the defaults of a Python function, or None where they are not
    found."""

    def probe(x=(1, 2)):
        return x

    size = sys.getsizeof(probe) // 8 * 8 - 16  # without the collector's header
    words = [word_at(id(probe) + at) for at in range(0, size, 8)]
    wanted = id(probe.__code__), id(probe.__defaults__)
    if any(words.count(word) != 1 for word in wanted):
        return None
    code, defaults = (words.index(word) * 8 for word in wanted)
    return code, defaults


def table_of_class(kind) -> dict | None:
    """The dictionary behind ``vars(class)``, or None where it is not found."""
    (found, *more) = gc.get_referents(vars(kind)) or [None]
    return found if type(found) is dict and not more else None


class _Probe:
    """An object with attributes, which its own code sets: as programs do, not by `setattr`."""

    def __init__(self):
        self.x, self.y = 0, 1

    def set(self, value):
        """Set one that is there."""
        self.x = value


def version_of(table) -> int:
    """The version of a dictionary, where writes are counted."""
    return word_at(id(table) + VERSION_AT)


def _counts(table, *writes):
    """Whether each of these functions changes a dictionary's version."""
    for write in writes:
        before = version_of(table)
        write()
        if version_of(table) == before:
            return False
    return True


@functools.cache
def counts_writes() -> bool:
    """Whether every write to a dictionary gives it another version (PEP 509), one through an
    attribute of an object as well: so in CPython 3.11 and 3.12; in 3.13 objects keep values
    themselves, and newer ones have no versions."""
    if not is_available():
        return False
    owner, plain = _Probe(), {"x": 0}
    table = vars(owner)
    for i in range(64):  # until the interpreter has replaced instructions by quicker ones
        _Probe().set(i)
        if not _counts(table, lambda: owner.set(object())):
            return False
    return _counts(
        table, lambda: delattr(owner, "y"), lambda: setattr(owner, "z", 1), lambda: table.pop("x")
    ) and _counts(
        plain, lambda: plain.update(x=1), lambda: plain.pop("x"), lambda: plain.setdefault("y", 2),
        lambda: plain.update(y=3), plain.popitem,
    )  # fmt: skip


@functools.cache
def counts_writes_to_classes() -> bool:
    """As :func:`counts_writes`, of the dictionaries of classes."""
    if not is_available():
        return False
    kind = type("Probe", (), {"x": 0})
    table = table_of_class(kind)
    return table is not None and _counts(
        table, lambda: setattr(kind, "x", 1), lambda: setattr(kind, "y", 2),
        lambda: delattr(kind, "x"),
    )  # fmt: skip
