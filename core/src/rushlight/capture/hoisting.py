"""Taking a statement apart at the expression that cannot be part of a graph.

What Python computes before that expression is assigned to variables first, so that graphs hold it;
the expression itself runs as Python, and the statement goes on with its value::

    y = torch.relu(x) + f(torch.sin(x))     _value_1 = torch.relu(x)
                                            _value_2 = torch.sin(x)
                                            ---------------------------- the graph ends
                                            _value_3 = f(_value_2)
                                            ---------------------------- the next one begins
                                            y = _value_1 + _value_3
"""

from __future__ import annotations

import ast
import copy
import itertools
from dataclasses import dataclass, field

_counts = itertools.count()
# Statements, and the expression of each that is evaluated before anything else of it.
_FIRST = {
    ast.Expr: "value", ast.Return: "value", ast.Assign: "value", ast.AnnAssign: "value",
    ast.AugAssign: "value", ast.If: "test", ast.For: "iter",
}  # fmt: skip
# Expressions, and the fields that hold their operands, in the order of evaluation.
_OPERANDS: dict = {
    ast.BinOp: ("left", "right"), ast.UnaryOp: ("operand",), ast.Call: ("func", "args", "keywords"),
    ast.Attribute: ("value",), ast.Subscript: ("value", "slice"), ast.Starred: ("value",),
    ast.Slice: ("lower", "upper", "step"), ast.Tuple: ("elts",), ast.List: ("elts",),
    ast.Set: ("elts",), ast.JoinedStr: ("values",), ast.FormattedValue: ("value",),
    ast.keyword: ("value",), ast.IfExp: ("test",),
}  # fmt: skip
# Of expressions around them; a generator's first iterable is looked at where it is written.
_PARTS = (ast.keyword, ast.Starred, ast.Slice, ast.FormattedValue, ast.GeneratorExp)


@dataclass
class Taken:
    """A statement in three: `before` belongs to the graph that ends, `outside` to none, `after` to
    the next. With `test`, a variable whose truth is asked for outside, there are two ways on:
    `after` and `otherwise`. `bodies`: functions that `outside` calls."""

    before: list = field(default_factory=list)
    outside: list = field(default_factory=list)
    after: list = field(default_factory=list)
    test: object = None
    otherwise: list = field(default_factory=list)
    bodies: list = field(default_factory=list)


def taken_apart(statement, path) -> Taken:
    """Take a statement apart at the innermost of the expressions `path`, outermost first; without
    such at what the statement itself does. The given nodes are left as they are."""
    memo: dict = {}
    statement = copy.deepcopy(statement, memo)
    path = [memo[id(each)] for each in path if not isinstance(each, _PARTS)]
    if len(path) > 1 and isinstance(path[-2], ast.Call) and path[-2].func is path[-1]:
        path.pop()  # a method is looked up where it is called
    if path:
        return _at_expression(statement, path)
    return _at_statement(statement)


def _at_statement(statement):
    """Part a statement at what it does itself: ask for truth, assign, return."""
    if isinstance(statement, ast.If):
        return _branch(statement.test, statement.body, statement.orelse)
    found = Taken(outside=[statement])
    if isinstance(statement, ast.Assign | ast.AnnAssign) and statement.value:
        statement.value = hold(statement.value, found.before)
    elif isinstance(statement, ast.Return) and statement.value:
        hoist_operands(statement.value, found.before)
    return found


def _is_ordered(statement):
    """Whether something of a statement is evaluated before its first expression, or assigned in
    it."""
    if any(isinstance(each, ast.NamedExpr) for each in ast.walk(statement)):
        return True
    return isinstance(statement, ast.AugAssign) and not isinstance(statement.target, ast.Name)


def _without_logic(statement):
    """``if not a`` and ``if a and b`` by statements alone, parted at `a`."""
    test, body, otherwise = statement.test, statement.body, statement.orelse
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return _branch(test.operand, otherwise, body)
    if not isinstance(test, ast.BoolOp):
        return None
    first, *rest = test.values
    inner = rest[0] if len(rest) == 1 else ast.copy_location(ast.BoolOp(test.op, rest), test)
    nested = ast.copy_location(ast.If(inner, body, otherwise), statement)
    if isinstance(test.op, ast.And):
        return _branch(first, [nested], otherwise)
    return _branch(first, body, [nested])


def _branch(test, body, otherwise):
    found = Taken(after=body, otherwise=otherwise)
    found.test = hold(test, found.before)
    return found


def _at_expression(statement, path):
    """Part a statement at an expression; if not all that comes before is known, as a whole."""
    if isinstance(statement, ast.If) and len(path) == 1:
        parted = _without_logic(statement)
        if parted is not None:
            return parted
    name = _FIRST.get(type(statement))
    if name is None or getattr(statement, name) is not path[0] or _is_ordered(statement):
        return Taken(outside=[statement])
    return _at_operand(statement, (statement, (name, None)), path)


