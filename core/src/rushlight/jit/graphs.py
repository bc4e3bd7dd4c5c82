"""The text of a function as a graph: one value a line, as PyTorch prints its graphs.

The intermediate form is a tree; this shows it as the list of operations it stands for. Branches and
loops are blocks whose variables keep their names.
"""

from __future__ import annotations

from rushlight.jit import scalars, tensors, tree
from rushlight.jit.kinds import INT, UNKNOWN
from rushlight.jit.printer import Printer
from rushlight.jit.targets import Compiled, Make, Method
from rushlight.tensor.tensor import Tensor

_SYMBOLS = {symbol: name for name, symbol in scalars.SYMBOLS.items()} | {
    "@": "matmul", "is": "__is__", "is not": "__isnot__", "in": "__contains__",
    "not in": "__contains__",
}  # fmt: skip
_DEPTH = 40


class Graph:
    """A function as a graph; `str` of it is the text."""

    def __init__(self, function, inlined=False):
        self.function, self.inlined = function, inlined

    def __str__(self):
        return _Writer(self.function, self.inlined).text()

    __repr__ = __str__


class _Writer:
    def __init__(self, function, inlined):
        self.of, self.inlined = function, inlined
        self.lines: list = []
        self.count, self.depth, self.within = 0, 1, 0

    def text(self):
        """The graph."""
        params = [f"%{p.name} : {p.type}" for p in self.of.params]
        head = "graph(" + ",\n      ".join(params) + "):"
        if self.of.body is None:
            return f"{head}\n  return (...)  # a layer of Rushlight, which runs as it is\n"
        self.block(self.of.body)
        return "\n".join([head, *self.lines]) + "\n"

    def line(self, text):
        """Add a line at the present depth."""
        self.lines.append("  " * self.depth + text)

    def value(self, kind, operation):
        """A new value of an operation."""
        self.count += 1
        self.line(f"%{self.count} : {kind} = {operation}")
        return f"%{self.count}"

    def block(self, statements):
        """Statements."""
        for statement in statements:
            getattr(self, "st_" + type(statement).__name__.lower(), self.other)(statement)

    # ---------------------------------------------------------------------------- statements
    def st_assign(self, node):
        """A variable is the value; several are unpacked; others are written to."""
        value = self.expr(node.value)
        target = node.target
        if isinstance(target, tree.Name):
            self.line(f"%{target.name} : {node.value.type} = prim::Store({value})")
        elif isinstance(target, tree.Sequence):
            names = ", ".join(f"%{t.name} : {t.type}" for t in target.items)
            self.line(f"{names} = prim::TupleUnpack({value})")
        elif isinstance(target, tree.Get):
            owner = self.expr(target.object)
            self.line(f' = prim::SetAttr[name="{target.name}"]({owner}, {value})')
        else:
            parts = self.expr(target.object), self.expr(target.index), value
            self.line(f" = aten::_set_item({', '.join(parts)})")

    def st_augment(self, node):
        """``target op= value``."""
        operation = _SYMBOLS.get(node.op, node.op)
        value = self.value(node.target.type, f"aten::{operation}_({self.expr(node.target)}, "
                           f"{self.expr(node.value)})")  # fmt: skip
        if isinstance(node.target, tree.Name):
            self.line(f"%{node.target.name} : {node.target.type} = prim::Store({value})")

    def st_run(self, node):
        """An expression."""
        self.expr(node.value)

    def st_return(self, node):
        """The result."""
        self.line(f"return ({self.expr(node.value)})")

    def st_if(self, node):
        """A branch with two blocks."""
        self.line(f" = prim::If({self.expr(node.test)})")
        for number, part in enumerate((node.yes, node.no)):
            self.nested(f"block{number}():", part)

    def st_while(self, node):
        """A loop."""
        self.line(f" = prim::Loop({self.expr(node.test)})")
        self.nested("block0():", node.body)

    def st_for(self, node):
        """A loop over items."""
        self.line(f" = prim::Loop({self.expr(node.iterable)})")
        self.nested(f"block0({Printer().target(node.target)}):", node.body)

    def nested(self, head, statements):
        """A block inside of another."""
        self.depth += 1
        self.line(head)
        self.depth += 1
        self.block(statements)
        self.depth -= 2

    def st_raise(self, node):
        """An exception."""
        message = "" if node.message is None else self.expr(node.message)
        self.line(f' = prim::RaiseException[class="{node.kind}"]({message})')

    def other(self, node):
        """Statements that have no values."""
        words = Printer().statement(node, "").strip().split("\n")[0]
        self.line(f" = prim::{type(node).__name__}[{words}]()")

    # --------------------------------------------------------------------------- expressions
    def expr(self, node):
        """An expression; the name of its value."""
        if isinstance(node, tree.Name):
            return "%" + node.name
        step = getattr(self, "of_" + type(node).__name__.lower(), None)
        if step is not None:
            return step(node)
        return self.value(node.type, f"prim::{type(node).__name__}[{Printer().expr(node)}]()")

    def of_const(self, node):
        """A constant."""
        if isinstance(node.value, Tensor):
            return self.value(node.type, "prim::Constant[value=<Tensor>]()")
        shown = Printer().of_const(node)
        return self.value(node.type, f"prim::Constant[value={shown}]()")

    def of_get(self, node):
        """An attribute."""
        return self.value(node.type, f'prim::GetAttr[name="{node.name}"]({self.expr(node.object)})')

    def of_call(self, node):
        """A call: of an op, a method or a function."""
        target, args = node.target, [self.expr(a) for a in node.args]
        args += [f"{k}={self.expr(v)}" for k, v in node.kwargs.items()]
        inner = ", ".join(args)
        if isinstance(target, Compiled):
            return self.called(target, node, args)
        if isinstance(target, Make):
            return self.value(node.type, f"prim::CreateObject({inner})")
        space = "prim" if isinstance(target, tensors.Property) else "aten"
        return self.value(node.type, f"{space}::{target.script}({inner})")

    def called(self, target, node, args):
        """A call of compiled code; inlined, its statements."""
        function = target.function
        name = function.name.rpartition(".")[2]
        if not self.inlined or function.body is None or self.within > _DEPTH:
            what = "CallMethod" if isinstance(target, Method) else "CallFunction"
            return self.value(node.type, f'prim::{what}[name="{name}"]({", ".join(args)})')
        for param, arg in zip(function.params, args, strict=False):
            self.line(f"%{param.name} : {param.type} = prim::Store({arg})  # of {name}")
        self.within += 1
        last = function.body[-1]
        ends = isinstance(last, tree.Return)
        self.block(function.body[:-1] if ends else function.body)
        self.within -= 1
        return self.expr(last.value) if ends else self.value(UNKNOWN, "prim::Constant()")

    def of_sequence(self, node):
        """A list or tuple."""
        what = "ListConstruct" if node.kind == "list" else "TupleConstruct"
        items = ", ".join(self.expr(i) for i in node.items)
        return self.value(node.type, f"prim::{what}({items})")

    def of_mapping(self, node):
        """A dict."""
        pairs = (f"{self.expr(k)}, {self.expr(v)}" for k, v in zip(node.keys, node.values,
                                                                   strict=True))  # fmt: skip
        return self.value(node.type, f"prim::DictConstruct({', '.join(pairs)})")

    def of_item(self, node):
        """An item."""
        inner = f"{self.expr(node.object)}, {self.expr(node.index)}"
        return self.value(node.type, f"aten::__getitem__({inner})")

    def of_cut(self, node):
        """A slice."""
        parts = [None if p is None else self.expr(p) for p in (node.start, node.stop, node.step)]
        return self.value(
            INT, f"prim::slice({', '.join('None' if p is None else p for p in parts)})"
        )

    def of_unary(self, node):
        """An operator of one operand."""
        name = {"-": "neg", "not": "__not__", "~": "bitwise_not", "+": "positive"}[node.op]
        return self.value(node.type, f"aten::{name}({self.expr(node.value)})")

    def of_binary(self, node):
        """An operator of two operands."""
        name = _SYMBOLS[node.op]
        inner = f"{self.expr(node.left)}, {self.expr(node.right)}"
        return self.value(node.type, f"aten::{name}({inner})")

    of_compare = of_binary

    def of_logic(self, node):
        """``and``, ``or``."""
        items = ", ".join(self.expr(i) for i in node.items)
        return self.value(node.type, f"aten::__{node.op}__({items})")

    def of_cast(self, node):
        """A value with its type."""
        if node.kind == "uninitialized":
            return self.value(node.type, "prim::Uninitialized()")
        return self.value(node.type, f"prim::unchecked_cast({self.expr(node.value)})")
