"""What names mean in the source of an archive: ``torch.add`` is an op, ``__torch__.net.Net`` a
class of the archive, ``CONSTANTS.c0`` a tensor of it. Nothing else can be reached."""

from __future__ import annotations

import ast

from rushlight import devices
from rushlight.jit import futures, kinds, scalars, tensors, tree
from rushlight.jit.dispatch import dispatched, primitive
from rushlight.jit.forms.former import former
from rushlight.jit.frontend import calls
from rushlight.jit.frontend.values import Bound, Static
from rushlight.jit.kinds import BOOL, DEVICE, INT, NONE, STR, UNKNOWN, ClassType
from rushlight.jit.targets import Make

_TYPED = ("annotate", "unchecked_cast", "uninitialized")
_PLAIN = ("int", "float", "bool", "str", "complex", "range", "list", "getattr", "isinstance",
          "print", "fork", "dict", "len", "min", "max", "enumerate", "zip", "hasattr", "awaitable",
          "tuple", "all", "any", "abs", "round", "sorted", "sum", "ord", "chr", "hex", "oct", "bin",
          "divmod", "hash", "pow")  # fmt: skip
_ROOTS = ("torch", "ops", "__torch__", "CONSTANTS", "inf", "nan", "infj")


class Path(str):
    """A dotted name of an archive."""

    __slots__ = ()


