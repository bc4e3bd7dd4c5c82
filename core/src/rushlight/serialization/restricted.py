"""A reader of pickles that can only build data: the part of the pickle machine checkpoints need.

Names come from an allow-list and only listed names are called, so nothing in a file can run code.
Python's own unpickler is not used for files nobody vouches for: it makes room for memo numbers and
lengths before it looks whether the file has that much. Here every step is charged to the load's
budget, lengths are compared with what is left of the file, and keys that would take long to hash
(deep or self-repeating tuples, colliding numbers) are charged or refused (:mod:`.keys`).

The machine is described in CPython's ``Lib/pickletools.py``. Costs are the sizes of CPython's
objects with their allocator's headers.
"""

from __future__ import annotations

import codecs
import collections
import pickle
import reprlib
import struct
import sys

from rushlight.devices import device
from rushlight.dtypes import dtype
from rushlight.serialization.budget import exceeded
from rushlight.serialization.keys import Keys

_SLOT = 16  # bytes of a reference in a list that grows
_LINE = 1024  # longest line of text in a pickle: a name or a number
_MARK = 104
_LONG_TEXT = 1 << 20  # texts from here on are charged for their bytes as long as they are decoded
_ENTRY = 124  # bytes of a dict's entry while the dict grows
_ORDERED_ENTRY = 100  # what it takes more in an OrderedDict
_MISSING = object()
_CALL = 700  # for the object of a function that the user allowed, of which nothing is known


class _Shown(reprlib.Repr):
    """Values of files: containers in part, plain objects, and of all else the class. The text of a
    tensor may take as much memory as its elements would."""

    def repr_instance(self, x, level):
        """What has no form of its own."""
        if isinstance(x, tuple):
            return self.repr_tuple(x, level)
        plain = x is None or isinstance(x, _PLAIN)
        return repr(x) if plain else f"<{type(x).__name__}>"


_PLAIN = (bool, float, complex, bytes, dtype, device)
_shown = _Shown()


def shown(value) -> str:
    """A value of the file for an error message: short, whatever it is."""
    try:
        text = _shown.repr(value)
    except (ValueError, RecursionError):  # a number of too many digits
        text = f"a {type(value).__name__}"
    return text if len(text) <= 120 else text[:117] + "..."


