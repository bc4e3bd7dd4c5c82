"""What has been compiled from Python: functions and classes by their objects, once each."""

from __future__ import annotations

import ast
import enum
import inspect
import re
import textwrap
import typing

from rushlight.jit import dataclass_methods, kinds, tree
from rushlight.jit.frontend.functions import FunctionCompiler
from rushlight.jit.hints import Unreadable, type_of
from rushlight.jit.kinds import ClassType
from rushlight.jit.marks import OVERLOADED
from rushlight.jit.python_names import PythonNames
from rushlight.jit.source import CompileError, NotSupportedError, Source
from rushlight.tensor.homes import home_of

_UNUSED = (
    "raise NotImplementedError('{}: it is marked with @unused, and compiled code has called it')"
)


class Unit:
    """The compiled functions and classes of this process."""

    def __init__(self):
        self.functions: dict = {}  # function -> Function
        self.classes: dict = {}  # class -> ClassType
        self.marked: dict = {}  # classes given to `script` and `interface`
        self.names: dict = {}
        self.compiling: list = []

    # ------------------------------------------------------------------------------- names
    def name(self, owner) -> str:
        """A qualified name of its own for a function or a class."""
        module = owner.__module__ or "__main__"
        if isinstance(owner, type) and issubclass(owner, tuple):  # PyTorch's classes in archives
            module = re.sub("^rushlight[.]", "torch.", module)
        qualified = owner.__qualname__.replace("<locals>.", "").replace("<", "").replace(">", "")
        base = "__torch__." + ("" if module == "__main__" else f"{_cleaned(module)}.") + qualified
        count = self.names.get(base, -1)
        self.names[base] = count + 1
        if count < 0:
            return base
        head, _, last = base.rpartition(".")
        return f"{head}.___torch_mangle_{count}.{last}"

    # --------------------------------------------------------------------------- functions
    def function(self, python) -> tree.Function:
        """A function of Python, compiled."""
        if python not in self.functions:
            self.functions[python] = self.compiled(python, self.name(python), None)
        return self.functions[python]

    def compiled(self, python, name, owner) -> tree.Function:
        """A function or method in the intermediate form."""
        if python in self.compiling:
            raise CompileError(
                f"function '{python.__name__}' is called recursively. Recursive calls are not "
                "supported"
            )
        if (python.__module__, python.__qualname__) in OVERLOADED:
            raise NotSupportedError(
                f"the overloads of {python.__qualname__} cannot be compiled: annotate one function "
                "with Union or Optional, and look at the types with isinstance"
            )
        definition, source = definition_of(python)
        resolver = PythonNames(self, python, owner)
        compiler = FunctionCompiler(definition, name, source, resolver, owner)
        if getattr(python, "_jit_mark", None) == "unused":
            definition.body = ast.parse(_UNUSED.format(python.__name__)).body
            for node in ast.walk(definition.body[0]):
                ast.copy_location(node, definition)
            compiler.returns = kinds.TENSOR
        self.compiling.append(python)
        try:
            return compiler.function()
        finally:
            self.compiling.pop()

    # ----------------------------------------------------------------------------- classes
    def is_script_class(self, kind) -> bool:
        """Whether a class was given to `script` or `interface`."""
        return kind in self.marked

    def class_type(self, python) -> ClassType | None:
        """The type of a class: of an enum, a named tuple, or one that can be compiled; None for
        others."""
        if python not in self.classes:
            if issubclass(python, enum.Enum):
                self.enum(python)
            elif issubclass(python, tuple) and hasattr(python, "_fields"):
                self.named_tuple(python)
            elif self.marked.get(python) == "interface":
                self.interface(python)
            elif _can_be_class(python):
                self.script_class(python)
            else:
                return None
        return self.classes[python]

    def _keep(self, python, what):
        kind = ClassType(self.name(python), what)
        kind.python, kind.scope = python, (self, None, None)
        self.classes[python] = kind
        return kind

    def enum(self, python):
        """An enum."""
        kind = self._keep(python, "enum")
        kind.constants = {member.name: member.value for member in python}
        found = {kinds.of_value(v) for v in kind.constants.values()}
        if len(found) != 1:
            raise NotSupportedError(f"the values of the enum {python.__name__} have several types")
        kind.attributes["__value__"] = found.pop()

    def named_tuple(self, python):
        """A named tuple: the fields' types, tensors where they say none."""
        kind = self._keep(python, "tuple")
        # a class that adds methods to a named tuple has its fields' types there
        hints = {
            name: hint for part in reversed(python.__mro__) for name, hint in _hints(part).items()
        }
        for field in python._fields:
            kind.attributes[field] = type_of(hints[field], self) if field in hints else kinds.TENSOR
        kind.constants = dict(python._field_defaults)

    def script_class(self, python):
        """A class: ``__init__`` first, which says what attributes there are."""
        kind = self._keep(python, "class")
        for name, hint in _hints(python).items():
            kind.attributes[name] = type_of(hint, self)
        if "__init__" in vars(python):
            self.method(kind, "__init__")

    def interface(self, python):
        """An interface: its methods' signatures."""
        kind = self._keep(python, "interface")
        for name, method in vars(python).items():
            if inspect.isfunction(method):
                definition, source = definition_of(method)
                resolver = PythonNames(self, method)
                compiler = FunctionCompiler(definition, f"{kind}.{name}", source, resolver, kind)
                params = compiler.params()
                node = definition.returns
                returns = kinds.TENSOR if node is None else compiler.annotation(node)
                kind.methods[name] = tree.Function(f"{kind}.{name}", params, returns, [], source)

    def method(self, kind, name):
        """A method of a class, compiled; None if there is none."""
        if name not in kind.methods:
            python = inspect.getattr_static(kind.python, name, None)
            if isinstance(python, staticmethod):
                return self.function(python.__func__)
            if not inspect.isfunction(python):
                return None
            if dataclass_methods.is_written(kind.python, name):
                python = dataclass_methods.with_source(kind.python, name)
                if python is None:
                    return None
            kind.methods[name] = self.compiled(python, f"{kind}.{name}", kind)
        return kind.methods[name]


