"""The graph of a function: its intermediate form, a tree, as operations on values.

A variable is the value that it has at a point; what branches and loops write to it goes out of
their blocks. Constants stand first, equal ones once, as PyTorch has them in compiled functions.
"""

from __future__ import annotations

from rushlight.jit import scalars, tensors, tree
from rushlight.jit.exporting import layer_form
from rushlight.jit.graphs.parts import CONSTANT, Block, Graph, Node, Value
from rushlight.jit.kinds import BOOL, INT, NONE, TENSOR, UNKNOWN
from rushlight.jit.printer import Printer
from rushlight.jit.targets import Compiled, Make, Method
from rushlight.library.aten_schemas import schemas_of
from rushlight.tensor.tensor import Tensor

_SYMBOLS = {symbol: name for name, symbol in scalars.SYMBOLS.items()} | {
    "@": "matmul", "is": "__is__", "is not": "__isnot__", "in": "__contains__",
    "not in": "__contains__",
}  # fmt: skip
_UNARY = {"-": "neg", "not": "__not__", "~": "bitwise_not", "+": "positive"}
_PROPERTIES = {"shape": "aten::size", "ndim": "aten::dim", "T": "aten::numpy_T"}
_DEPTH = 40  # calls inside of calls, below which they are not inlined
_ENDLESS = 2**63 - 1  # how often a loop runs that only its condition ends


def graph_of(function, inlined=False) -> Graph:
    """The graph of a compiled function; `inlined`, with what it calls in place of the calls."""
    return _Builder(inlined).build(function)


def _assigned(statements):
    """The names that statements assign to, in order."""
    for statement in statements:
        target = getattr(statement, "target", None)
        targets = target.items if isinstance(target, tree.Sequence) else [target]
        yield from (each.name for each in targets if isinstance(each, tree.Name))
        for field in ("body", "yes", "no"):
            yield from _assigned(getattr(statement, field, None) or ())