class Machine:
    """Runs one pickle from a file of `size` bytes.

    `find(module, name)` gives the object of an allowed name or raises; `makers` the functions that
    stand for those objects where they are called, which charge the load for what they make;
    `persistent(pid)` the object behind a persistent id; `builds(object)` says whether an object's
    attributes may be set. `budget` is the load's.
    """

    def __init__(self, file, size, find, makers, persistent, budget, builds):
        self.file, self.end, self.find, self.makers = file, file.tell() + size, find, makers
        self.persistent, self.budget, self.builds = persistent, budget, builds
        self.stack: list = []
        self.marks: list = []
        self.memo: list = []  # memo numbers come in order from every pickler known
        self.called: dict = {}  # id -> object, of what the allow-list gave
        self.keys = Keys(budget)

    def load(self):
        """The object the pickle describes."""
        steps, one = _STEPS, self.file.read
        while True:
            code = one(1)
            if not code:
                raise pickle.UnpicklingError("the pickle ends early")
            if code == b".":
                break
            step = steps.get(code)
            if step is None:
                raise pickle.UnpicklingError(f"unknown or forbidden pickle instruction {code!r}")
            step(self)
        if self.marks or len(self.stack) != 1:
            raise pickle.UnpicklingError("the pickle ends in the middle of an object")
        return self.stack.pop()

    # ------------------------------------------------------------------------------------ reading
    def charge(self, amount):
        """Take `amount` bytes out of the budget, or give them back where it is below zero."""
        budget = self.budget
        budget.left -= amount
        if budget.left < 0:
            exceeded()

    def read(self, count):
        """Exactly `count` bytes."""
        if count > _LINE:  # before there is room for them
            self.expect(count)
        data = self.file.read(count)
        if len(data) != count:
            raise pickle.UnpicklingError("the pickle ends early")
        return data

    def expect(self, count):
        """Refuse to read more bytes than there are."""
        left = self.end - self.file.tell()
        if count > left:
            raise pickle.UnpicklingError(f"{count} bytes are announced, {left} are left")

    def byte(self):
        """A number of one byte."""
        code = self.file.read(1)
        if not code:
            raise pickle.UnpicklingError("the pickle ends early")
        return code[0]

    def word(self):
        """A number of four bytes."""
        data = self.file.read(4)
        if len(data) != 4:
            raise pickle.UnpicklingError("the pickle ends early")
        return int.from_bytes(data, "little")

    def number(self, form, count):
        """A fixed-width number."""
        return struct.unpack(form, self.read(count))[0]

    def line(self):
        """A line of text without its end."""
        data = self.file.readline(_LINE)
        if not data.endswith(b"\n"):
            raise pickle.UnpicklingError("a line of text has no end")
        return data[:-1].decode("utf-8")

    # -------------------------------------------------------------------------------------- stack
    def push(self, value, cost=_SLOT):
        """Put a value on the stack; its slot there is part of the cost."""
        budget = self.budget
        budget.left -= cost
        if budget.left < 0:
            exceeded()
        self.stack.append(value)

    def pop(self):
        """Take the value on top of the stack."""
        self.budget.left += _SLOT
        return self.stack.pop()

    def since_mark(self):
        """Everything above the last mark, whose slots who asks gives back with :meth:`done`; the
        stack below it comes back."""
        items = self.stack
        self.stack = self.marks.pop()
        return items

    def done(self, items):
        """Give back a mark and the slots of what stood above it."""
        self.budget.left += _SLOT * len(items) + _MARK

    def remember(self, number):
        """Keep the value on top under a memo number."""
        memo = self.memo
        if number == len(memo):
            self.charge(_SLOT)
            memo.append(self.stack[-1])
        elif 0 <= number < len(memo):
            memo[number] = self.stack[-1]
        elif number < 0:
            raise pickle.UnpicklingError("a memo number is negative")
        else:  # numbers between were left out
            self.charge(_SLOT * (number + 1 - len(memo)))
            memo.extend([_MISSING] * (number - len(memo)))
            memo.append(self.stack[-1])

    def recall(self, number):
        """Push the value kept under a memo number."""
        value = self.memo[number] if 0 <= number < len(self.memo) else _MISSING
        if value is _MISSING:
            raise pickle.UnpicklingError(f"nothing was kept as number {shown(number)}")
        self.push(value)

    # -------------------------------------------------------------------------------------- calls
    def name(self, module, name):
        """Push the object behind a name of the allow-list."""
        found = self.find(module, name)
        self.called[id(found)] = found
        self.push(found, 64)

    def call(self, function, args):
        """Call what the allow-list gave, and nothing else."""
        if self.called.get(id(function)) is not function or not callable(function):
            raise pickle.UnpicklingError(f"a {type(function).__name__} is called")
        if type(args) is not tuple:
            raise pickle.UnpicklingError(f"the arguments are a {type(args).__name__}, not a tuple")
        maker = self.makers.get(function)
        if maker is None:
            self.charge(_CALL)
            maker = function
        return maker(*args)

    def fill(self, mapping, items):
        """Put keys and values, one after the other, into a dict."""
        if len(items) % 2:
            raise pickle.UnpicklingError("a dict has a key without a value")
        cost = _ENTRY
        if isinstance(mapping, collections.OrderedDict):
            cost += _ORDERED_ENTRY
        self.charge(cost * (len(items) // 2))
        self.keys.put(mapping, items)


# ------------------------------------------------------------------------------------- instructions
_STEPS: dict = {}


def _step(code):
    def keep(function):
        _STEPS[code] = function
        return function

    return keep


def _block(value):
    """What a text, bytes or number takes, in the allocator's blocks of 16 bytes, with its slot."""
    return (sys.getsizeof(value) + _SLOT + 15) & -16


def _constants():
    for code, value in ((b"N", None), (b"\x88", True), (b"\x89", False), (b")", ())):
        _STEPS[code] = lambda machine, value=value: machine.push(value)
    for code, make, cost in ((b"]", list, 96), (b"}", dict, 104), (b"\x8f", set, 248)):
        _STEPS[code] = lambda machine, make=make, cost=cost: machine.push(make(), cost)
    _STEPS[b"K"] = lambda machine: machine.push(machine.byte())  # numbers below 256 exist once
    for code, form, size, cost in (
        (b"M", "<H", 2, 32 + _SLOT), (b"J", "<i", 4, 32 + _SLOT),
        (b"G", ">d", 8, 26 + _SLOT),
    ):  # fmt: skip
        _STEPS[code] = lambda machine, form=form, size=size, cost=cost: machine.push(
            machine.number(form, size), cost
        )


_constants()


def _texts():
    """Instructions with a length and so many bytes."""
    lengths = {1: Machine.byte, 4: Machine.word, 8: lambda machine: machine.number("<Q", 8)}

    def text(machine, width, errors="surrogatepass"):
        size = lengths[width](machine)
        if size < _LONG_TEXT:
            value = machine.read(size).decode("utf-8", errors)
        else:
            machine.expect(size)
            with machine.budget.passing(size):
                value = machine.read(size).decode("utf-8", errors)
        machine.push(value, _block(value))

    def plain(machine, width):
        value = machine.read(lengths[width](machine))
        machine.push(value, _block(value))

    def changeable(machine, width):
        size = lengths[width](machine)
        machine.expect(size)
        with machine.budget.passing(size):
            value = bytearray(machine.read(size))
        machine.push(value, _block(value))

    for code, width in ((b"\x8c", 1), (b"X", 4), (b"\x8d", 8)):
        _STEPS[code] = lambda machine, width=width: text(machine, width)
    for code, width in ((b"C", 1), (b"B", 4), (b"\x8e", 8)):
        _STEPS[code] = lambda machine, width=width: plain(machine, width)
    _STEPS[b"\x96"] = lambda machine: changeable(machine, 8)
    for code, width in ((b"U", 1), (b"T", 4)):
        _STEPS[code] = lambda machine, width=width: text(machine, width, "strict")  # of Python 2

    def long(machine, width):
        data = machine.read(lengths[width](machine))
        value = int.from_bytes(data, "little", signed=True)
        machine.push(value, _block(value))

    _STEPS[b"\x8a"] = lambda machine: long(machine, 1)
    _STEPS[b"\x8b"] = lambda machine: long(machine, 4)


_texts()


@_step(b"\x80")
def _protocol(machine):
    version = machine.read(1)[0]
    if version > 5:
        raise pickle.UnpicklingError(f"unsupported pickle protocol {version}")


@_step(b"\x95")
def _frame(machine):
    machine.expect(machine.number("<Q", 8))


@_step(b"(")
def _mark(machine):
    machine.charge(_MARK)
    machine.marks.append(machine.stack)
    machine.stack = []


@_step(b"0")
def _drop(machine):
    machine.pop()


@_step(b"1")
def _drop_mark(machine):
    machine.done(machine.since_mark())


@_step(b"2")
def _duplicate(machine):
    machine.push(machine.stack[-1])


@_step(b"I")
def _int(machine):
    text = machine.line()
    value = {"00": False, "01": True}.get(text) if text in ("00", "01") else int(text)
    machine.push(value, _block(value))


@_step(b"L")
def _long(machine):
    value = int(machine.line().removesuffix("L"))
    machine.push(value, _block(value))


@_step(b"F")
def _float(machine):
    machine.push(float(machine.line()), 26 + _SLOT)


@_step(b"V")
def _unicode(machine):
    value = codecs.raw_unicode_escape_decode(machine.line().encode("latin1"))[0]
    machine.push(value, _block(value))


@_step(b"a")
def _append(machine):
    value = machine.pop()
    machine.charge(_SLOT)
    _as(machine.stack[-1], list).append(value)


@_step(b"e")
def _appends(machine):
    items = machine.since_mark()
    machine.charge(_SLOT * len(items))
    _as(machine.stack[-1], list).extend(items)
    machine.done(items)


@_step(b"l")
def _list(machine):
    items = machine.since_mark()
    machine.push(items, 96 - _MARK)  # the slots become the list's


@_step(b"t")
def _tuple(machine):
    items = machine.since_mark()
    machine.push(tuple(items), 56 + _SLOT + 8 * len(items))
    machine.done(items)


def _short_tuple(machine, count):
    items = tuple(machine.stack[-count:])
    if len(items) != count:
        raise IndexError("the stack is empty")
    del machine.stack[-count:]
    machine.push(items, 56 + _SLOT - 8 * count)  # 8 for each member, less their slots


_STEPS[b"\x85"] = lambda machine: _short_tuple(machine, 1)
_STEPS[b"\x86"] = lambda machine: _short_tuple(machine, 2)
_STEPS[b"\x87"] = lambda machine: _short_tuple(machine, 3)


@_step(b"d")
def _dict(machine):
    items = machine.since_mark()
    found: dict = {}
    machine.fill(found, items)
    machine.push(found, 104)
    machine.done(items)


@_step(b"s")
def _set_item(machine):
    value = machine.pop()
    key = machine.pop()
    machine.fill(_as(machine.stack[-1], dict), (key, value))


@_step(b"u")
def _set_items(machine):
    items = machine.since_mark()
    machine.fill(_as(machine.stack[-1], dict), items)
    machine.done(items)


@_step(b"\x90")
def _add_items(machine):
    items = machine.since_mark()
    found = _as(machine.stack[-1], set)
    machine.keys.add(found, items)
    machine.done(items)


@_step(b"\x91")
def _frozen_set(machine):
    items = machine.since_mark()
    found: set = set()
    machine.keys.add(found, items)
    machine.push(frozenset(found), 248)
    machine.done(items)


def _as(value, kind):
    if not isinstance(value, kind):
        raise pickle.UnpicklingError(f"a {type(value).__name__} is filled as a {kind.__name__}")
    return value


_STEPS[b"h"] = lambda machine: machine.recall(machine.byte())
_STEPS[b"j"] = lambda machine: machine.recall(machine.word())
_STEPS[b"q"] = lambda machine: machine.remember(machine.byte())
_STEPS[b"r"] = lambda machine: machine.remember(machine.word())
_STEPS[b"g"] = lambda machine: machine.recall(int(machine.line()))
_STEPS[b"p"] = lambda machine: machine.remember(int(machine.line()))
_STEPS[b"\x94"] = lambda machine: machine.remember(len(machine.memo))


@_step(b"c")
def _global(machine):
    module = machine.line()
    machine.name(module, machine.line())


@_step(b"\x93")
def _stack_global(machine):
    name, module = machine.pop(), machine.pop()
    if type(name) is not str or type(module) is not str:
        raise pickle.UnpicklingError("a name is not a string")
    machine.name(module, name)


@_step(b"R")
def _reduce(machine):
    args = machine.pop()
    function = machine.pop()
    machine.push(machine.call(function, args))


def _new(machine, keywords):
    args = machine.pop()
    kind = machine.pop()
    if machine.called.get(id(kind)) is not kind or not isinstance(kind, type):
        raise pickle.UnpicklingError(f"an object of a {type(kind).__name__} is made")
    if type(args) is not tuple or type(keywords) is not dict:
        raise pickle.UnpicklingError("the arguments of an object are no tuple and dict")
    maker = machine.makers.get(kind)
    if maker is None:
        machine.push(kind.__new__(kind, *args, **keywords), _CALL)
    elif keywords:
        raise pickle.UnpicklingError(f"a {kind.__name__} is made with keywords")
    else:
        machine.push(maker(*args))


_STEPS[b"\x81"] = lambda machine: _new(machine, {})
_STEPS[b"\x92"] = lambda machine: _new(machine, machine.pop())


@_step(b"b")
def _build(machine):
    state = machine.pop()
    found = machine.stack[-1]
    if not machine.builds(found):
        raise pickle.UnpicklingError(
            f"the attributes of a {type(found).__name__} are set; allow its class with "
            "rushlight.serialization.add_safe_globals"
        )
    parts = state if type(state) is tuple else (state,)
    sizes = [len(part) for part in parts if isinstance(part, dict)]
    machine.charge(200 + (_ENTRY + _ORDERED_ENTRY) * sum(sizes))
    build(found, state)


def build(found, state):
    """Give an object its state, as pickles describe it."""
    setter = getattr(found, "__setstate__", None)
    if setter is not None:
        setter(state)
        return
    slots = None
    if isinstance(state, tuple) and len(state) == 2:
        state, slots = state
    if state:
        if not all(type(name) is str for name in _as(state, dict)):
            raise pickle.UnpicklingError("an attribute's name is not a string")
        found.__dict__.update(state)
    for name, value in (slots or {}).items():
        setattr(found, name, value)


@_step(b"Q")
def _persistent(machine):
    machine.push(machine.persistent(machine.pop()))
