"""Statements of a captured program."""

from __future__ import annotations

import ast
import contextlib
import operator

from rushlight.capture.breaks import BreakError, Leaving
from rushlight.capture.calls import UNCHANGED
from rushlight.capture.casting import is_region
from rushlight.capture.kinds import is_container, is_plain
from rushlight.capture.parts import Parts
from rushlight.ops._transforms.capturing import Captured

_IN_PLACE = {
    ast.Add: operator.iadd, ast.Sub: operator.isub, ast.Mult: operator.imul,
    ast.Div: operator.itruediv, ast.FloorDiv: operator.ifloordiv, ast.Mod: operator.imod,
    ast.Pow: operator.ipow, ast.MatMult: operator.imatmul, ast.BitAnd: operator.iand,
    ast.BitOr: operator.ior, ast.BitXor: operator.ixor, ast.LShift: operator.ilshift,
    ast.RShift: operator.irshift,
}  # fmt: skip


class Returned(Exception, Leaving):  # noqa: N818 - a way through the program, no error
    """The end of a function, with its value."""

    def __init__(self, value):
        super().__init__()
        self.value, self.nodes = value, []


class _Broken(Exception):  # noqa: N818
    """The end of a loop."""


class _Continued(Exception):  # noqa: N818
    """The end of a turn of a loop."""


class Statements(Parts):
    """The part of the interpreter that runs statements."""

    def execute(self, body):
        """Run statements one after the other."""
        for node in body:
            self.line = node.lineno
            method = getattr(self, f"_run_{type(node).__name__.lower()}", self._run_unknown)
            try:
                method(node)
            except (BreakError, Returned) as error:
                error.passes(node, self.frames)
                raise

    def _run_unknown(self, node):
        self.refuse(f"it has a statement that a graph cannot have: {_word(node)}")

    def _run_expr(self, node):
        if not isinstance(node.value, ast.Constant):
            self.value(node.value)

    def _run_pass(self, node):
        """A statement that does nothing."""

    def _run_return(self, node):
        raise Returned(None if node.value is None else self.value(node.value))

    def _run_break(self, node):
        raise _Broken

    def _run_continue(self, node):
        raise _Continued

    def _run_assign(self, node):
        value = self.value(node.value)
        for target in node.targets:
            self.assign(target, value)

    def _run_annassign(self, node):
        if node.value is not None:
            self.assign(node.target, self.value(node.value))

    def assign(self, target, value):
        """Give a value to a variable, to several, or to an item."""
        self.line = target.lineno
        if isinstance(target, ast.Name):
            self.frames[-1].locals[target.id] = value
        elif isinstance(target, ast.Tuple | ast.List):
            self._unpack(target.elts, value)
        elif isinstance(target, ast.Subscript):
            self._store(self.value(target.value), self.value(target.slice), value)
        else:
            self.refuse("it assigns to an attribute")

    def _unpack(self, targets, value):
        values = [*self.iterate(value)]
        starred = [i for i, t in enumerate(targets) if isinstance(t, ast.Starred)]
        if starred:
            at, behind = starred[0], len(targets) - starred[0] - 1
            if len(values) < len(targets) - 1:
                self.refuse(f"it unpacks {len(values)} values into {len(targets)} variables")
            middle = values[at : len(values) - behind]
            values = [*values[:at], middle, *values[len(values) - behind :]]
        if len(values) != len(targets):
            self.refuse(f"it unpacks {len(values)} values into {len(targets)} variables")
        for target, each in zip(targets, values, strict=True):
            self.assign(target.value if isinstance(target, ast.Starred) else target, each)

    def _store(self, owner, key, value):
        if isinstance(owner, Captured):
            if not (is_plain(key) and is_plain(value)):
                self.refuse("it assigns an object to a part of a tensor")
        elif not is_container(owner):
            self.refuse(f"it assigns to an item of a {type(owner).__name__}")
        elif self.is_external(owner):
            self.refuse(f"it changes a {type(owner).__name__} that is not its own")
        owner[key] = value

    def _run_augassign(self, node):
        function, target = _IN_PLACE[type(node.op)], node.target
        if isinstance(target, ast.Name):
            before = self.variable(target.id)
            self.assign(target, self._changed(function, before, self.value(node.value)))
        elif isinstance(target, ast.Subscript):
            owner, key = self.value(target.value), self.value(target.slice)
            before = self.item(owner, key)
            self._store(owner, key, self._changed(function, before, self.value(node.value)))
        else:
            self.refuse("it assigns to an attribute")

    def _changed(self, function, before, value):
        if self.is_external(before) and not isinstance(before, tuple | frozenset):
            self.refuse(f"it changes a {type(before).__name__} that is not its own")
        return self.binary(function, before, value)

    def _run_if(self, node):
        self.execute(node.body if self.truth(self.value(node.test)) else node.orelse)

    def _run_for(self, node):
        for item in self.iterate(self.value(node.iter)):
            self.assign(node.target, item)
            if not self._turn(node.body):
                return
        self.execute(node.orelse)

    def _run_while(self, node):
        while self.truth(self.value(node.test)):
            if not self._turn(node.body):
                return
        self.execute(node.orelse)

    def _turn(self, body):
        """Run the body of a loop once; whether the loop goes on."""
        try:
            self.execute(body)
        except _Continued:
            return True
        except _Broken:
            return False
        return True

    def _run_with(self, node):
        with contextlib.ExitStack() as regions:
            for each in node.items:
                manager = self.value(each.context_expr)
                casts = is_region(self, manager)
                if not (casts or manager is UNCHANGED) or each.optional_vars is not None:
                    self.refuse("it has a with statement whose manager is no part of a graph")
                if casts:
                    regions.enter_context(manager)
            self.execute(node.body)

    def _run_assert(self, node):
        if __debug__ and not self.truth(self.value(node.test)):
            self.refuse("an assertion does not hold")

    def _run_functiondef(self, node):
        if node.decorator_list or _yields(node):
            self.refuse("it defines a function with decorators, or a generator")
        self.frames[-1].locals[node.name] = self.made_function(node)

    def _run_delete(self, node):
        for target in node.targets:
            if not isinstance(target, ast.Name) or target.id not in self.frames[-1].locals:
                self.refuse("it deletes something that is no variable of its own")
            del self.frames[-1].locals[target.id]


def _yields(node):
    return any(isinstance(each, ast.Yield | ast.YieldFrom | ast.Nonlocal | ast.Global)
               for each in ast.walk(node))  # fmt: skip


def _word(node):
    return type(node).__name__.lower()