def _can_be_class(python):
    if python.__module__ in ("builtins", "typing", "collections"):
        return False
    if home_of(python).startswith("rushlight."):
        return getattr(python, "_jit_class", False)
    from rushlight.nn.module import Module

    return not issubclass(python, Module | BaseException)


def _hints(python):
    try:
        found = inspect.get_annotations(python, eval_str=True)
        if any(isinstance(hint, typing.ForwardRef) for hint in found.values()):
            return typing.get_type_hints(python)  # NamedTuple wraps annotations that are text
        return found
    except (NameError, SyntaxError):
        return {}


def _cleaned(module):
    """A module's name as a path of an archive."""
    return ".".join(p if p.isidentifier() else "_" + p for p in module.split("."))


def definition_of(python):
    """The syntax tree of a function and its source, with the lines of its file."""
    try:
        lines, first = inspect.getsourcelines(python)
        filename = inspect.getsourcefile(python) or "<unknown>"
    except (OSError, TypeError) as error:
        raise OSError(
            f"Can't get source for {python}. TorchScript requires source access in order to carry "
            "out compilation, make sure original .py files are available."
        ) from error
    text = "".join(lines)
    source = Source(text, filename, first, python.__name__)
    indented = lines[0][:1].isspace()
    body = "if 1:\n" + text if indented else text
    try:
        parsed = ast.parse(body, type_comments=True).body[0]
    except SyntaxError:
        parsed = ast.parse(textwrap.dedent(text)).body[0]
        indented = False
    found = parsed.body[0] if indented and isinstance(parsed, ast.If) else parsed
    if not isinstance(found, ast.FunctionDef):
        raise NotSupportedError(
            f"\nlambdas and other expressions cannot be compiled, write a def:\n"
            f'  File "{filename}", line {first}\n{text}'
        )
    ast.increment_lineno(found, first - 1 - indented)
    return found, source


UNIT = Unit()
__all__ = ["UNIT", "Unit", "Unreadable", "definition_of"]
