"""Python code objects for functions in the intermediate form.

A Python syntax tree is built node by node, never text: names of a program become local variables,
and everything it calls is a global of its own under a number, in a namespace without builtins. So
a program reaches nothing but what the compiler resolved. Lines are kept: a traceback shows those
of the source.
"""

from __future__ import annotations

import ast
import linecache

from rushlight.jit import runtime, tree
from rushlight.jit.kinds import BOOL, FLOAT, INT, STR, TENSOR, UNKNOWN

_BINARY = {
    "+": ast.Add, "-": ast.Sub, "*": ast.Mult, "/": ast.Div, "//": ast.FloorDiv, "%": ast.Mod,
    "**": ast.Pow, "@": ast.MatMult, "&": ast.BitAnd, "|": ast.BitOr, "^": ast.BitXor,
    "<<": ast.LShift, ">>": ast.RShift,
}  # fmt: skip
_COMPARE = {
    "==": ast.Eq, "!=": ast.NotEq, "<": ast.Lt, "<=": ast.LtE, ">": ast.Gt, ">=": ast.GtE,
    "is": ast.Is, "is not": ast.IsNot, "in": ast.In, "not in": ast.NotIn,
}  # fmt: skip
_UNARY = {"-": ast.USub, "+": ast.UAdd, "not": ast.Not, "~": ast.Invert}
_PLAIN = (int, float, complex, str, bool, type(None))


def build(function):
    """The Python function of a :class:`.tree.Function`."""
    return _Builder(function).function()


