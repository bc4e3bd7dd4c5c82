"""The variables of a function while it is compiled, and what conditions say of their types."""

from __future__ import annotations

from rushlight.jit import kinds
from rushlight.jit.kinds import NONE


class Scope:
    """Types of variables: as declared, and as known here."""

    def __init__(self, known=(), declared=()):
        self.known, self.declared = dict(known), dict(declared)
        self.partial: dict = {}  # name -> where it has no value, after a branch
        self.own: set = set()  # variables that got their first value at this level
        self.ended = False  # whether what follows is not reached

    def branch(self, facts=()):
        """A scope for one branch, in which facts hold."""
        made = Scope(self.known, self.declared)
        made.partial = dict(self.partial)
        for name, kind in dict(facts).items():
            if name in made.known:
                made.known[name] = kind
        return made

    def assign(self, name, kind):
        """A variable gets a value; what it was declared as stays, what is known changes."""
        self.partial.pop(name, None)
        self.known[name] = kind
        if name not in self.declared:
            self.declared[name] = kind
            self.own.add(name)

    def merge(self, yes, no, describe):
        """After a branch: types of what both gave; `describe` names a conflict."""
        if yes.ended and no.ended:
            self.ended = True
            return
        if yes.ended or no.ended:
            left = no if yes.ended else yes
            self.known, self.declared, self.partial = left.known, left.declared, left.partial
            return
        partial = {**yes.partial, **no.partial}
        known: dict = {}
        for name in {**yes.known, **no.known}:
            if name in yes.known and name in no.known:
                found = kinds.joined(yes.known[name], no.known[name])
                declared = self.declared.get(name)
                if found is None and declared is not None:
                    found = declared
                known[name] = describe(name, yes.known[name], no.known[name], found)
            else:
                partial[name] = "false" if name in yes.known else "true"
        self.declared = {**no.declared, **yes.declared, **self.declared}
        self.known, self.partial = known, partial


class Facts:
    """What a condition says: types of variables where it holds and where it does not, and its
    value where that is known before the program runs."""

    __slots__ = ("no", "value", "yes")

    def __init__(self, yes=None, no=None, value=None):
        self.yes, self.no, self.value = yes or {}, no or {}, value

    def negated(self):
        """The facts of ``not``."""
        return Facts(self.no, self.yes, None if self.value is None else not self.value)


def both(first, second):
    """The facts of ``and``."""
    values = (first.value, second.value)
    value = False if False in values else (True if values == (True, True) else None)
    return Facts({**first.yes, **second.yes}, {}, value)


def either(first, second):
    """The facts of ``or``."""
    return both(first.negated(), second.negated()).negated()


def none_test(name, kind, positive):
    """``name is None`` (or ``is not None``): what it says of a variable."""
    if kind == NONE:
        return Facts(value=positive)
    if not kinds.may_be_none(kind):
        return Facts(value=not positive)
    found = Facts({name: NONE}, {name: kinds.without_none(kind)}) if name else Facts()
    return found if positive else found.negated()


def type_test(name, kind, wanted):
    """``isinstance(name, wanted)``."""
    if kind in (kinds.ANY, kinds.UNKNOWN):
        return Facts({name: kinds.union(wanted)} if name else {})
    inside = [p for p in kinds.parts(kind) if any(_is(p, w) for w in wanted)]
    outside = [p for p in kinds.parts(kind) if p not in inside]
    if not inside or not outside:
        return Facts(value=bool(inside))
    if not name:
        return Facts()
    return Facts({name: kinds.union(inside)}, {name: kinds.union(outside)})


def _is(kind, wanted):
    if wanted.args and wanted.args[0] == kinds.UNKNOWN and kind.name == wanted.name:
        return True
    return kinds.fits(kind, wanted)
