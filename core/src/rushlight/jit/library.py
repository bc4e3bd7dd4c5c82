"""The code of an archive: its classes and functions by their qualified names, compiled at need."""

from __future__ import annotations

import ast
import warnings

from rushlight.jit import kinds, objects, scalars, tree
from rushlight.jit.archived import Archived, Path
from rushlight.jit.frontend.functions import FunctionCompiler
from rushlight.jit.kinds import ANY, UNKNOWN, ClassType, Type
from rushlight.jit.source import CompileError, Source
from rushlight.library.operators import lookup
from rushlight.serialization.archive import Damaged

_BASES = {"Module": "module", "NamedTuple": "tuple", "Enum": "enum", "Interface": "interface",
          "ModuleInterface": "interface"}  # fmt: skip
_LISTED = ("__parameters__", "__buffers__")
_DEPTH = 60  # functions that call each other while they are compiled


class Library:
    """Reads ``code/`` of an archive. `text` gives a file's source by its path, None if there is
    none; `constants` are the tensors of ``constants.pkl``, `version` is that of the operators."""

    def __init__(self, text, constants, version=10):
        self.text, self.constants, self.version = text, constants, version
        self.files: dict = {}
        self.types: dict = {}
        self.functions: dict = {}
        self.compiling: list = []
        self.resolver = Archived(self)

    # --------------------------------------------------------------------------------- source
    def file(self, path):
        """The definitions of a file by name, and its source."""
        if path not in self.files:
            text = self.text(path)
            if text is None:
                self.files[path] = ({}, None)
            else:
                source = Source(text, f"<archive>/code/{path}")
                found = {n.name: n for n in _parsed(text, path).body
                         if isinstance(n, ast.ClassDef | ast.FunctionDef)}  # fmt: skip
                self.files[path] = (found, source)
        return self.files[path]

    def definition(self, name):
        """The definition of a qualified name and its source; None if there is none."""
        path, _, last = name.rpartition(".")
        found, source = self.file(path.replace(".", "/") + ".py")
        return found.get(last), source

    def has_class(self, name):
        """Whether a qualified name is a class of the archive."""
        return name in self.types or isinstance(self.definition(name)[0], ast.ClassDef)

    # --------------------------------------------------------------------------------- types
    def type(self, name):
        """The class of a qualified name."""
        if name not in self.types:
            node, source = self.definition(name)
            if not isinstance(node, ast.ClassDef):
                raise Damaged(f"its code has no class {name[:80]!r}")
            bases = [b.id for b in node.bases if isinstance(b, ast.Name)]
            kind = ClassType(name, _BASES.get(bases[0], "class") if bases else "class")
            kind.scope = (self, node, source)
            self.types[name] = kind
            self.fill(kind, node, source)
            kind.python = objects.python_class(kind, self.methods_of(node))
        return self.types[name]

    def methods_of(self, node):
        """The names of a class's methods."""
        return [n.name for n in node.body if isinstance(n, ast.FunctionDef)]

    def fill(self, kind, node, source):
        """The attributes and constants of a class."""
        compiler = FunctionCompiler(None, kind.text, source, self.resolver)
        for part in node.body:
            if isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name):
                self.declare(kind, part.target.id, part, compiler)
            elif isinstance(part, ast.Assign) and len(part.targets) == 1:
                self.assigned(kind, part, compiler)
            elif isinstance(part, ast.FunctionDef) and kind.kind == "interface":
                kind.methods[part.name] = self.signature(kind, part, source)

    def declare(self, kind, name, node, compiler):
        """``name : Type``, or ``name : Final[Type] = value``."""
        found = self.annotation(node.annotation, compiler)
        if node.value is not None and kind.kind != "tuple":
            kind.constants[name] = self.resolver.default(compiler, name, node.value)
            return
        kind.attributes[name] = found
        if node.value is not None:
            kind.constants[name] = self.resolver.default(compiler, name, node.value)

    def assigned(self, kind, node, compiler):
        """``__parameters__ = [...]``, ``__annotations__["0"] = Type``, a member of an enum."""
        target = node.targets[0]
        if isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Constant):
            kind.attributes[target.slice.value] = self.annotation(node.value, compiler)
        elif isinstance(target, ast.Name) and target.id in _LISTED:
            kind.constants[target.id] = ast.literal_eval(node.value)
        elif isinstance(target, ast.Name) and kind.kind == "enum":
            kind.constants[target.id] = ast.literal_eval(node.value)

    def signature(self, kind, node, source):
        """A method without its body."""
        name = f"{kind}.{node.name}"
        compiler = FunctionCompiler(node, name, source, self.resolver, kind)
        params = compiler.params()
        returns = compiler.annotation(node.returns) if node.returns else kinds.NONE
        return tree.Function(name, params, returns, [], source)

    def annotation(self, node, compiler):
        """A type as it stands in source."""
        if isinstance(node, ast.Constant) and node.value is None:
            return kinds.NONE
        if isinstance(node, ast.Name):
            found = kinds.SIMPLE.get(node.id)
            if found is not None:
                return found
            if node.id in ("list", "dict", "tuple"):
                return _container(node.id)
        if isinstance(node, ast.Subscript | ast.Call):
            return self.generic(node, compiler)
        name = _dotted(node)
        if name is not None and name.startswith("__torch__.torch.classes"):
            compiler.fault(node, f"the class {name.removeprefix('__torch__.torch.')} is one of "
                           "C++, which programs here cannot have", NotImplementedError)  # fmt: skip
        if name is not None and name.startswith("__torch__."):
            if self.has_class(name):
                return self.type(name)
        return compiler.fault(node, f"unknown type name '{name or type(node).__name__}'")

    def generic(self, node, compiler):
        """``List[T]``, ``Dict[str, T]``, ``Tuple[()]``."""
        subscripted = isinstance(node, ast.Subscript)
        name = _dotted(node.value if subscripted else node.func)
        if name not in kinds.GENERIC:
            compiler.fault(node, f"unknown type constructor '{name}'")
        inner = node.slice if subscripted else ast.Tuple(elts=node.args)
        parts = inner.elts if isinstance(inner, ast.Tuple) else [inner]
        args = [self.annotation(part, compiler) for part in parts]
        if name == "Optional":
            return kinds.optional(args[0])
        if name == "Union":
            return kinds.union(args)
        return args[0] if name == "Final" else Type(name, *args)

    # ----------------------------------------------------------------------------- functions
    def function(self, name, compiler, node):
        """A function of the archive, compiled."""
        if name not in self.functions:
            definition, source = self.definition(name)
            if not isinstance(definition, ast.FunctionDef):
                compiler.fault(node, f"the archive has no function '{name}'")
            self.functions[name] = self.compiled(definition, name, source, None)
        return self.functions[name]

    def has_method(self, kind, name):
        """Whether a class of the archive has a method."""
        return name in self.methods_of(kind.scope[1])

    def method(self, kind, name):
        """A method of a class, compiled; None if there is none."""
        if name not in kind.methods:
            library, node, source = kind.scope
            found = [n for n in node.body if isinstance(n, ast.FunctionDef) and n.name == name]
            if not found:
                return None
            kind.methods[name] = library.compiled(found[0], f"{kind}.{name}", source, kind)
        return kind.methods[name]

    def compiled(self, definition, name, source, owner):
        """A definition in the intermediate form."""
        if name in self.compiling:
            raise CompileError(f"function '{name}' is called recursively. Recursive calls are not "
                               "supported")  # fmt: skip
        if len(self.compiling) > _DEPTH:
            raise CompileError(f"more than {_DEPTH} functions call one another")
        self.compiling.append(name)
        try:
            where = Source(source.text, source.filename, 1, name)
            return FunctionCompiler(definition, name, where, self.resolver, owner).function()
        finally:
            self.compiling.pop()

    # -------------------------------------------------------------------------------- values
    def constant(self, name):
        """``CONSTANTS.c0``."""
        number = name[1:]
        if name[:1] != "c" or not number.isdecimal() or int(number) >= len(self.constants):
            raise Damaged(f"its code uses the constant {name[:40]!r}, there are "
                          f"{len(self.constants)}")  # fmt: skip
        return self.constants[int(number)]

    def custom(self, space, name, args, kwargs, at):
        """An operator of a namespace that this process has defined; None if it has not."""
        packet = lookup(space).__dict__.get("_packets", {}).get(name)
        if packet is None:
            return None
        target = scalars.Scalar(name, packet, f"ops.{space}.")
        return tree.Call(target, args, kwargs, type=UNKNOWN, at=at)


def _parsed(text, path):
    try:
        with warnings.catch_warnings():  # what Python thinks of literals is nobody's concern here
            warnings.simplefilter("ignore", SyntaxWarning)
            return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = getattr(error, "lineno", None)
        where = f", line {line}" if line else ""
        raise Damaged(f"code/{path}{where} is no source: {error}"[:300]) from None


def _dotted(node):
    """``a.b.c`` as text; None for anything else."""
    parts: list = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return None
    return ".".join([node.id, *reversed(parts)])


def _container(name):
    return {"list": Type("List", UNKNOWN), "dict": Type("Dict", UNKNOWN, UNKNOWN),
            "tuple": Type("Tuple", UNKNOWN)}[name]  # fmt: skip


__all__ = ["ANY", "Library", "Path"]
