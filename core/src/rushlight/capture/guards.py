"""Guards: what a captured graph holds for, checked before it runs.

Most of what a program reads are entries of dictionaries: attributes of modules, parameters,
globals. An entry that is the same object is the same; another one counts as the same if it is an
equal number or text of the same type. Lists and dicts are compared in depth; what any other object
holds is guarded where the program reads it.
"""

from __future__ import annotations

import operator

from rushlight.capture.kinds import CONTAINERS, is_value

MISSING = object()


class _Object:
    """An object, equal to itself alone, and kept alive so that its address is nobody else's."""

    __slots__ = ("value",)

    def __init__(self, value):
        self.value = value

    def __eq__(self, other):
        return type(other) is _Object and self.value is other.value

    __hash__ = None  # type: ignore[assignment]


def frozen(value):
    """What a value holds, to compare with later: nested tuples of texts of numbers and of
    objects."""
    kind = type(value)
    if is_value(value):
        return kind, repr(value)
    if kind not in CONTAINERS and not hasattr(kind, "_fields"):
        return _Object(value)
    if isinstance(value, dict):
        return kind, tuple([(frozen(k), frozen(v)) for k, v in value.items()])
    return kind, tuple([frozen(v) for v in value])


class _Held:
    """A container with what it held: the same objects first, then equal ones. Containers in it are
    guarded on their own."""

    __slots__ = ("form", "items", "keys", "title", "value")

    def __init__(self, value, title):
        self.value, self.title, self.form = value, title, frozen(value)
        self.keys = [*value] if isinstance(value, dict) else None
        self.items = [*value.values()] if isinstance(value, dict) else [*value]

    def holds(self):
        """Whether it holds the same now."""
        value = self.value
        if len(value) == len(self.items):
            if self.keys is None:
                if all(map(operator.is_, value, self.items)):
                    return True
            elif all(map(operator.is_, value.values(), self.items)) and all(
                map(operator.is_, value, self.keys)
            ):
                return True
        return frozen(value) == self.form


def is_same(value, expected) -> bool:
    """Whether a value may stand for another: the same object, or an equal constant."""
    if value is expected:
        return True
    return type(value) is type(expected) and is_value(value) and repr(value) == repr(expected)


class Guards:
    """What was read while a program was captured."""

    def __init__(self):
        self.tables: dict = {}  # id -> (owner, its dictionary, {key: value or MISSING}, title)
        self.held: dict = {}  # id -> lists, dicts, sets and tuples with what they hold
        self.cells: dict = {}  # id -> (cell, value, name)
        self.functions: dict = {}  # id -> (function, its code, its defaults)
        self.types: dict = {}  # id -> (object, its class)
        self.empty: dict = {}  # id -> dictionaries that have to stay empty: hooks
        self.tensors: dict = {}  # id -> tensors whose elements are used

    def entry(self, owner, key, value, title):
        """Guard an entry of a dictionary, or of that of a class; MISSING: that there is none."""
        if id(owner) not in self.tables:
            mapping = vars(owner) if isinstance(owner, type) else owner
            self.tables[id(owner)] = owner, mapping, {}, title
        self.tables[id(owner)][2].setdefault(key, value)

    def contents(self, value, title):
        """Guard what a list, dict, set or tuple holds."""
        self.held[id(value)] = _Held(value, title)

    def function(self, function):
        """Guard the code and the defaults of a function."""
        if id(function) not in self.functions:
            self.functions[id(function)] = function, function.__code__, function.__defaults__
            self.contents(function.__kwdefaults__ or {}, f"defaults of {function.__name__}")

    def check(self):
        """``check() -> bool``, made for what was read; see :class:`Check`."""
        return Check(self)


def version_of(tensor):
    """The number of writes to a tensor's memory."""
    storage = tensor._storage
    return 0 if storage is None else storage.version


_array = operator.attrgetter("_array")


def _form(tensor):
    array = tensor._array
    return array.shape, array.strides, tensor._dtype


def _getter(keys):
    """A function that gives the entries of a dictionary as a tuple."""
    return operator.itemgetter(*keys) if len(keys) > 1 else lambda d, key=keys[0]: (d[key],)