def _at_operand(statement, where, path):
    """Part a statement at the innermost expression of a path that begins at its first one."""
    found = Taken()
    owner, key = where
    for outer, inner in itertools.pairwise(path):
        where = _hoist_before(outer, inner, found.before)
        if where is None:  # what is evaluated before is not known: the outer one runs as Python
            return _outside(statement, owner, key, outer, found)
        owner, key = where
    node = path[-1]
    if isinstance(node, ast.IfExp):
        return _conditional(statement, owner, key, node, found)
    hoist_operands(node, found.before)
    return _outside(statement, owner, key, node, found)


def hoist_operands(node, before):
    """Assign what an expression is made of to variables."""
    for owner, key in _operands(node):
        _set(owner, key, _prepared(_get(owner, key), before))


def _hoist_before(outer, inner, before):
    """Assign what `outer` evaluates before `inner` to variables; where `inner` is, or None."""
    operands = [*_operands(outer)]
    at = [i for i, (owner, key) in enumerate(operands) if _get(owner, key) is inner]
    if not at:
        return None
    for owner, key in operands[: at[0]]:
        value = _get(owner, key)
        called = isinstance(outer, ast.Call) and value is outer.func
        fixed = isinstance(value, ast.Constant | ast.Name | ast.Lambda)
        if not fixed:
            _set(owner, key, _prepared(value, before) if called else hold(value, before))
    return operands[at[0]]


def _outside(statement, owner, key, node, found):
    """Have an expression run as Python, and the statement go on with its value."""
    if isinstance(statement, ast.Expr) and owner is statement:
        found.outside.append(statement)
        return found
    variable = _new(node)
    found.outside.append(_assignment(variable, node))
    _set(owner, key, variable)
    if isinstance(statement, ast.If) and _is_of_variables(statement.test):
        found.test, found.after, found.otherwise = statement.test, statement.body, statement.orelse
    else:
        found.after.append(statement)
    return found


def _is_of_variables(test):
    """Whether a test looks at nothing but variables and constants: no graph could hold it where one
    of them is a number that was read."""
    kinds = ast.Compare, ast.cmpop, ast.BoolOp, ast.boolop, ast.UnaryOp, ast.unaryop
    return all(isinstance(n, (*kinds, ast.Name, ast.Constant, ast.Load)) for n in ast.walk(test))


def _conditional(statement, owner, key, node, found):
    """``a if test else b``: the statement with either."""
    found.test = hold(node.test, found.before)
    for value, ways in ((node.body, found.after), (node.orelse, found.otherwise)):
        _set(owner, key, value)
        ways.append(copy.deepcopy(statement))
    return found


def _operands(node):
    """``(owner, (field, index))`` of the operands of an expression, in the order of evaluation."""
    if isinstance(node, ast.Compare):
        names = ("left", "comparators") if len(node.ops) == 1 else ("left",)
    elif isinstance(node, ast.Dict):
        names = ("values",) if all(isinstance(key, ast.Constant) for key in node.keys) else ()
    elif isinstance(node, ast.BoolOp):
        yield node, ("values", 0)
        return
    elif isinstance(node, ast.GeneratorExp):
        yield node.generators[0], ("iter", None)
        return
    else:
        names = _OPERANDS.get(type(node), ())
    for name in names:
        held = getattr(node, name)
        for i, each in enumerate(held if isinstance(held, list) else [held]):
            if isinstance(each, _PARTS):
                yield from _operands(each)
            elif each is not None:
                yield node, (name, i if isinstance(held, list) else None)


def _prepared(node, before):
    """An operand of what runs as Python at once: variables and their attributes stay."""
    rest = node
    while isinstance(rest, ast.Attribute):
        rest = rest.value
    if isinstance(rest, ast.Name | ast.Constant | ast.Lambda):
        return node
    if isinstance(node, ast.Attribute):  # a method is looked up where it is called
        node.value = _prepared(node.value, before)
        return node
    return hold(node, before)


def hold(node, before):
    """A variable with the value of an expression, which it is assigned to before."""
    if isinstance(node, ast.Name | ast.Constant):
        return node
    variable = _new(node)
    before.append(_assignment(variable, node))
    return variable


def _new(node):
    return ast.copy_location(ast.Name(f"_value_{next(_counts)}", ast.Load()), node)


def _assignment(variable, node):
    target = ast.copy_location(ast.Name(variable.id, ast.Store()), node)
    return ast.copy_location(ast.Assign([target], node), node)


def _get(owner, key):
    name, index = key
    held = getattr(owner, name)
    return held if index is None else held[index]


def _set(owner, key, value):
    name, index = key
    if index is None:
        setattr(owner, name, value)
    else:
        getattr(owner, name)[index] = value
