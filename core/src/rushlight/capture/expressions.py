"""Expressions of a captured program."""

from __future__ import annotations

import ast
import operator

from rushlight.capture.breaks import BreakError
from rushlight.capture.calls import Made
from rushlight.capture.guards import MISSING
from rushlight.capture.kinds import is_container, is_value
from rushlight.capture.numbers import Number
from rushlight.capture.parts import Parts

BINARY = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul,
    ast.Div: operator.truediv, ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod,
    ast.Pow: operator.pow, ast.MatMult: operator.matmul, ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_, ast.BitXor: operator.xor, ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
}  # fmt: skip
_UNARY = {ast.USub: operator.neg, ast.UAdd: operator.pos, ast.Invert: operator.invert}
_COMPARE = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le,
    ast.Gt: operator.gt, ast.GtE: operator.ge,
}  # fmt: skip
_LONGEST = 200_000  # expressions of one capture


class Expressions(Parts):
    """The part of the interpreter that computes values."""

    def value(self, node):
        """The value of an expression."""
        self.steps += 1
        if self.steps > _LONGEST:
            self.refuse("it takes too many steps")
        self.line = node.lineno
        method = getattr(self, f"_{type(node).__name__.lower()}", self._unknown)
        try:
            return method(node)
        except BreakError as error:
            error.passes(node, self.frames)
            raise

    def _unknown(self, node):
        self.refuse(f"it has a {type(node).__name__}")

    def _constant(self, node):
        return node.value

    def _name(self, node):
        return self.variable(node.id)

    def _attribute(self, node):
        owner = self.value(node.value)
        self.check_name(node.attr)
        found = self.attribute(owner, node.attr)
        if found is MISSING:
            self.refuse(f"a {type(owner).__name__} has no attribute {node.attr}")
        return found

    def _call(self, node):
        if isinstance(node.func, ast.Name) and node.func.id == "super":
            if self.variable("super") is super:
                return self.parent([self.value(a) for a in node.args])
        function = self.value(node.func)
        args, kwargs = self._sequence(node.args), {}
        for each in node.keywords:
            value = self.value(each.value)
            if each.arg is not None:
                kwargs[each.arg] = value
            elif is_container(value) and isinstance(value, dict):
                kwargs.update(value)
            else:
                self.refuse("it gives keywords of an object")
        self.line = node.lineno
        return self.call(function, tuple(args), kwargs)

    def _sequence(self, nodes):
        """Values in a row; those with a star are spread."""
        found = []
        for node in nodes:
            if isinstance(node, ast.Starred):
                found += self.iterate(self.value(node.value))
            else:
                found.append(self.value(node))
        return found

    def _tuple(self, node):
        return tuple(self._sequence(node.elts))

    def _list(self, node):
        return self._sequence(node.elts)

    def _set(self, node):
        return self.call(set, (self._sequence(node.elts),), {})

    def _dict(self, node):
        found = {}
        for key, value in zip(node.keys, node.values, strict=True):
            held = self.value(value) if key is None else None
            if key is None:
                if not is_container(held) or not isinstance(held, dict):
                    self.refuse("it spreads an object into a dict")
                found.update(held)
            else:
                found[self._key(self.value(key))] = self.value(value)
        return found

    def _key(self, key):
        if not (is_value(key) or type(key).__hash__ is object.__hash__ or isinstance(key, type)):
            self.refuse(f"it takes a {type(key).__name__} as a key")
        return key

    def _binop(self, node):
        left, right = self.value(node.left), self.value(node.right)
        self.line = node.lineno
        return self.binary(BINARY[type(node.op)], left, right)

    def _unaryop(self, node):
        value = self.value(node.operand)
        if isinstance(node.op, ast.Not):
            return not self.truth(value)
        if type(value) is Number and isinstance(node.op, ast.USub):
            return self.binary(operator.mul, value, -1)
        return self.binary(lambda a, _: _UNARY[type(node.op)](a), value, None)

    def _boolop(self, node):
        wanted = isinstance(node.op, ast.Or)
        for each in node.values[:-1]:
            value = self.value(each)
            if self.truth(value) is wanted:
                return value
        return self.value(node.values[-1])

    def _compare(self, node):
        left = self.value(node.left)
        for i, (kind, each) in enumerate(zip(node.ops, node.comparators, strict=True)):
            right = self.value(each)
            found = self._compared(kind, left, right)
            if i + 1 < len(node.ops) and not self.truth(found):
                return found
            left = right
        return found

    def _compared(self, kind, left, right):
        if isinstance(kind, ast.Is | ast.IsNot):
            return (left is right) is isinstance(kind, ast.Is)
        if isinstance(kind, ast.In | ast.NotIn):
            return self.contains(right, left) is isinstance(kind, ast.In)
        return self.binary(_COMPARE[type(kind)], left, right)

    def _ifexp(self, node):
        return self.value(node.body if self.truth(self.value(node.test)) else node.orelse)

    def _subscript(self, node):
        owner, key = self.value(node.value), self.value(node.slice)
        self.line = node.lineno
        return self.item(owner, key)

    def _slice(self, node):
        parts = (node.lower, node.upper, node.step)
        return slice(*[None if p is None else self.value(p) for p in parts])

    def _joinedstr(self, node):
        return "".join(map(self.value, node.values))

    def _formattedvalue(self, node):
        value = self.value(node.value)
        if not is_value(value):
            self.refuse(f"it writes a {type(value).__name__} as text")
        text = {-1: lambda v: v, 115: str, 114: repr, 97: ascii}[node.conversion](value)
        return format(text, "" if node.format_spec is None else self.value(node.format_spec))

    def _namedexpr(self, node):
        if isinstance(self.frames[-1].node, Comprehension):
            self.refuse("it assigns to a variable inside of a comprehension")
        found = self.value(node.value)
        self.assign(node.target, found)
        return found

    def _lambda(self, node):
        return self.made_function(node)

    def made_function(self, node):
        """A function that the program makes."""
        defaults = [self.value(d) for d in node.args.defaults]
        keywords = {
            a.arg: self.value(d)
            for a, d in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
            if d is not None
        }
        return Made(node, self.frames[-1], defaults, keywords)

    # ------------------------------------------------------------------------------- comprehensions
    def _listcomp(self, node):
        return [*self._items(node, lambda: self.value(node.elt))]

    def _setcomp(self, node):
        return self.call(set, ([*self._items(node, lambda: self.value(node.elt))],), {})

    def _dictcomp(self, node):
        pairs = self._items(node, lambda: (self._key(self.value(node.key)), self.value(node.value)))
        return dict(pairs)

    def _generatorexp(self, node):
        return self.iterator(self._items(node, lambda: self.value(node.elt)))

    def _items(self, node, element):
        """What a comprehension gives, one after the other; its first iterable is looked at now."""
        first = self.iterate(self.value(node.generators[0].iter))
        frame = self.comprehension(node)
        return self._nested(frame, node.generators, first, element)

    def _nested(self, frame, generators, items, element):
        own, *rest = generators
        if own.is_async:
            self.refuse("it waits for a coroutine")
        for item in items:
            if not self.within(frame, lambda item=item: self._passes(own, item)):
                continue
            if rest:
                inner = self.within(frame, lambda: self.iterate(self.value(rest[0].iter)))
                yield from self._nested(frame, rest, inner, element)
            else:
                yield self.within(frame, element)

    def _passes(self, generator, item):
        self.assign(generator.target, item)
        return all(self.truth(self.value(test)) for test in generator.ifs)

    def within(self, frame, action):
        """Do something inside of a frame."""
        self.frames.append(frame)
        try:
            return action()
        finally:
            self.frames.pop()


class Comprehension:
    """The scope of a comprehension: a function of no arguments."""

    def __init__(self, node):
        self.lineno, self.body, self.name = node.lineno, [], "a comprehension"