class _Builder:
    def __init__(self, function):
        self.of = function
        self.globals: dict = {"__builtins__": {}}
        self.numbers: dict = {}
        self.at = (1, 0, 1)

    def function(self):
        """The function, compiled."""
        of = self.of
        body = self.block(of.body)
        names = [self.name(p.name) for p in of.params]
        arguments = ast.arguments(
            posonlyargs=[], args=[ast.arg(arg=n) for n in names], kwonlyargs=[], kw_defaults=[],
            defaults=[],
        )  # fmt: skip
        name = of.name.rpartition(".")[2]
        name = name if name.isidentifier() else "function"
        made = ast.FunctionDef(name=name, args=arguments, body=body, decorator_list=[])
        module = ast.Module(body=[made], type_ignores=[])
        made.lineno, made.col_offset = body[0].lineno, 0
        made.end_lineno, made.end_col_offset = body[0].lineno, 1
        ast.fix_missing_locations(module)
        filename = of.source.filename
        if filename.startswith("<"):
            text = of.source.text
            linecache.cache[filename] = (len(text), None, text.splitlines(True), filename)
        space = self.globals
        exec(compile(module, filename, "exec"), space)  # noqa: S102 - a tree built here
        return space.pop(name)

    # --------------------------------------------------------------------------------- names
    def shared(self, value):
        """A global of the function that is bound to a value."""
        key = id(value)
        if key not in self.numbers:
            name = f"__g{len(self.numbers)}"
            self.numbers[key] = name
            self.globals[name] = value
        return ast.Name(id=self.numbers[key], ctx=ast.Load())

    @staticmethod
    def name(name):
        """The local variable for a name of the program."""
        return "v" + name if name.startswith("__") else name

    # ---------------------------------------------------------------------------- statements
    def block(self, statements):
        """Statements, at least one."""
        made = []
        for statement in statements:
            self.at = statement.at or self.at
            found = getattr(self, "do_" + type(statement).__name__.lower())(statement)
            made.append(self.located(found))
        return made or [self.located(ast.Pass())]

    def located(self, node):
        """A node with the line of what it was made from."""
        node.lineno, node.col_offset = self.at[0], self.at[1]
        node.end_lineno, node.end_col_offset = self.at[0], self.at[2] or self.at[1] + 1
        return node

    def do_assign(self, node):
        """``target = value``."""
        value = self.expr(node.value)
        return ast.Assign(targets=[self.target(node.target)], value=value)

    def do_augment(self, node):
        """``target += value``: in place for tensors and lists."""
        op = _BINARY[node.op]()
        return ast.AugAssign(target=self.target(node.target), op=op, value=self.expr(node.value))

    def do_run(self, node):
        """An expression for its effect."""
        return ast.Expr(value=self.expr(node.value))

    def do_if(self, node):
        """A branch."""
        test = self.expr(node.test)
        no = self.block(node.no) if node.no else []
        return ast.If(test=test, body=self.block(node.yes), orelse=no)

    def do_while(self, node):
        """A loop with a condition."""
        return ast.While(test=self.expr(node.test), body=self.block(node.body), orelse=[])

    def do_for(self, node):
        """A loop over the items of a value."""
        target, iterable = self.target(node.target), self.expr(node.iterable)
        return ast.For(target=target, iter=iterable, body=self.block(node.body), orelse=[])

    def do_return(self, node):
        """The end of the function."""
        return ast.Return(value=self.expr(node.value))

    def do_raise(self, node):
        """An exception by its name."""
        args = [] if node.message is None else [self.expr(node.message)]
        made = ast.Call(func=self.shared(runtime.exception(node.kind)), args=args, keywords=[])
        return ast.Raise(exc=made, cause=None)

    def do_assert(self, node):
        """An assertion, which is never switched off."""
        message = node.message or tree.Const("", type=STR)
        made = self.shared(runtime.exception("AssertionError"))
        failed = ast.Raise(exc=ast.Call(func=made, args=[self.expr(message)], keywords=[]),
                           cause=None)  # fmt: skip
        test = ast.UnaryOp(op=ast.Not(), operand=self.expr(node.test))
        return ast.If(test=test, body=[self.located(failed)], orelse=[])

    def do_break(self, node):
        """``break``."""
        return ast.Break()

    def do_continue(self, node):
        """``continue``."""
        return ast.Continue()

    def do_pass(self, node):
        """``pass``."""
        return ast.Pass()

    def do_with(self, node):
        """A block inside a context."""
        target = None if node.target is None else self.target(node.target)
        item = ast.withitem(context_expr=self.expr(node.context), optional_vars=target)
        return ast.With(items=[item], body=self.block(node.body))

    def do_delete(self, node):
        """``del``."""
        target = self.expr(node.target)
        target.ctx = ast.Del()
        return ast.Delete(targets=[target])

    def target(self, node):
        """An expression that is assigned to."""
        found = self.expr(node)
        for part in ast.walk(found) if isinstance(found, ast.Tuple | ast.List) else (found,):
            if hasattr(part, "ctx"):
                part.ctx = ast.Store()
        return found

    # --------------------------------------------------------------------------- expressions
    def expr(self, node):
        """An expression."""
        return getattr(self, "of_" + type(node).__name__.lower())(node)

    def of_const(self, node):
        """A number, string or None; other constants are globals."""
        if type(node.value) in _PLAIN:
            return ast.Constant(value=node.value)
        return self.shared(node.value)

    def of_name(self, node):
        """A variable."""
        return ast.Name(id=self.name(node.name), ctx=ast.Load())

    def of_get(self, node):
        """An attribute of an object of the program."""
        return ast.Attribute(value=self.expr(node.object), attr=node.name, ctx=ast.Load())

    def of_call(self, node):
        """A call; the target says of what."""
        return node.target.emit(self, node)

    def call(self, function, args, kwargs=None):
        """The call of a Python object with expressions of the program."""
        keywords = [ast.keyword(arg=k, value=self.expr(v)) for k, v in (kwargs or {}).items()]
        func = self.shared(function)
        return ast.Call(func=func, args=[self.expr(a) for a in args], keywords=keywords)

    def of_sequence(self, node):
        """A list or tuple."""
        kind = ast.List if node.kind == "list" else ast.Tuple
        return kind(elts=[self.expr(item) for item in node.items], ctx=ast.Load())

    def of_mapping(self, node):
        """A dict."""
        keys, values = map(self.expr, node.keys), map(self.expr, node.values)
        return ast.Dict(keys=list(keys), values=list(values))

    def of_item(self, node):
        """An item, or a part of a tensor."""
        index = self.expr(node.index)
        return ast.Subscript(value=self.expr(node.object), slice=index, ctx=ast.Load())

    def of_cut(self, node):
        """``start:stop:step``."""
        parts = [None if p is None else self.expr(p) for p in (node.start, node.stop, node.step)]
        return ast.Slice(*parts)

    def of_unary(self, node):
        """An operator of one operand."""
        return ast.UnaryOp(op=_UNARY[node.op](), operand=self.expr(node.value))

    def of_binary(self, node):
        """An operator of two operands; a power of numbers is a float."""
        if node.op == "**" and node.type == FLOAT:
            return self.call(runtime.power, [node.left, node.right])
        left, right = self.expr(node.left), self.expr(node.right)
        return ast.BinOp(left=left, op=_BINARY[node.op](), right=right)

    def of_compare(self, node):
        """A comparison."""
        left, right = self.expr(node.left), self.expr(node.right)
        return ast.Compare(left=left, ops=[_COMPARE[node.op]()], comparators=[right])

    def of_logic(self, node):
        """``and``, ``or``: bools."""
        values = [self.truth(item) for item in node.items]
        return ast.BoolOp(op=ast.And() if node.op == "and" else ast.Or(), values=values)

    def truth(self, node):
        """A condition as a bool."""
        found = self.expr(node)
        if node.type in (BOOL, UNKNOWN):
            return found
        return ast.Call(func=self.shared(bool), args=[found], keywords=[])

    def of_choose(self, node):
        """``yes if test else no``."""
        test, yes, no = map(self.expr, (node.test, node.yes, node.no))
        return ast.IfExp(test=test, body=yes, orelse=no)

    def of_comprehension(self, node):
        """A list or dict made in a loop."""
        tests = [] if node.test is None else [self.expr(node.test)]
        loop = ast.comprehension(
            target=self.target(node.target), iter=self.expr(node.iterable), ifs=tests, is_async=0
        )
        if node.kind == "dict":
            key, value = self.expr(node.key), self.expr(node.value)
            return ast.DictComp(key=key, value=value, generators=[loop])
        return ast.ListComp(elt=self.expr(node.value), generators=[loop])

    def of_cast(self, node):
        """A value whose type is known better than it can be seen; numbers become of it."""
        if node.kind == "uninitialized":
            return ast.Constant(value=None)
        implicit = node.kind == "annotate" and node.type in (INT, FLOAT)
        if implicit and node.value.type == TENSOR:
            return self.call({INT: int, FLOAT: float}[node.type], [node.value])
        return self.expr(node.value)
