"""Expressions of a function."""

from __future__ import annotations

import ast

from rushlight.jit import kinds, tree
from rushlight.jit.frontend import operators, scope
from rushlight.jit.frontend.operators import BINARY, COMPARE, UNARY
from rushlight.jit.frontend.values import Bound, Static
from rushlight.jit.kinds import (
    ANY,
    BOOL,
    COMPLEX,
    FLOAT,
    INT,
    NONE,
    STR,
    TENSOR,
    UNKNOWN,
    ClassType,
    Type,
)
from rushlight.jit.scalars import FORMAT

_CONSTANTS = {bool: BOOL, int: INT, float: FLOAT, complex: COMPLEX, str: STR, type(None): NONE}


class Expressions:
    """What a function's compiler knows of expressions."""

    def value(self, node, hint=None):
        """An expression, or what is known without one: a module of Python, a function, a method."""
        step = getattr(self, "ex_" + type(node).__name__.lower(), None)
        if step is None:
            self.unsupported(node)
        return step(node, hint)

    def expr(self, node, hint=None):
        """An expression in the intermediate form."""
        return self.as_expr(self.value(node, hint), node)

    def as_expr(self, value, node):
        """A value as an expression."""
        if isinstance(value, tree.Expr):
            return value
        if isinstance(value, Static):
            found = self.resolver.constant(value, self.at(node))
            if found is not None:
                return found
        return self.fault(node, f"{value} cannot be used as a value")

    # -------------------------------------------------------------------------------- leaves
    def ex_constant(self, node, hint):
        """A number, a string, None, True, False, ``...``."""
        if node.value is Ellipsis:
            return tree.Const(Ellipsis, type=UNKNOWN, at=self.at(node))
        kind = _CONSTANTS.get(type(node.value))
        if kind is None:
            self.unsupported(node)
        return tree.Const(node.value, type=kind, at=self.at(node))

    def ex_name(self, node, hint):
        """A variable, or what the name means outside of the function."""
        name = node.id
        if name in self.scope.partial and not self.resolver.rebinds:
            where = self.scope.partial[name]
            if where == "loop":
                self.fault(node, f"{name} is not defined if the loop does not run")
            self.fault(node, f"{name} is not defined in the {where} branch")
        if name in self.statics:
            return self.statics[name]
        kind = self.scope.known.get(name)
        if kind is not None:
            return tree.Name(name, type=kind, at=self.at(node))
        found = self.resolver.name(name, self.at(node))
        if found is None:
            self.fault(node, f"undefined value {name}")
        return found

    def ex_attribute(self, node, hint):
        """``value.name``."""
        return self.attribute(self.value(node.value), node.attr, node)

    def attribute(self, value, name, node):
        """An attribute of a value."""
        if isinstance(value, Static):
            found = self.resolver.attribute(value, name, self.at(node))
            if found is None:
                self.fault(node, f"{value} has no attribute '{name}'")
            return found
        if isinstance(value, Bound):
            self.fault(node, f"a method has no attribute '{name}'")
        kind = value.type
        if isinstance(kind, ClassType):
            return self.member(value, kind, name, node)
        if kind == TENSOR or kind == kinds.DEVICE:
            found = self.resolver.property(value, name, self.at(node))
            if found is not None:
                return found
        if name.startswith("__"):
            self.fault(node, f"'{kind}' object has no attribute or method '{name}'")
        if kind.name == "Optional":
            self.fault(node, f"'{kind}' object has no attribute or method '{name}': did you forget "
                       "to refine it with 'is not None'?")  # fmt: skip
        return Bound(value, name)

    def member(self, value, kind, name, node):
        """An attribute or method of an object of a class."""
        found = self.resolver.member(self, value, kind, name, self.at(node))
        if found is None:
            what = "Module" if kind.kind == "module" else "Class"
            self.fault(node, f"{what} '{kind.text.rpartition('.')[2]}' has no attribute '{name}'")
        return found

    def attribute_type(self, target):
        """The declared type of ``object.name``; None where there is none."""
        value = self.value(target.value)
        if not isinstance(value, tree.Expr) or not isinstance(value.type, ClassType):
            return None
        if value.type.kind == "module" and target.attr in value.type.constants:
            self.fault(target, f"cannot assign to the constant '{target.attr}'")
        found = value.type.attributes.get(target.attr)
        if found is None and self.can_declare(value, target):
            return None
        if found is None and isinstance(value.type, ClassType):
            self.fault(target, f"Tried to set nonexistent attribute: {target.attr}. Did you forget "
                       "to initialize it in __init__()?")  # fmt: skip
        return found

    # ---------------------------------------------------------------------------- containers
    def ex_tuple(self, node, hint):
        """A tuple."""
        hints = hint.args if hint is not None and hint.name == "Tuple" else ()
        return self.sequence("tuple", node, [*hints, *[None] * len(node.elts)])

    def ex_list(self, node, hint):
        """A list; an empty one has tensors unless it is told otherwise."""
        wanted = None if hint is None else next((p for p in kinds.parts(hint)
                                                 if p.name == "List"), None)  # fmt: skip
        inner = None if wanted is None else wanted.args[0]
        if any(self.is_list(part) for part in node.elts):
            return self.joined_lists(node, hint)
        made = self.sequence("list", node, [inner] * len(node.elts))
        if wanted is None:
            made.type = kinds.list_of(self.common([i.type for i in made.items], node))
        else:
            made.type = wanted
            made.items = [self.coerced(i, inner, node, "list element") for i in made.items]
        return made

    def is_list(self, node):
        """Whether an item is ``*value`` of a list."""
        return isinstance(node, ast.Starred) and self.expr(node.value).type.name == "List"

    def joined_lists(self, node, hint):
        """``[a, *items, b]``: ``[a] + items + [b]``."""
        pieces, plain = [], []
        for part in [*node.elts, None]:
            if part is None or self.is_list(part):
                if plain:
                    made = ast.copy_location(ast.List(elts=plain, ctx=ast.Load()), node)
                    pieces.append(self.expr(made, hint))
                pieces += [] if part is None else [self.expr(part.value)]
                plain = []
            else:
                plain.append(part)
        found = pieces[0]
        for piece in pieces[1:]:
            kind = self.binary_type("+", found, piece, node)
            found = tree.Binary("+", found, piece, type=kind, at=self.at(node))
        return found

    def sequence(self, kind, node, hints):
        """The items of a list or tuple."""
        items: list = []
        for part, hint in zip(node.elts, hints, strict=False):
            if isinstance(part, ast.Starred):
                items += self.spread(part)
            else:
                items.append(self.expr(part, hint))
        made = Type("Tuple", *(i.type for i in items))
        return tree.Sequence(kind, items, type=made, at=self.at(node))

    def spread(self, node):
        """The items of ``*value``, which must be a tuple."""
        value = self.expr(node.value)
        if value.type.name != "Tuple":
            self.fault(node, f"only tuples can be spread with '*', got {value.type}")
        if isinstance(value, tree.Sequence):
            return value.items
        return [
            tree.Item(value, tree.Const(i, type=INT), type=kind, at=self.at(node))
            for i, kind in enumerate(value.type.args)
        ]

    def common(self, found, node):
        """The one type of the items of a list."""
        if not found:
            return TENSOR
        kind = found[0]
        for other in found[1:]:
            joined = kinds.joined(kind, other)
            if joined is None and {kind, other} <= {INT, FLOAT, BOOL}:
                joined = FLOAT
            if joined is None:
                if self.resolver.rebinds:
                    return UNKNOWN
                self.fault(node, f"all elements of a list must have one type, got {kind} and "
                           f"{other}")  # fmt: skip
            kind = joined
        return kind

    def ex_dict(self, node, hint):
        """A dict."""
        wanted = None if hint is None else next((p for p in kinds.parts(hint)
                                                 if p.name == "Dict"), None)  # fmt: skip
        hints = (None, None) if wanted is None else wanted.args
        if None in node.keys:
            self.unsupported(node)
        keys = [self.expr(k, hints[0]) for k in node.keys]
        values = [self.expr(v, hints[1]) for v in node.values]
        if wanted is None:
            key = self.common([k.type for k in keys], node) if keys else STR
            wanted = Type("Dict", key, self.common([v.type for v in values], node))
        return tree.Mapping(keys, values, type=wanted, at=self.at(node))

    # ------------------------------------------------------------------------------- operators
    def ex_unaryop(self, node, hint):
        """An operator of one operand."""
        if isinstance(node.op, ast.Not):
            return self.condition(node)[0]
        value = self.expr(node.operand)
        if isinstance(value, tree.Const) and isinstance(node.op, ast.USub):
            return tree.Const(-value.value, type=value.type, at=self.at(node))
        kind = INT if value.type == BOOL else value.type
        return tree.Unary(UNARY[type(node.op)], value, type=kind, at=self.at(node))

    def ex_binop(self, node, hint):
        """An operator of two operands."""
        op = BINARY[type(node.op)]
        left, right = self.expr(node.left), self.expr(node.right)
        kind = self.binary_type(op, left, right, node)
        return tree.Binary(op, left, right, type=kind, at=self.at(node))

    def binary_type(self, op, left, right, node):
        """The type of an operation; an error where there is none."""
        kind = operators.binary(op, left.type, right.type)
        if kind is None:
            if self.resolver.rebinds:
                return UNKNOWN
            self.fault(node, f"Arguments for call are not valid: {left.type} {op} {right.type}")
        return kind

    def ex_boolop(self, node, hint):
        """``and``, ``or``."""
        return self.condition(node)[0]

    def ex_compare(self, node, hint):
        """A comparison, or a chain of them."""
        return self.condition(node)[0]

    def ex_ifexp(self, node, hint):
        """``a if test else b``."""
        test, facts = self.condition(node.test)
        if facts.value is not None:
            return self.value(node.body if facts.value else node.orelse, hint)
        outer = self.scope
        self.scope = outer.branch(facts.yes)
        yes = self.expr(node.body, hint)
        self.scope = outer.branch(facts.no)
        no = self.expr(node.orelse, hint)
        self.scope = outer
        kind = kinds.joined(yes.type, no.type)
        if kind is None and hint is not None and kinds.fits(yes.type, hint):
            kind = hint if kinds.fits(no.type, hint) else None
        if kind is None and {yes.type, no.type} <= {INT, FLOAT, BOOL, kinds.NUMBER}:
            kind = kinds.NUMBER
        if kind is None:
            if not self.resolver.rebinds:
                self.fault(node, f"if-expression's true branch has type {yes.type} but false "
                           f"branch has type {no.type}")  # fmt: skip
            kind = UNKNOWN
        return tree.Choose(test, yes, no, type=kind, at=self.at(node))

    # ------------------------------------------------------------------------------ conditions
    def condition(self, node):
        """A condition with what it says of variables."""
        if isinstance(node, ast.BoolOp):
            return self.logic(node)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            test, facts = self.condition(node.operand)
            made = tree.Unary("not", test, type=BOOL, at=self.at(node))
            return made, facts.negated()
        if isinstance(node, ast.Compare):
            return self.compared(node)
        if isinstance(node, ast.Call):
            found = self.asked(node)
            if found is not None:
                return found
        value = self.expr(node)
        known = None
        if isinstance(value, tree.Const) and type(value.value) in (bool, type(None)):
            known = bool(value.value)
        if value.type.name == "Optional" and not self.resolver.rebinds:
            self.fault(node, f"Could not cast value of type {value.type} to bool")
        return value, scope.Facts(value=known)

    def logic(self, node):
        """``and`` and ``or``: what the first says holds in the second."""
        union = isinstance(node.op, ast.Or)
        outer, items, facts = self.scope, [], None
        for part in node.values:
            test, said = self.condition(part)
            items.append(test)
            facts = said if facts is None else (scope.either if union else scope.both)(facts, said)
            if facts.value is union:
                break
            self.scope = self.scope.branch(facts.no if union else facts.yes)
        self.scope = outer
        made = tree.Logic("or" if union else "and", items, type=BOOL, at=self.at(node))
        return made, facts

    def compared(self, node):
        """A comparison; a chain is joined with ``and``."""
        left, tests, facts = node.left, [], None
        for op, right in zip(node.ops, node.comparators, strict=True):
            test, said = self.one_comparison(COMPARE[type(op)], left, right, node)
            tests.append(test)
            facts = said if facts is None else scope.both(facts, said)
            left = right
        if len(tests) == 1:
            return tests[0], facts
        return tree.Logic("and", tests, type=BOOL, at=self.at(node)), facts

    def one_comparison(self, op, left, right, node):
        """``left op right``."""
        if op in ("is", "is not"):
            for one, other in ((left, right), (right, left)):
                if isinstance(other, ast.Constant) and other.value is None:
                    return self.compared_with_none(op, one, other, node)
        a, b = self.expr(left), self.expr(right)
        kind = operators.comparison(op, a.type, b.type)
        value = None
        if isinstance(a, tree.Const) and isinstance(b, tree.Const) and op in ("==", "!="):
            value = (a.value == b.value) == (op == "==")
        made = tree.Compare(op, a, b, type=kind, at=self.at(node))
        return made, scope.Facts(value=value)

    def compared_with_none(self, op, left, right, node):
        """``x is None``."""
        value = self.value(left)
        none = tree.nothing(self.at(right))
        positive = op == "is"
        if not isinstance(value, tree.Expr):
            return tree.Const(not positive, type=BOOL), scope.Facts(value=not positive)
        name = value.name if isinstance(value, tree.Name) else None
        made = tree.Compare(op, value, none, type=BOOL, at=self.at(node))
        if value.type in (UNKNOWN, ANY):
            return made, scope.Facts()
        return made, scope.none_test(name, value.type, positive)

    # ------------------------------------------------------------------------------- subscripts
    def ex_subscript(self, node, hint):
        """``value[index]``."""
        value = self.value(node.value)
        if not isinstance(value, tree.Expr):
            return self.resolver.item(self, value, node)
        if isinstance(value.type, ClassType) and value.type.kind != "tuple":
            return self.object_item(value, node)
        index = self.index(node.slice)
        kind = self.item_type(value, index, node)
        return tree.Item(value, index, type=kind, at=self.at(node))

    def index(self, node):
        """What stands between brackets."""
        if isinstance(node, ast.Slice):
            parts = [None if p is None else self.expr(p) for p in (node.lower, node.upper,
                                                                   node.step)]  # fmt: skip
            return tree.Cut(*parts, at=self.at(node))
        if isinstance(node, ast.Tuple):
            items = [self.index(part) for part in node.elts]
            return tree.Sequence("tuple", items, type=UNKNOWN, at=self.at(node))
        return self.expr(node)

    def item_type(self, value, index, node):
        """The type of an item."""
        kind = value.type
        if kind in (TENSOR, UNKNOWN, ANY):
            return kind if kind == TENSOR else UNKNOWN
        if kind == STR or (isinstance(index, tree.Cut) and kind.name == "List"):
            return kind
        if kind.name == "List":
            return kind.args[0]
        if kind.name == "Dict":
            return kind.args[1]
        fields = kind.args
        if isinstance(kind, ClassType) and kind.kind == "tuple":
            fields = tuple(kind.attributes.values())
        elif kind.name != "Tuple":
            self.fault(node, f"'{kind}' object is not subscriptable")
        return self.field_type(fields, index, node)

    def field_type(self, fields, index, node):
        """The type of an item of a tuple."""
        if isinstance(index, tree.Cut):
            ends = [None if p is None else p.value for p in (index.start, index.stop, index.step)]
            return Type("Tuple", *fields[slice(*ends)])
        if not isinstance(index, tree.Const):
            kind = self.common(list(fields), node)
            return kind
        if not -len(fields) <= index.value < len(fields):
            self.fault(
                node,
                f"Tuple index out of range. Tuple is length {len(fields)} and "
                f"index is {index.value}",
            )
        return fields[index.value]

    def element(self, kind, node=None):
        """The type of the items that a loop over a value gives."""
        if kind.name in ("List", "Dict", "Iterator"):
            return kind.args[0]
        if kind == STR or kind == TENSOR:
            return kind
        if kind.name == "Tuple" and kind.args:
            return self.common(list(kind.args), node)
        if kind in (UNKNOWN, ANY):
            return UNKNOWN
        return self.fault(node, f"'{kind}' object is not iterable")

    # --------------------------------------------------------------------------- other forms
    def ex_listcomp(self, node, hint):
        """A list made in a loop."""
        return self.comprehension(node, "list", hint)

    ex_generatorexp = ex_listcomp  # any(...), all(...), sum(...): the whole list is made

    def ex_dictcomp(self, node, hint):
        """A dict made in a loop."""
        return self.comprehension(node, "dict", hint)

    def comprehension(self, node, kind, hint):
        """One loop, and at most one condition."""
        if len(node.generators) != 1 or len(node.generators[0].ifs) > 1:
            self.fault(node, "Only a single generator with at most one condition is supported")
        loop = node.generators[0]
        iterable = self.value(loop.iter)
        items = self.unrolled(iterable, loop.iter)
        if items is not None:
            return self.unrolled_list(node, loop, items)
        iterable = self.as_expr(iterable, loop.iter)
        outer, self.scope = self.scope, self.scope.branch()
        target = self.loop_target(loop.target, self.element(iterable.type, loop.iter))
        test = self.condition(loop.ifs[0])[0] if loop.ifs else None
        key = self.expr(node.key) if kind == "dict" else None
        value = self.expr(node.value if kind == "dict" else node.elt)
        self.scope = outer
        made = kinds.list_of(value.type) if key is None else Type("Dict", key.type, value.type)
        return tree.Comprehension(
            kind, key, value, target, iterable, test, type=made, at=self.at(node)
        )

    def unrolled_list(self, node, loop, items):
        """A list made in a loop over modules."""
        outer, statics, made = self.scope, dict(self.statics), []
        for item in items:
            self.scope = outer.branch()
            self.name_items(loop.target, item)
            made.append(self.expr(node.elt))
        self.scope, self.statics = outer, statics
        kind = kinds.list_of(self.common([m.type for m in made], node))
        return tree.Sequence("list", made, type=kind, at=self.at(node))

    def name_items(self, target, item):
        """Names for one item of a loop whose items are known."""
        if isinstance(target, ast.Tuple):
            parts = item if isinstance(item, tuple) else self.parts_of(item, target)
            for name, part in zip(target.elts, parts, strict=True):
                self.name_items(name, part)
        elif isinstance(target, ast.Name):
            self.statics[target.id] = item
            self.scope.known.pop(target.id, None)
        else:
            self.unsupported(target)

    def parts_of(self, value, target):
        """The items of a tuple as expressions."""
        inner = self.item_types(value.type, len(target.elts), target)
        return [
            tree.Item(value, tree.Const(i, type=INT), type=kind, at=value.at)
            for i, kind in enumerate(inner)
        ]

    def ex_joinedstr(self, node, hint):
        """An f-string: ``"{}".format(...)``."""
        text, values = "", []
        for part in node.values:
            if isinstance(part, ast.Constant):
                text += part.value
                if "{}" in part.value:
                    self.fault(part, "the text of an f-string cannot hold '{}'")
                continue
            if part.format_spec is not None or part.conversion == ord("a"):
                self.fault(part, "f-strings have no formats here")
            value = self.expr(part.value)
            quoted = part.conversion == ord("r") and value.type == STR
            text += "'{}'" if quoted else "{}"
            values.append(value)
        form = tree.Const(text, type=STR, at=self.at(node))
        return tree.Call(FORMAT, [form, *values], {}, type=STR, at=self.at(node))

    def ex_starred(self, node, hint):
        """``*value`` outside of calls and tuples."""
        return self.unsupported(node)