class Archived:
    """The resolver for the code of one file of an archive."""

    rebinds = True  # variables are renamed for every value, types are as PyTorch checked them

    def __init__(self, library):
        self.library = library

    # --------------------------------------------------------------------------------- names
    def name(self, name, at):
        """A name that is no variable."""
        if name in ("inf", "nan"):
            return tree.Const(float(name), type=kinds.FLOAT, at=at)
        if name in _ROOTS or name in _TYPED or name in _PLAIN:
            return Static(Path(name), f"'{name}'")
        return None

    def attribute(self, value, name, at):
        """``path.name``."""
        path = Path(f"{value.value}.{name}")
        if value.value == "CONSTANTS":
            constant = self.library.constant(name)
            return tree.Const(constant, type=kinds.of_value(constant), at=at)
        if isinstance(value.value, ClassType):
            return self.enum_member(value.value, name, at)
        if value.value.startswith("__torch__") and self.library.has_class(path):
            kind = self.library.type(path)
            return Static(kind, f"class '{kind}'")
        return Static(path, f"'{path}'")

    def enum_member(self, kind, name, at):
        """A member of an enum, or ``__new__`` of a class."""
        if kind.kind == "enum" and name in kind.constants:
            return tree.Const(kind.python[name], type=kind, at=at)
        return Static(Bound(None, (kind, name)), f"'{kind}.{name}'")

    def constant(self, value, at):
        """A path as a value: there is none."""
        return None

    def property(self, value, name, at):
        """``tensor.name``, ``device.type``; None for methods."""
        if value.type == DEVICE:
            return primitive(name, [value], at)
        return tensors.property_of(value, name, at)

    def member(self, compiler, value, kind, name, at):
        """An attribute or method of an object."""
        if name in kind.attributes:
            return tree.Get(value, name, type=kind.attributes[name], at=at)
        if name in kind.constants:
            return tree.Const(kind.constants[name], type=kinds.of_value(kind.constants[name]),
                              at=at)  # fmt: skip
        if kind.kind == "enum" and name in ("name", "value"):
            found = STR if name == "name" else kind.attributes.get("__value__", UNKNOWN)
            return tree.Get(value, name, type=found, at=at)
        if kind.kind == "interface" or self.library.has_method(kind, name):
            return Bound(value, name)
        return None

    def method(self, compiler, kind, name, node):
        """A method, compiled."""
        found = self.library.method(kind, name)
        if found is None:
            compiler.fault(node, f"'{kind}' has no method '{name}'")
        return found

    def annotation(self, compiler, node):
        """A type as archives write it."""
        return self.library.annotation(node, compiler)

    def default(self, compiler, name, node):
        """A default: a constant, or a list of constants."""
        try:
            return ast.literal_eval(node)
        except ValueError:
            value = compiler.expr(node)
        if not isinstance(value, tree.Const):
            compiler.fault(node, f"the default of '{name}' is not a constant")
        return value.value

    def param_type(self, compiler, name):
        """The type of a parameter without annotation."""
        return None

    def unrolled(self, compiler, value, node):
        """Loops are unrolled before an archive is written."""
        return None

    def item(self, compiler, value, node):
        """``path[...]``."""
        return compiler.fault(node, f"{value} is not subscriptable")

    def object_item(self, compiler, value, node):
        """``object[index]``: the ``__getitem__`` of its class."""
        name = "__getitem__"
        call = ast.copy_location(ast.Call(func=node, args=[node.slice], keywords=[]), node)
        return compiler.call_object(Bound(value, name), call)

    def question(self, compiler, node):
        """Whether a call asks for a type."""
        return node.func.id if isinstance(node.func, ast.Name) else None

    def has(self, compiler, value, name):
        """``hasattr``."""
        kind = value.type
        return name in kind.attributes or name in kind.constants

    def tested_type(self, compiler, node):
        """A type in ``isinstance``."""
        return self.library.annotation(node, compiler)

    # --------------------------------------------------------------------------------- calls
    def call(self, compiler, callee, node, hint):
        """A call of something that is no value."""
        value = callee.value
        if isinstance(value, ClassType):
            if value.kind in ("tuple", "class"):
                return compiler.make(value, node)
            compiler.fault(node, f"{callee} cannot be called")
        if isinstance(value, Bound):
            return self.made(compiler, value.name, node)
        if value in _TYPED:
            return self.typed(compiler, value, node)
        at = compiler.at(node)
        if value == "getattr":
            owner, name = compiler.value(node.args[0]), ast.literal_eval(node.args[1])
            return compiler.attribute(owner, name, node)
        if value == "fork":
            return self.forked(compiler, node)
        if value.startswith("__torch__"):
            return compiler.call_function(self.library.function(value, compiler, node), node)
        args, kwargs = compiler.arguments(node)
        if value in _PLAIN:
            return self.builtin(compiler, value, args, node)
        root, _, name = value.partition(".")
        if root == "torch" and "." not in name:
            if name == "device":
                return tree.Call(DEVICE_OF, args, {}, type=DEVICE, at=at)
            if name == "wait" and args and args[0].type.name == "Future":
                return tree.Call(futures.WAIT, args, {}, type=args[0].type.args[0], at=at)
            return self.op(compiler, name, args, kwargs, node)
        if value.startswith("ops."):
            return self.namespaced(compiler, value, args, kwargs, node)
        return compiler.fault(node, f"unknown builtin {callee}")

    def forked(self, compiler, node):
        """``fork(function, ...)``, or ``fork(name)`` of a function inside of this one."""
        name = node.args[0]
        if isinstance(name, ast.Name):
            value = compiler.expr(name)
        else:
            inner = ast.Call(func=name, args=node.args[1:], keywords=node.keywords)
            value = compiler.expr(ast.copy_location(inner, node))
        return futures.forked(value, compiler.at(node))

    def made(self, compiler, pair, node):
        """``Class.__new__(Class)``."""
        kind, name = pair
        if name != "__new__" or kind.kind != "class":
            compiler.fault(node, f"'{kind}' has no static method '{name}'")
        return tree.Call(New(kind), [], {}, type=kind, at=compiler.at(node))

    def typed(self, compiler, name, node):
        """``annotate(T, x)``, ``unchecked_cast(T, x)``, ``uninitialized(T)``."""
        kind = self.library.annotation(node.args[0], compiler)
        at = compiler.at(node)
        if name == "uninitialized":
            return tree.Cast(name, tree.nothing(at), type=kind, at=at)
        value = compiler.expr(node.args[1], kind)
        return tree.Cast(name, value, type=kind, at=at)

    def builtin(self, compiler, name, args, node):
        """``int(x)``, ``range(n)`` and the like."""
        at = compiler.at(node)
        if name in ("int", "float", "bool", "str", "complex"):
            if name == "str" and len(args) != 1:
                compiler.fault(node, "str() takes one argument")
            return calls.convert(name, args[0], at)
        if name == "range":
            return calls.counted(args, at)
        if name == "list":
            return calls.listed(args[0], compiler, node)
        if name == "len":
            return calls.length(args[0], at)
        if name == "enumerate":
            return calls.enumerated(args[0], compiler, node)
        if name == "zip":
            return calls.zipped(args, compiler, node)
        if name == "print":
            return tree.Call(scalars.Scalar("print", print), args, {}, type=NONE, at=at)
        found = primitive(name, args, at) or dispatched(name, args, {}, at)
        if found is not None:
            return found
        return compiler.fault(node, f"'{name}' cannot be used here", NotImplementedError)

    def op(self, compiler, name, args, kwargs, node):
        """``torch.name(...)``: an op, or one of the language's functions."""
        at = compiler.at(node)
        found = former(name, self.library.version, args, kwargs, at)
        found = found or dispatched(name, args, kwargs, at)
        return found or self.missing(compiler, "torch.", name, (args, kwargs), node)

    def namespaced(self, compiler, value, args, kwargs, node):
        """``ops.namespace.name(...)``."""
        _, space, name = (value.split(".", 2) + [""])[:3]
        if space == "prim":
            found = primitive(name, args, compiler.at(node))
        elif space == "aten":
            return self.op(compiler, name, args, kwargs, node)
        else:
            found = self.library.custom(space, name, args, kwargs, compiler.at(node))
        return found or self.missing(compiler, f"ops.{space}.", name, (args, kwargs), node)

    def missing(self, compiler, space, name, given, node):
        """An op that is not here: the call raises if it is reached."""
        full = "aten::" + name if space == "torch." else f"{space.split('.')[1]}::{name}"
        advice = "save the program with other operations, or run the Python model instead"
        if "quantize" in full:
            advice = "quantized models cannot run here: export the float model"
        at = compiler.at(node)
        text = f"the op {full} is not available: {advice}:\n{compiler.source.highlight(at)}"

        def refuse(*args, **kwargs):
            raise NotImplementedError(text)

        target = scalars.Scalar(name, refuse, space)
        return tree.Call(target, *given, type=UNKNOWN, at=at)

    def tensor_method(self, compiler, bound, args, kwargs, node):
        """``tensor.name(...)``: the op of the name."""
        return self.op(compiler, bound.name, [bound.object, *args], kwargs, node)

    def raised(self, compiler, node):
        """``raise``: archives write a call instead."""
        return compiler.unsupported(node)


class New(Make):
    """``Class.__new__(Class)``: an object without attributes yet."""

    def emit(self, builder, call):
        """The class's ``__new__``."""
        kind = self.kind.python

        def new():
            return kind.__new__(kind)

        return builder.call(new, [])

    def written(self, printer, call):
        """As archives write it."""
        name = printer.type(self.kind)
        return f"{name}.__new__({name})"


DEVICE_OF = scalars.Scalar("device", devices.device, "torch.")
__all__ = ["BOOL", "INT", "Archived", "Path"]
