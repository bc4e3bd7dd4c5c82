"""TorchScript source of functions in the intermediate form, as archives hold it."""

from __future__ import annotations

import json
import math

from rushlight import devices
from rushlight.jit import runtime, tree
from rushlight.jit.kinds import ANY, FLOAT, INT, NONE, NUMBER, TENSOR, ClassType
from rushlight.tensor.tensor import Tensor

_INDENT = "  "
_REVERSED = {
    "+": "{right} + {left}", "*": "{right} * {left}", "-": "torch.rsub({right}, {left})",
    "/": "torch.mul(torch.reciprocal({right}), {left})", "<": "{right} > {left}",
    ">": "{right} < {left}", "<=": "{right} >= {left}", ">=": "{right} <= {left}",
    "==": "{right} == {left}", "!=": "{right} != {left}",
}  # fmt: skip


def source_of(function) -> str:
    """The source of one function; of a layer, what archives hold for it."""
    return source_with_constants(function)[0]


class ConstMap:
    """The tensors of a function's source by their names there: ``c0``, ``c1``, ..."""

    def __init__(self, tensors: list) -> None:
        self.__dict__.update({f"c{i}": tensor for i, tensor in enumerate(tensors)})


def source_with_constants(function) -> tuple[str, ConstMap]:
    """The source of one function, and what ``CONSTANTS`` is in it."""
    if function.body is None:
        from rushlight.jit.exporting import layer_form

        function = layer_form(function.params[0].type, function.name.rpartition(".")[2])
    printer = Printer()
    return printer.definition(function), ConstMap(printer.constants)


def text_literal(value) -> str:
    """A string between double quotes, in ASCII."""
    return json.dumps(value).replace("\\/", "/")