class _Builder:
    def __init__(self, inlined):
        self.inlined, self.graph = inlined, Graph()
        self.here, self.env, self.within = self.graph, {}, 0
        self.names, self.count, self.constants, self.at = {}, 0, {}, None

    def build(self, function):
        """The graph of a function."""
        if function.body is None:
            function = _in_torchscript(function, function.params)
        for param in function.params:
            value = self.env[param.name] = self.gives(self.graph._param, param.type)
            own = param is function.params[0] and str(param.type).startswith("__torch__")
            value.setDebugName(self.unique(param.name, int(not own)))
        if function.body is None:  # a layer that runs as it is
            result = self.node("prim::PythonOp", list(self.env.values()), function.returns)
        else:
            result = self.statements(function.body)
        self.graph._return.addInput(self.nothing() if result is None else result)
        self.graph._nodes[:0] = [value.node() for value in self.constants.values()]
        return self.graph

    # ------------------------------------------------------------------------------------ parts
    def gives(self, node, kind, name=""):
        """A new value of a node; its name made unique, or a number."""
        if name:
            name = self.unique(name)
        else:
            self.count += 1
            name = str(self.count)
        value = Value(node, name, kind)
        node._outputs.append(value)
        return value

    def unique(self, name, first=0):
        """A name with the number of its uses, from which on `first` says."""
        used = self.names[name] = self.names.get(name, -1) + 1
        return f"{name}.{used + first}" if used + first else name

    def added(self, kind, inputs, schema=None):
        """A new node here, without values."""
        node = Node(kind, inputs, schema, self.at)
        self.here._nodes.append(node)
        return node

    def node(self, kind, inputs, type, **attributes):  # noqa: A002 - the field's name
        """The value of a new node."""
        node = self.added(kind, inputs)
        node._attributes.update(attributes)
        return self.gives(node, type)

    def constant(self, value, type):  # noqa: A002 - the field's name
        """A constant, one for all that are equal."""
        key = id(value) if isinstance(value, Tensor) else (value.__class__, repr(value))
        found = self.constants.get(key)
        if found is None:
            node = Node(CONSTANT, [], at=self.at)
            node._attributes["value"] = value
            found = self.constants[key] = self.gives(node, type)
        return found

    def nothing(self):
        """The constant None."""
        return self.constant(None, NONE)

    def aten(self, name, inputs, type, keywords=None):  # noqa: A002 - the field's name
        """An op of ATen, all of whose arguments the node has: defaults are constants."""
        schema = _schema_for(name, inputs, keywords or {})
        if schema is not None:
            names = [argument.name for argument in schema.arguments]
            given = dict(zip(names, inputs, strict=False)) | (keywords or {})
            inputs = [
                self.listed(a, given[a.name]) if a.name in given else self.default(a)
                for a in schema.arguments
            ]
        else:
            inputs = [*inputs, *(keywords or {}).values()]
        return self.gives(self.added(f"aten::{name}", inputs, schema), type)

    def default(self, argument):
        """The default of a schema's argument, as constants."""
        value = argument.default
        if isinstance(value, list | tuple):
            items = [self.constant(each, INT) for each in value]
            return self.node("prim::ListConstruct", items, "List[int]")
        return self.listed(argument, self.plain(value))

    def plain(self, value):
        """A constant of Python's."""
        return self.constant(value, NONE if value is None else type(value).__name__)

    def listed(self, argument, value):
        """A value for an argument: one number for a list of some length is a list of it."""
        if "[" in argument.shape and str(value.type()).startswith("Tuple[int"):
            return self.node("prim::ListConstruct", list(value.node().inputs()), "List[int]")
        count = argument.shape.strip("[]?")
        if not count.isdigit() or str(value.type()) != "int":
            return value
        return self.node("prim::ListConstruct", [value] * int(count), "List[int]")

    def nested(self, node, make):
        """A block inside of a node, of what ``make()`` adds; it gives the values that go out."""
        outside, before = self.here, dict(self.env)
        block = Block()
        node._blocks.append(block)
        self.here = block
        outputs = make()
        self.here, inside, self.env = outside, self.env, before
        return block, outputs, inside

    # ------------------------------------------------------------------------------- statements
    def statements(self, statements):
        """Statements; the value that they return last, if they do."""
        for statement in statements:
            self.at = statement.at or self.at
            if isinstance(statement, tree.Return):
                return self.expr(statement.value)
            getattr(self, "st_" + type(statement).__name__.lower(), self.other)(statement)
        return None

    def body(self, statements):
        """Statements inside of a block: what they return early is a node of its own."""
        result = self.statements(statements)
        if result is not None:
            self.added("prim::ReturnStmt", [result])

    def assign(self, target, value):
        """Bind or write a value."""
        if isinstance(target, tree.Name):
            if value._name.isdigit() and value.node().kind() != CONSTANT:
                value.setDebugName(self.unique(target.name, 1))
            self.env[target.name] = value
        elif isinstance(target, tree.Sequence):
            node = self.added("prim::TupleUnpack", [value])
            for each in target.items:
                self.assign(each, self.gives(node, each.type))
        elif isinstance(target, tree.Get):
            node = self.added("prim::SetAttr", [self.expr(target.object), value])
            node._attributes["name"] = target.name
        elif _is_tensor(target.object):
            self.aten("copy_", [self.item(target), value], TENSOR)
        else:
            parts = [self.expr(target.object), self.expr(target.index), value]
            self.added("aten::_set_item", parts)

    def st_assign(self, node):
        """A value for a variable, several, an attribute or an item."""
        self.assign(node.target, self.expr(node.value))

    def st_augment(self, node):
        """``target op= value``; tensors are written to."""
        name = _SYMBOLS.get(node.op, node.op)
        inputs = [self.expr(node.target), self.expr(node.value)]
        if _is_tensor(node.target):
            name += "_"
        value = self.aten(name, inputs, node.target.type)
        if isinstance(node.target, tree.Name):
            self.assign(node.target, value)

    def st_run(self, node):
        """An expression."""
        self.expr(node.value)

    def st_if(self, node):
        """A branch with two blocks; what they assign goes out of it."""
        branch = self.added("prim::If", [self.expr(node.test)])
        (yes, _, left), (no, _, right) = (
            self.nested(branch, lambda part=part: self.body(part)) for part in (node.yes, node.no)
        )
        for name in dict.fromkeys(_assigned([node])):
            if name in left and name in right and left[name] is not right[name]:
                yes._return.addInput(left[name])
                no._return.addInput(right[name])
                self.env[name] = self.gives(branch, left[name].type(), name)

    def loop(self, trips, test, body, bind=None):
        """A loop: `trips` at most, while a test holds; `bind` sets what it counts."""
        first = self.constant(True, BOOL) if test is None else self.expr(test)
        carried = [name for name in dict.fromkeys(_assigned(body)) if name in self.env]
        loop = self.added("prim::Loop", [trips, first, *(self.env[name] for name in carried)])

        def inside():
            block = self.here
            index = self.gives(block._param, INT)
            for name in carried:
                self.env[name] = self.gives(block._param, self.env[name].type(), name)
            if bind is not None:
                bind(index)
            self.body(body)
            on = self.constant(True, BOOL) if test is None else self.expr(test)
            for value in (on, *(self.env[name] for name in carried)):
                block._return.addInput(value)

        self.nested(loop, inside)
        for name in carried:
            self.env[name] = self.gives(loop, self.env[name].type(), name)

    def st_while(self, node):
        """A loop with a condition."""
        self.loop(self.constant(_ENDLESS, INT), node.test, node.body)

    def st_for(self, node):
        """A loop over numbers or items."""
        trips, at = self.counted(node.iterable)
        self.loop(trips, None, node.body, lambda i: self.assign(node.target, at(i)))

    def counted(self, iterable):
        """How many items there are, and a function that gives one by its index."""
        if isinstance(iterable, tree.Call) and getattr(iterable.target, "script", "") == "range":
            bounds = [self.expr(a) for a in iterable.args]
            if len(bounds) == 1:
                return bounds[0], lambda i: i
            start, stop, step = (*bounds, self.constant(1, INT))[:3]
            trips = self.node("aten::__range_length", [start, stop, step], INT)
            return trips, lambda i: self.node("aten::__derive_index", [i, start, step], INT)
        items = self.expr(iterable)
        trips = self.node("aten::len", [items], INT)
        return trips, lambda i: self.node("aten::__getitem__", [items, i], UNKNOWN)

    def st_raise(self, node):
        """An exception."""
        message = self.constant("", "str") if node.message is None else self.expr(node.message)
        self.added("prim::RaiseException", [message, self.constant(str(node.kind), "str")])

    def st_assert(self, node):
        """A branch that raises unless the test holds."""
        branch = self.added("prim::If", [self.expr(node.test)])
        failed = tree.Raise("AssertionError", node.message)
        self.nested(branch, lambda: None)
        self.nested(branch, lambda: self.st_raise(failed))

    def st_with(self, node):
        """What runs inside of a context."""
        context = self.expr(node.context)
        entered = self.node("prim::Enter", [context], UNKNOWN)
        if node.target is not None:
            self.assign(node.target, entered)
        self.body(node.body)
        self.added("prim::Exit", [context])

    def st_pass(self, node):
        """Nothing."""

    def other(self, node):
        """Statements that have no values."""
        self.added(f"prim::{type(node).__name__}Stmt", [])

    # ------------------------------------------------------------------------------ expressions
    def expr(self, node):
        """The value of an expression."""
        if isinstance(node, tree.Name) and node.name in self.env:
            return self.env[node.name]
        step = getattr(self, "of_" + type(node).__name__.lower(), None)
        if step is not None:
            return step(node)
        return self.node(f"prim::{type(node).__name__}", [], node.type, name=Printer().expr(node))

    def of_const(self, node):
        """A constant."""
        return self.constant(node.value, node.type)

    def of_get(self, node):
        """An attribute."""
        read = self.added("prim::GetAttr", [self.expr(node.object)])
        read._attributes["name"] = node.name
        return self.gives(read, node.type, node.name)

    def of_call(self, node):
        """A call: of an op, a method or a function."""
        target, args = node.target, [self.expr(a) for a in node.args]
        keywords = {name: self.expr(value) for name, value in node.kwargs.items()}
        if isinstance(target, Compiled):
            return self.called(target, node, [*args, *keywords.values()])
        if isinstance(target, Make):
            return self.node("prim::CreateObject", [*args, *keywords.values()], node.type)
        if isinstance(target, tensors.Property):
            name = _PROPERTIES.get(target.script, f"prim::{target.script}")
            return self.node(name, args, node.type)
        return self.aten(target.script, args, node.type, keywords)

    def called(self, target, node, args):
        """A call of compiled code; inlined, its statements."""
        function = target.function
        name = function.name.rpartition(".")[2]
        if self.inlined and function.body is None:
            function = _in_torchscript(function, node.args)
        if not self.inlined or function.body is None or self.within > _DEPTH:
            what = "CallMethod" if isinstance(target, Method) else "CallFunction"
            return self.node(f"prim::{what}", args, node.type, name=name)
        outside = self.env
        self.env = {p.name: arg for p, arg in zip(function.params, args, strict=False)}
        for param in function.params[len(args) :]:
            self.env[param.name] = self.plain(param.default)
        self.within += 1
        result = self.statements(function.body)
        self.within -= 1
        self.env = outside
        return self.nothing() if result is None else result

    def of_sequence(self, node):
        """A list or tuple."""
        what = "ListConstruct" if node.kind == "list" else "TupleConstruct"
        return self.node(f"prim::{what}", [self.expr(i) for i in node.items], node.type)

    def of_mapping(self, node):
        """A dict."""
        pairs = zip(node.keys, node.values, strict=True)
        parts = [self.expr(each) for pair in pairs for each in pair]
        return self.node("prim::DictConstruct", parts, node.type)

    def of_item(self, node):
        """An item, or a part of a tensor."""
        if _is_tensor(node.object):
            return self.item(node)
        owner = self.expr(node.object)
        if isinstance(node.index, tree.Cut):
            return self.node("aten::slice", [owner, *self.ends(node.index)], node.type)
        return self.node("aten::__getitem__", [owner, self.expr(node.index)], node.type)

    def ends(self, cut):
        """Begin, end and step of a slice."""
        step = self.constant(1, INT) if cut.step is None else self.expr(cut.step)
        ends = [self.nothing() if e is None else self.expr(e) for e in (cut.start, cut.stop)]
        return [*ends, step]

    def item(self, node):
        """The part of a tensor: an op for each index, one for all that are tensors."""
        value, dim, taken = self.expr(node.object), 0, []
        parts = node.index.items if isinstance(node.index, tree.Sequence) else [node.index]
        for part in parts:
            at = self.constant(dim, INT)
            if isinstance(part, tree.Cut):
                value, dim = self.aten("slice", [value, at, *self.ends(part)], TENSOR), dim + 1
            elif isinstance(part, tree.Const) and part.value is None:
                value, dim = self.aten("unsqueeze", [value, at], TENSOR), dim + 1
            elif str(part.type) == "int":
                value = self.aten("select", [value, at, self.expr(part)], TENSOR)
            else:
                taken += [self.nothing()] * (dim - len(taken)) + [self.expr(part)]
                dim += 1
        if taken:
            indices = self.node("prim::ListConstruct", taken, "List[Optional[Tensor]]")
            value = self.aten("index", [value, indices], TENSOR)
        return value

    def of_cut(self, node):
        """A slice by itself."""
        return self.node("prim::slice", self.ends(node), node.type)

    def of_unary(self, node):
        """An operator of one operand."""
        return self.aten(_UNARY[node.op], [self.expr(node.value)], node.type)

    def of_binary(self, node):
        """An operator of two operands."""
        inputs = [self.expr(node.left), self.expr(node.right)]
        return self.aten(_SYMBOLS[node.op], inputs, node.type)

    of_compare = of_binary

    def chosen(self, test, yes, no, type):  # noqa: A002 - the field's name
        """A branch that gives one of two values."""
        branch = self.added("prim::If", [test])
        for make in (yes, no):
            block, value, _ = self.nested(branch, make)
            block._return.addInput(value)
        return self.gives(branch, type)

    def of_choose(self, node):
        """``yes if test else no``."""
        parts = (lambda: self.expr(node.yes)), (lambda: self.expr(node.no))
        return self.chosen(self.expr(node.test), *parts, node.type)

    def of_logic(self, node):
        """``and``, ``or``: the second is computed if the first does not decide."""
        value = self.expr(node.items[0])
        for item in node.items[1:]:
            parts = [
                lambda item=item: self.expr(item),
                lambda: self.constant(node.op == "or", BOOL),
            ]
            value = self.chosen(value, *(parts if node.op == "and" else parts[::-1]), node.type)
        return value

    def of_comprehension(self, node):
        """A list or dict of what a loop gives."""
        kind = "DictConstruct" if node.kind == "dict" else "ListConstruct"
        made = self.node(f"prim::{kind}", [], node.type)
        trips, at = self.counted(node.iterable)

        def add():
            given = [self.expr(e) for e in (node.key, node.value) if e is not None]
            self.added(
                "aten::_set_item" if node.key is not None else "aten::append", [made, *given]
            )

        def bind(index):
            self.assign(node.target, at(index))
            if node.test is None:
                return add()
            branch = self.added("prim::If", [self.expr(node.test)])
            self.nested(branch, add)
            self.nested(branch, lambda: None)

        before = dict(self.env)
        self.loop(trips, None, [], bind)
        self.env = before
        return made

    def of_cast(self, node):
        """A value with its type."""
        if node.kind == "uninitialized":
            return self.node("prim::Uninitialized", [], node.type)
        if node.kind == "annotate":
            return self.expr(node.value)
        return self.node("prim::unchecked_cast", [self.expr(node.value)], node.type)


def _in_torchscript(function, args):
    """A layer's method as archives have it; the layer's own where they cannot."""
    try:
        return layer_form(args[0].type, function.name.rpartition(".")[2])
    except RuntimeError:
        return function


def _is_tensor(node):
    return str(node.type) == "Tensor"


def _schema_for(name, inputs, keywords):
    """The first schema of an op that takes the values; None where none is known."""
    for schema in schemas_of(name).values():
        names = [argument.name for argument in schema.arguments]
        given = dict(zip(names, inputs, strict=False)) | keywords
        if len(inputs) > len(names) or not set(keywords) <= set(names):
            continue
        if all(_takes(a, given.get(a.name)) for a in schema.arguments):
            return schema
    return None


def _takes(argument, value):
    if value is None:
        return argument.has_default_value()
    kind, shape, given = argument.type, argument.shape, str(value.type())
    if given == "NoneType":
        return "?" in shape
    if (kind == "Tensor") != ("Tensor" in given) or (kind == "str") != ("str" in given):
        return False
    return "[" in shape or "[" not in given or given.startswith("Optional")
