"""The intermediate form of a TorchScript program: functions as trees with types.

Source of an archive and of Python is read into it (:mod:`.frontend`), Python code objects and
TorchScript source are written from it (:mod:`.codegen`, :mod:`.printer`). Loops, branches and
returns stay as they were written.
"""

from __future__ import annotations

from rushlight.jit.kinds import NONE, UNKNOWN


class Node:
    """A part of a program; `at` is where it stands in its source."""

    __slots__ = ("at",)
    _names: tuple = ()

    def __init__(self, *values, at=None):
        for name, value in zip(self._names, values, strict=True):
            setattr(self, name, value)
        self.at = at

    def __repr__(self):
        inner = ", ".join(repr(getattr(self, name)) for name in self._names)
        return f"{type(self).__name__}({inner})"


class Expr(Node):
    """An expression; `type` is the type of its values."""

    __slots__ = ("type",)

    def __init__(self, *values, type=UNKNOWN, at=None):  # noqa: A002 - the field's name
        super().__init__(*values, at=at)
        self.type = type


def _node(name, fields, base=Expr):
    fields = tuple(fields.split())
    return type(name, (base,), {"__slots__": fields, "_names": fields, "__module__": __name__})


Const = _node("Const", "value")
Name = _node("Name", "name")
Get = _node("Get", "object name")
Call = _node("Call", "target args kwargs")
Sequence = _node("Sequence", "kind items")  # kind: list or tuple
Mapping = _node("Mapping", "keys values")
Item = _node("Item", "object index")
Cut = _node("Cut", "start stop step")  # a slice, inside of Item
Unary = _node("Unary", "op value")
Binary = _node("Binary", "op left right")
Compare = _node("Compare", "op left right")
Logic = _node("Logic", "op items")  # and, or
Choose = _node("Choose", "test yes no")
Comprehension = _node("Comprehension", "kind key value target iterable test")
Cast = _node("Cast", "kind value")  # kind: annotate, unchecked_cast, uninitialized

Assign = _node("Assign", "target value", Node)
Augment = _node("Augment", "target op value", Node)
Run = _node("Run", "value", Node)
If = _node("If", "test yes no", Node)
While = _node("While", "test body", Node)
For = _node("For", "target iterable body", Node)
Return = _node("Return", "value", Node)
Raise = _node("Raise", "kind message", Node)
Assert = _node("Assert", "test message", Node)
Break = _node("Break", "", Node)
Continue = _node("Continue", "", Node)
Pass = _node("Pass", "", Node)
With = _node("With", "context target body", Node)
Delete = _node("Delete", "target", Node)


class Param:
    """A parameter of a function: its type, and its default if it has one."""

    __slots__ = ("default", "has_default", "keyword_only", "name", "type")

    def __init__(self, name, type, default=None, has_default=False, keyword_only=False):  # noqa: A002
        self.name, self.type, self.default = name, type, default
        self.has_default, self.keyword_only = has_default, keyword_only


class Function:
    """A function: parameters, type of results, body, and the code that runs it once made."""

    def __init__(self, name, params, returns, body, source):
        self.name, self.params, self.returns = name, params, returns
        self.body, self.source, self._code = body, source, None

    @property
    def code(self):
        """The Python function that runs it: takes all arguments in order, checks nothing."""
        if self._code is None:
            from rushlight.jit.codegen import build

            self._code = build(self)
        return self._code


def nothing(at=None):
    """The expression None."""
    return Const(None, type=NONE, at=at)