class Printer:
    """Writes functions; `constant` names a tensor that the source cannot hold, and `refused` makes
    the error for what archives cannot hold."""

    refused = RuntimeError
    exporting = False
    owner: ClassType | None = None  # the class whose methods are written

    def __init__(self):
        self.constants: list = []
        self.returns = NONE

    # ---------------------------------------------------------------------------- definitions
    def definition(self, function, indent="") -> str:
        """``def name(...) -> T:`` and the body."""
        self.returns = function.returns
        name = function.name.rpartition(".")[2]
        words = []
        for index, param in enumerate(function.params):
            own = index == 0 and isinstance(param.type, ClassType) and param.name == "self"
            kind = self.owner if own and self.owner is not None else param.type
            text = param.name if own and not indent else f"{param.name}: {self.type(kind)}"
            if param.has_default:
                text += "=" + self.value(param.default)
            words.append(text)
        gap = f",\n{indent}    "
        head = f"{indent}def {name}({gap.join(words)}) -> {self.type(function.returns)}:\n"
        return head + self.block(function.body, indent + _INDENT)

    def type(self, kind) -> str:
        """A type."""
        return str(kind)

    def function(self, function) -> str:
        """The name of a function."""
        return function.name

    def form(self, target, call):
        """What stands for the call of a public function; None where it is an op."""
        return None

    # ----------------------------------------------------------------------------- statements
    def block(self, statements, indent) -> str:
        """Statements, at least one."""
        lines = [self.statement(s, indent) for s in statements]
        return "".join(lines) or f"{indent}pass\n"

    def statement(self, node, indent) -> str:
        """One statement."""
        return getattr(self, "st_" + type(node).__name__.lower())(node, indent)

    def st_assign(self, node, indent):
        """``target = value``."""
        return f"{indent}{self.target(node.target)} = {self.expr(node.value)}\n"

    def st_augment(self, node, indent):
        """``target += value``."""
        return f"{indent}{self.target(node.target)} {node.op}= {self.expr(node.value)}\n"

    def st_run(self, node, indent):
        """An expression."""
        return f"{indent}{self.expr(node.value)}\n"

    def st_if(self, node, indent):
        """A branch."""
        text = f"{indent}if {self.expr(node.test)}:\n" + self.block(node.yes, indent + _INDENT)
        return text + f"{indent}else:\n" + self.block(node.no, indent + _INDENT)

    def st_while(self, node, indent):
        """A loop."""
        return f"{indent}while {self.expr(node.test)}:\n" + self.block(node.body, indent + _INDENT)

    def st_for(self, node, indent):
        """A loop over items."""
        head = f"{indent}for {self.target(node.target)} in {self.expr(node.iterable)}:\n"
        return head + self.block(node.body, indent + _INDENT)

    def st_return(self, node, indent):
        """The end of a function."""
        return f"{indent}return {self.expr(node.value)}\n"

    def st_raise(self, node, indent):
        """An exception: an op, and a return that is not reached."""
        message = '""' if node.message is None else self.expr(node.message)
        name = node.kind if "." in node.kind else f"builtins.{node.kind}"
        call = f"{indent}ops.prim.RaiseException({message}, {text_literal(name)})\n"
        if self.returns == NONE:
            return call + f"{indent}return None\n"
        return call + f"{indent}return uninitialized({self.type(self.returns)})\n"

    def st_assert(self, node, indent):
        """An assertion."""
        message = "" if node.message is None else f", {self.expr(node.message)}"
        return f"{indent}assert {self.expr(node.test)}{message}\n"

    def st_break(self, node, indent):
        """``break``."""
        return f"{indent}break\n"

    def st_continue(self, node, indent):
        """``continue``."""
        return f"{indent}continue\n"

    def st_pass(self, node, indent):
        """``pass``."""
        return f"{indent}pass\n"

    def st_delete(self, node, indent):
        """``del``."""
        return f"{indent}del {self.expr(node.target)}\n"

    def st_with(self, node, indent):
        """A block inside a context."""
        target = "" if node.target is None else f" as {self.target(node.target)}"
        head = f"{indent}with {self.expr(node.context)}{target}:\n"
        return head + self.block(node.body, indent + _INDENT)

    def target(self, node) -> str:
        """What is assigned to."""
        if isinstance(node, tree.Sequence):
            return ", ".join(self.target(item) for item in node.items) + ","
        return self.expr(node)

    # ---------------------------------------------------------------------------- expressions
    def expr(self, node) -> str:
        """An expression."""
        return getattr(self, "of_" + type(node).__name__.lower())(node)

    def operand(self, node) -> str:
        """An expression inside of another."""
        text = self.expr(node)
        plain = isinstance(node, tree.Name | tree.Sequence | tree.Mapping)
        return text if plain else f"({text})"

    def arguments(self, args, kwargs) -> str:
        """What stands between the brackets of a call."""
        words = [self.expr(a) for a in args]
        words += [f"{name}={self.expr(value)}" for name, value in kwargs.items()]
        return ", ".join(words)

    def of_const(self, node):
        """A constant."""
        if isinstance(node.type, ClassType) and node.type.kind == "enum":
            return f"{self.type(node.type)}.{node.value.name}"
        return self.value(node.value)

    def value(self, value) -> str:
        """A value as a literal."""
        if isinstance(value, bool) or value is None:
            return str(value)
        if isinstance(value, float):
            return self.number(value)
        if isinstance(value, int | complex):
            return repr(value)
        if isinstance(value, str):
            return text_literal(value)
        if isinstance(value, list):
            return "[" + ", ".join(map(self.value, value)) + "]"
        if isinstance(value, tuple):
            return "(" + "".join(self.value(v) + ", " for v in value) + ")"
        if isinstance(value, devices.device):
            return f'torch.device("{value}")'
        if isinstance(value, Tensor):
            return self.constant(value)
        if value is Ellipsis:
            return "..."
        number = runtime.number_of(value)
        if number is not None:
            return str(number)
        raise self.refused(f"a constant of type '{type(value).__name__}' cannot be written")

    @staticmethod
    def number(value) -> str:
        """A float."""
        if math.isfinite(value):
            return repr(value)
        return "nan" if math.isnan(value) else ("inf" if value > 0 else "-inf")

    def constant(self, value) -> str:
        """A tensor: ``CONSTANTS.c0``."""
        for index, known in enumerate(self.constants):
            if known is value:
                return f"CONSTANTS.c{index}"
        self.constants.append(value)
        return f"CONSTANTS.c{len(self.constants) - 1}"

    def of_name(self, node):
        """A variable."""
        return node.name

    def of_get(self, node):
        """An attribute."""
        if node.name.isidentifier():
            return f"{self.operand(node.object)}.{node.name}"
        return f"getattr({self.expr(node.object)}, {text_literal(node.name)})"

    def of_call(self, node):
        """A call, as its target writes it."""
        return node.target.written(self, node)

    def of_sequence(self, node):
        """A list or a tuple; an empty list, and one of several types, says its type."""
        words = [self.expr(item) for item in node.items]
        if node.kind == "list":
            if node.type.name == "List" and (not words or _is_mixed(node.type.args[0])):
                return f"annotate({self.type(node.type)}, [{', '.join(words)}])"
            return f"[{', '.join(words)}]"
        return "(" + "".join(word + ", " for word in words) + ")"

    def of_mapping(self, node):
        """A dict; an empty one, and one of several types, says its type."""
        pairs = zip(node.keys, node.values, strict=True)
        text = "{" + ", ".join(f"{self.expr(k)}: {self.expr(v)}" for k, v in pairs) + "}"
        if not node.keys or _is_mixed(node.type.args[1]):
            return f"annotate({self.type(node.type)}, {text})"
        return text

    def of_item(self, node):
        """``value[index]``."""
        index = node.index
        if isinstance(index, tree.Sequence) and index.kind == "tuple" and index.items:
            text = ", ".join(self.expr(item) for item in index.items)
        else:
            text = self.expr(index)
        return f"{self.operand(node.object)}[{text}]"

    def of_cut(self, node):
        """``start:stop:step``."""
        start, stop = ("" if p is None else self.expr(p) for p in (node.start, node.stop))
        step = "" if node.step is None else ":" + self.expr(node.step)
        return f"{start}:{stop}{step}"

    def of_unary(self, node):
        """An operator of one operand."""
        gap = " " if node.op == "not" else ""
        return f"{node.op}{gap}{self.operand(node.value)}"

    def of_binary(self, node):
        """An operator of two operands; a number before a tensor is written behind it."""
        if node.right.type == TENSOR and node.left.type in (INT, FLOAT, NUMBER):
            left, right = self.operand(node.left), self.operand(node.right)
            form = _REVERSED.get(node.op)
            if form is not None:
                return form.format(left=left, right=right)
        return f"{self.operand(node.left)} {node.op} {self.operand(node.right)}"

    of_compare = of_binary

    def of_logic(self, node):
        """``and``, ``or``."""
        return f" {node.op} ".join(self.operand(item) for item in node.items)

    def of_choose(self, node):
        """``yes if test else no``."""
        yes, test, no = map(self.operand, (node.yes, node.test, node.no))
        return f"{yes} if {test} else {no}"

    def of_comprehension(self, node):
        """A list or dict made in a loop."""
        value = self.expr(node.value)
        if node.kind == "dict":
            value = f"{self.expr(node.key)}: {value}"
        test = "" if node.test is None else f" if {self.expr(node.test)}"
        target = self.target(node.target)
        target = f"({target} )" if isinstance(node.target, tree.Sequence) else target
        inner = f"{value} for {target} in {self.expr(node.iterable)}{test}"
        return f"{{{inner}}}" if node.kind == "dict" else f"[{inner}]"

    def of_cast(self, node):
        """A value with its type."""
        if node.kind == "uninitialized":
            return f"uninitialized({self.type(node.type)})"
        if isinstance(node.value, tree.Sequence | tree.Mapping):
            if self.expr(node.value).startswith("annotate("):
                return self.expr(node.value)
        return f"{node.kind}({self.type(node.type)}, {self.expr(node.value)})"


def _is_mixed(kind):
    """Whether values of a type are of several."""
    return kind == ANY or kind.name in ("Union", "Optional")


__all__ = ["INT", "Printer", "source_of", "text_literal"]