class Tables:
    """Entries of dictionaries that were read, and that there were none of some names."""

    def __init__(self, tables):
        self.reads, self.absent, self.expected = [], [], []
        for _, mapping, entries, _ in tables:
            present = {k: v for k, v in entries.items() if v is not MISSING}
            if present:
                self.reads.append((_getter(list(present)), mapping))
                self.expected += present.values()
            if len(present) < len(entries):
                gone = [k for k, v in entries.items() if v is MISSING]
                self.absent.append((mapping.keys(), gone))

    def hold(self):
        """Whether all entries are as they were."""
        try:
            now = [value for get, mapping in self.reads for value in get(mapping)]
        except KeyError:
            return False
        expected = self.expected
        if not all(map(operator.is_, now, expected)) and not all(map(is_same, now, expected)):
            return False
        for keys, gone in self.absent:
            if not keys.isdisjoint(gone):
                return False
        return True


class Check:
    """Calls tell whether everything is as it was; `changed` names what is not."""

    def __init__(self, guards):
        self.guards = guards
        self.tables = Tables(guards.tables.values())
        self.hooks = list(guards.empty.values())
        self.objects = [each for each, _ in guards.types.values()]
        self.classes = [kind for _, kind in guards.types.values()]
        self.functions, self.held = list(guards.functions.values()), list(guards.held.values())
        self.note_tensors()

    def note_tensors(self):
        """Take the state of the tensors as it is now."""
        self.tensors = [tensor for tensor, _ in self.guards.tensors.values()]
        self.arrays = list(map(_array, self.tensors))
        self.versions = [version_of(t) for t in self.tensors]
        self.forms = list(map(_form, self.tensors))

    def __call__(self):
        """Whether everything that was read is as it was."""
        if any(self.hooks) or not all(map(operator.is_, map(type, self.objects), self.classes)):
            return False
        return self.tables.hold() and self._rest()

    def _rest(self):
        for function, code, defaults in self.functions:
            if function.__code__ is not code or function.__defaults__ is not defaults:
                return False
        for cell, value, _ in self.guards.cells.values():
            if not is_same(contents_of(cell), value):
                return False
        return all([each.holds() for each in self.held])

    def arrays_hold(self):
        """Whether all tensors have the memory that they had."""
        return all(map(operator.is_, map(_array, self.tensors), self.arrays))

    def versions_hold(self):
        """Whether nobody has written to a tensor."""
        return list(map(version_of, self.tensors)) == self.versions

    def forms_hold(self):
        """Whether all tensors have the shapes, strides and dtypes that they had."""
        return list(map(_form, self.tensors)) == self.forms

    def asking(self):
        """Which of the tensors ask for gradients."""
        return tuple([tensor.requires_grad for tensor in self.tensors])

    def changed(self):
        """A line about the first guard that does not hold, or None."""
        for _, mapping, entries, title in self.guards.tables.values():
            for key, value in entries.items():
                now = mapping.get(key, MISSING)
                if not is_same(now, value):
                    return f"{title}.{key} {_change(value, now)}"
        if any(self.hooks):
            return "a hook was registered"
        for value, kind in self.guards.types.values():
            if type(value) is not kind:
                return f"an object of class {kind.__name__} has another class"
        for function, code, defaults in self.functions:
            if function.__code__ is not code or function.__defaults__ is not defaults:
                return f"the function {function.__name__} was changed"
        for cell, value, name in self.guards.cells.values():
            if not is_same(contents_of(cell), value):
                return f"the variable {name} of a closure {_change(value, contents_of(cell))}"
        for each in self.held:
            if not each.holds():
                return f"what {each.title} holds has changed"
        return None if self.forms_hold() else "a tensor has another shape or dtype"


def contents_of(cell):
    """What a variable of a closure holds."""
    try:
        return cell.cell_contents
    except ValueError:
        return MISSING


def _change(before, after):
    if is_value(before) and is_value(after):
        return f"was {before!r} and is {after!r}"
    if after is MISSING:
        return "is gone"
    return "is new" if before is MISSING else "is another object"
