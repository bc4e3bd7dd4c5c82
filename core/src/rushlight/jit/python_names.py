"""What names mean in a function of Python: its closure, its module, Python's builtins.

Public functions of Rushlight are ops; other functions are compiled with the one that calls them.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import enum
import functools
import inspect
import types

from rushlight import dtypes
from rushlight.jit import hints, kinds, optional_results, scalars, tensors, tree
from rushlight.jit.builtin_calls import CALLS
from rushlight.jit.dispatch import AtenName, dispatched
from rushlight.jit.forms import packed
from rushlight.jit.frontend.values import Bound, Static
from rushlight.jit.kinds import INT, STR, TENSOR, UNKNOWN, ClassType
from rushlight.jit.module_names import ModuleNames
from rushlight.jit.source import CompileError
from rushlight.jit.targets import Ignored
from rushlight.tensor.memory_format import memory_format
from rushlight.tensor.tensor import Tensor

# Callables without a body that could be compiled: calls of them stay in Python.
_OPAQUE = (functools.partial, type(functools.cache(len)))

_PLAIN = (bool, int, float, str, complex, type(None))


# Methods that have as many results in TorchScript as the operator, not as many as asked for.
_OPERATORS = frozenset(["unique_consecutive"])


_MATHEMATICS = {"remainder": "mathremainder"}  # where ATen has the name for another function


class PythonNames(ModuleNames):
    """The resolver for one function of Python; `owner` is the class whose method it is."""

    rebinds = False

    def __init__(self, unit, python, owner=None):
        self.unit, self.python = unit, python
        self.owner = None if owner is None else owner.python
        self.closure = {}
        for name, cell in zip(python.__code__.co_freevars, python.__closure__ or (), strict=True):
            try:
                self.closure[name] = cell.cell_contents
            except ValueError:  # not assigned yet
                continue

    # --------------------------------------------------------------------------------- names
    def find(self, name):
        """The object of a name; KeyError if there is none."""
        if name in self.closure:
            return self.closure[name]
        if name in self.python.__globals__:
            return self.python.__globals__[name]
        if self.owner is not None and self.owner.__name__ == name:
            return self.owner  # while its methods are compiled, its module has it not yet
        return vars(builtins)[name]

    def name(self, name, at):
        """A name that is no variable."""
        try:
            return self.wrapped(self.find(name), name, at)
        except KeyError:
            return None

    def wrapped(self, value, label, at):
        """An object of Python as a value of the compiler."""
        if isinstance(value, AtenName):
            return Static(value, f"'aten.{value}'")
        if isinstance(value, enum.Enum):
            return tree.Const(value, type=self.unit.class_type(type(value)), at=at)
        if isinstance(value, _PLAIN):
            return tree.Const(value, type=kinds.of_value(value), at=at)
        if isinstance(value, dtypes.dtype | memory_format):
            return tree.Const(value, type=INT, at=at)
        return Static(value, f"'{label}'")

    def constant(self, value, at):
        """An object as a value of the program: tuples of constants; None for others."""
        found = value.value
        if isinstance(found, tuple):
            items = [self.wrapped(v, "item", at) for v in found]
            if all(isinstance(i, tree.Expr) for i in items):
                kind = kinds.Type("Tuple", *(i.type for i in items))
                return tree.Sequence("tuple", items, type=kind, at=at)
        kind = kinds.of_value(found)
        if kind == kinds.DEVICE or type(found).__name__ == "layout":
            return tree.Const(found, type=kind, at=at)
        return None

    def attribute(self, value, name, at):
        """``object.name``."""
        try:
            return self.wrapped(getattr(value.value, name), f"{value.label.strip(chr(39))}.{name}",
                                at)  # fmt: skip
        except AttributeError:
            return None

    def property(self, value, name, at):
        """``tensor.name``, ``device.name``: None for methods."""
        if value.type == kinds.DEVICE:
            found = {"type": STR, "index": kinds.optional(INT)}.get(name)
            made = tree.Call(tensors.Property(name), [value], {}, type=found, at=at)
            return None if found is None else made
        if name == "dtype":
            target = tensors.Property("dtype")
            return tree.Call(target, [value], {}, type=INT, at=at)
        return tensors.property_of(value, name, at)

    # ----------------------------------------------------------------------------- functions
    def annotation(self, compiler, node):
        """A type from an annotation in source."""
        try:
            found = self.evaluated(compiler, node)
            if found is None:
                found = hints.value_of(node, self.find)
            return hints.type_of(found, self.unit)
        except KeyError as error:
            message = f"Unknown type name '{error.args[0]}'"
        except (hints.Unreadable, AttributeError, TypeError) as error:
            message = str(error)
        return compiler.fault(node, message)

    def evaluated(self, compiler, node):
        """The annotation of a parameter or of the result as Python evaluated it, which may have
        names of a function around this one; None for other annotations, and for text."""
        definition = compiler.definition
        if definition is None:
            return None
        args = definition.args
        every = [*args.posonlyargs, *args.args, *args.kwonlyargs]
        found = next((a.arg for a in every if a.annotation is node), None)
        if found is None and definition.returns is node:
            found = "return"
        value = inspect.get_annotations(self.python).get(found)
        return None if isinstance(value, str) else value

    def param_type(self, compiler, name):
        """The type of a parameter without annotation."""
        return None

    def default(self, compiler, name, node):
        """The default of a parameter, as Python has it."""
        value = inspect.signature(self.python).parameters[name].default
        return list(value) if isinstance(value, tuple) and kinds.of_value(
            list(value)) != UNKNOWN and value else value  # fmt: skip

    def question(self, compiler, node):
        """Whether a call asks for a type: "isinstance" or "hasattr"."""
        root = node.func
        while isinstance(root, ast.Attribute):
            root = root.value
        if not isinstance(root, ast.Name) or root.id in compiler.scope.known:
            return None
        try:
            found = hints.value_of(node.func, self.find)
        except (KeyError, AttributeError, hints.Unreadable):
            return None
        from rushlight.jit import marks

        if found in (isinstance, marks.isinstance):
            return "isinstance"
        return "hasattr" if found is hasattr else None

    def tested_type(self, compiler, node):
        """A type in ``isinstance``; containers may stand without what they contain."""
        try:
            found = hints.value_of(node, self.find)
        except (KeyError, hints.Unreadable):
            return compiler.fault(node, f"'{ast.unparse(node)}' is no type")
        bare = {list: ("List", 1), tuple: ("Tuple", 0), dict: ("Dict", 2)}.get(found)
        if bare is not None:
            name, count = bare
            return kinds.Type(name, *([UNKNOWN] * count or [UNKNOWN]))
        return self.annotation(compiler, node)

    def raised(self, compiler, node):
        """``raise Kind(message)``."""
        at = compiler.at(node)
        if node.exc is None:
            compiler.fault(node, "a raise needs an exception")
        call = node.exc
        callee, args = (call.func, call.args) if isinstance(call, ast.Call) else (call, [])
        value = compiler.value(callee)
        kind = value.value if isinstance(value, Static) else None
        if not (isinstance(kind, type) and issubclass(kind, BaseException)):
            compiler.fault(node, "only exceptions can be raised")
        parts = [compiler.expr(arg) for arg in args]
        message = parts[0] if len(parts) == 1 else None
        if len(parts) > 1:
            form = tree.Const(", ".join(["{}"] * len(parts)), type=STR, at=at)
            message = tree.Call(scalars.FORMAT, [form, *parts], {}, type=STR, at=at)
        name = f"{kind.__module__}.{kind.__qualname__}"
        return tree.Raise(name, message, at=at)

    # --------------------------------------------------------------------------------- calls
    def call(self, compiler, callee, node, hint):
        """A call of an object of Python."""
        value = callee.value
        special = _special(value)
        if special is not None:
            return special(compiler, node, hint)
        if isinstance(value, Bound):
            return compiler.call_method(value, node)
        if isinstance(value, AtenName):
            args, kwargs = compiler.arguments(node)
            return dispatched(str(value), args, kwargs, compiler.at(node))
        form = self.packed_form(value)
        if form is not None:
            return compiler.call_function(self.unit.function(form), node)
        if isinstance(value, type):
            return self.made(compiler, value, node)
        function = getattr(value, "function", None)
        if isinstance(function, tree.Function):
            return compiler.call_function(function, node)
        if not callable(value):
            compiler.fault(node, f"{callee} cannot be called")
        if is_public(value):
            return self.public(compiler, value, node)
        if getattr(value, "__module__", None) == "math":
            return self.mathematics(compiler, value, node)
        return self.own_function(compiler, value, node)

    def packed_form(self, value):
        """What stands in programs for a function of packed sequences; None for other objects."""
        if getattr(value, "__module__", None) != "rushlight.nn.utils.rnn":
            return None
        if value is packed.PackedSequence:
            inside = self.python.__globals__ is vars(packed)
            return None if inside else packed.packed_sequence
        return packed.FUNCTIONS.get(value)

    def own_function(self, compiler, value, node):
        """A function of the user's, compiled, or left to Python."""
        value = inspect.unwrap(value) if hasattr(value, "_jit_unwrapped") else value
        if getattr(value, "_jit_mark", None) == "ignored" or isinstance(value, _OPAQUE):
            return self.ignored(compiler, value, node)
        if not isinstance(value, types.FunctionType):
            compiler.fault(
                node, f"Python builtin {value!r} is currently not supported in Torchscript"
            )  # fmt: skip
        return compiler.call_function(self.compiled(compiler, value, node), node)

    def compiled(self, compiler, value, node):
        """A function that is called, compiled; its errors say from where it is called."""
        if value in self.unit.compiling:
            compiler.fault(node, f"function '{value.__name__}' is called recursively. Recursive "
                           "calls are not supported")  # fmt: skip
        with self.called_from(compiler, value, node):
            return self.unit.function(value)

    @contextlib.contextmanager
    def called_from(self, compiler, value, node):
        """Errors of what is compiled inside say from where it is called."""
        try:
            yield
        except CompileError as error:
            where = compiler.source.highlight(compiler.at(node))
            raise type(error)(
                f"{error}'{value.__name__}' is being compiled since it was called from "
                f"'{compiler.source.function}'\n{where}\n"
            ) from None

    def ignored(self, compiler, value, node, owner=()):
        """A call that stays in Python."""
        args, kwargs = compiler.arguments(node)
        returns, function = TENSOR, value
        while isinstance(function, functools.partial):
            function = function.func
        hint = inspect.get_annotations(function, eval_str=True).get("return", Tensor)
        try:
            returns = hints.type_of(hint, self.unit)
        except hints.Unreadable as error:
            compiler.fault(node, str(error))
        target = Ignored(value, getattr(value, "__name__", "<python_value>"))
        return tree.Call(
            target, [*owner, *args], kwargs, type=returns, at=compiler.at(node)
        )  # fmt: skip

    def made(self, compiler, value, node):
        """An object of a class."""
        if issubclass(value, BaseException):
            compiler.fault(node, "exceptions can be raised, not kept")
        kind = self.unit.class_type(value)
        if kind is None:
            compiler.fault(node, f"objects of the class '{value.__name__}' cannot be made")
        if kind.kind == "enum":
            compiler.fault(node, "members of an enum are named, not made")
        return compiler.make(kind, node)

    def public(self, compiler, value, node):
        """A public function of Rushlight: an op."""
        args, kwargs = compiler.arguments(node)
        name = getattr(getattr(value, "op", None), "name", value.__name__)
        kind = optional_results.result_of(value, args, kwargs)
        if kind is None:
            kind = tensors.result(name, args, kwargs)
        target = tensors.Public(name, value)
        return tree.Call(target, args, kwargs, type=kind, at=compiler.at(node))

    def mathematics(self, compiler, value, node):
        """A function of `math`."""
        args, kwargs = compiler.arguments(node)
        name = _MATHEMATICS.get(value.__name__, value.__name__)
        if name not in scalars.FUNCTIONS:
            compiler.fault(node, f"math.{name} is not available")
        kind = scalars.result(name, [a.type for a in args])
        target = scalars.Scalar(name, value, "torch.")
        return tree.Call(target, args, kwargs, type=kind, at=compiler.at(node))

    def tensor_method(self, compiler, bound, args, kwargs, node):
        """A method of a tensor: an op."""
        name = bound.name
        if not callable(getattr(Tensor, name, None)):
            compiler.fault(node, f"'Tensor' object has no attribute or method '{name}'")
        kind = tensors.result(name, [bound.object, *args], kwargs)
        own = name in _OPERATORS
        target = tensors.Aten(name, written="method") if own else tensors.OnTensor(name)
        return tree.Call(target, [bound.object, *args], kwargs, type=kind, at=compiler.at(node))


def is_public(value):
    """Whether a function is one of Rushlight's own, outside of this package."""
    if hasattr(value, "op"):
        return True
    module = getattr(value, "__module__", None) or ""
    return module.startswith("rushlight.") and not module.startswith("rushlight.jit")


def _special(value):
    """What compiles calls of an object in a way of its own, or None."""
    try:
        return CALLS.get(value)
    except TypeError:  # without a hash
        return None


__all__ = ["ClassType", "PythonNames", "is_public"]
