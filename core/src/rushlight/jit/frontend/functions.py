"""One function: its parameters, its body, the type of what it returns."""

from __future__ import annotations

import ast

from rushlight.jit import kinds, tree
from rushlight.jit.frontend.blocks import Blocks
from rushlight.jit.frontend.calls import Calls
from rushlight.jit.frontend.conditions import Conditions
from rushlight.jit.frontend.containers import Containers
from rushlight.jit.frontend.expressions import Expressions
from rushlight.jit.frontend.scope import Scope
from rushlight.jit.frontend.statements import Statements
from rushlight.jit.kinds import NONE, TENSOR, UNKNOWN
from rushlight.jit.source import NotSupportedError, fault, place

_FORMS = {
    ast.ClassDef: "class definitions", ast.Try: "try blocks", ast.FunctionDef: "function "
    "definitions", ast.Import: "import statements", ast.Global: "global variables",
    ast.AsyncFunctionDef: "async function definitions", ast.Nonlocal: "nonlocal variables",
}  # fmt: skip


class FunctionCompiler(Statements, Blocks, Expressions, Conditions, Containers, Calls):
    """Compiles one ``def``."""

    implicit = True  # tensors become numbers where a number is asked for

    def __init__(self, definition, name, source, resolver, owner=None):
        self.definition, self.name, self.source = definition, name, source
        self.resolver, self.owner = resolver, owner
        self.scope, self.statics, self.annotated = Scope(), {}, set()
        self.loops, self.leaves, self.counter = [], [], 0
        self.returns, self.found = None, []
        self.narrow: dict = {}  # annotated values whose type is known better

    # -------------------------------------------------------------------------------- errors
    @staticmethod
    def at(node):
        """Where a node stands."""
        return place(node)

    def fault(self, node, message, kind=None):
        """Raise the error for a position."""
        error = fault(self.source, place(node) if node is not None else None, message)
        if kind is not None:
            error = kind(*error.args)
        raise error

    def unsupported(self, node):
        """Raise the error for a form that TorchScript does not have."""
        name = _FORMS.get(type(node), type(node).__name__)
        self.fault(node, f"{name} aren't supported", NotSupportedError)

    # ----------------------------------------------------------------------------- signature
    def function(self):
        """The function in the intermediate form."""
        params = self.params()
        if self.definition.returns is not None:
            self.returns = self.annotation(self.definition.returns)
        made = tree.Function(self.name, params, self.returns or UNKNOWN, [], self.source)
        body = self.block(self.definition.body)
        at = self.at(self.definition)
        if not self.scope.ended:
            if self.found and any(k != NONE for k in self.found) or (
                self.returns is not None and not kinds.may_be_none(self.returns)
            ):  # fmt: skip
                self.missing_return()
            body.append(tree.Return(tree.nothing(at), at=at))
            self.found.append(NONE)
        made.body, made.returns = body, self.returns or self.joined_returns()
        return made

    def missing_return(self):
        """A function that returns a value at some ends alone."""
        if not self.resolver.rebinds:
            self.fault(
                self.definition, "Function was not annotated as having type None, but does not "
                "return along all paths"
            )  # fmt: skip

    def params(self):
        """The parameters, in scope."""
        args = self.definition.args
        if args.vararg or args.kwarg:
            self.fault(self.definition, "Compiled functions can't take variable number of "
                       "arguments or use keyword-only arguments with defaults",
                       NotSupportedError)  # fmt: skip
        every = [*args.posonlyargs, *args.args]
        defaults = [None] * (len(every) - len(args.defaults)) + args.defaults
        rows = [(*row, False) for row in zip(every, defaults, strict=True)]
        rows += [(*row, True) for row in zip(args.kwonlyargs, args.kw_defaults, strict=True)]
        made = []
        for index, (arg, default, keyword_only) in enumerate(rows):
            if index == 0 and self.owner is not None:
                kind = self.owner
            else:
                kind = self.param_type(arg)
            made.append(self.param(arg, kind, default, keyword_only))
            self.scope.assign(arg.arg, kind)
            self.annotated.add(arg.arg)
        return made

    def param(self, arg, kind, default, keyword_only):
        """One parameter."""
        if default is None:
            return tree.Param(arg.arg, kind, keyword_only=keyword_only)
        value = self.resolver.default(self, arg.arg, default)
        if kind.name == "Tuple" and isinstance(value, list):
            value = tuple(value)
        return tree.Param(arg.arg, kind, value, True, keyword_only)

    def param_type(self, arg):
        """The type of a parameter: as annotated, else a tensor."""
        if arg.annotation is None:
            return self.resolver.param_type(self, arg.arg) or TENSOR
        return self.annotation(arg.annotation)

    def annotation(self, node):
        """A type from an annotation."""
        return self.resolver.annotation(self, node)

    # -------------------------------------------------------------------------------- returns
    def note_return(self, value, node):
        """Keep the type of a returned value, which must be the annotated one."""
        if self.returns is None:
            self.found.append(value.type)
        elif not kinds.fits(value.type, self.returns) and not self.convertible(value, self.returns):
            if not self.resolver.rebinds and not self.literal_of(value, self.returns):
                self.fault(
                    node, f"Return value was annotated as having type {self.shown(self.returns)} "
                    f"but is actually of type {self.shown(value.type)}"
                )  # fmt: skip

    def joined_returns(self):
        """The common type of everything returned."""
        kind = self.found[0] if self.found else NONE
        for other in self.found[1:]:
            joined = kinds.joined(kind, other)
            if joined is None:
                if self.resolver.rebinds:
                    return UNKNOWN
                self.fault(
                    self.definition, f"Previous return statement returned a value of type {kind} "
                    f"but this return statement returns a value of type {other}"
                )  # fmt: skip
            kind = joined
        return kind

    # ------------------------------------------------------------------------------ what differs
    def raised(self, node):
        """``raise``."""
        return self.resolver.raised(self, node)

    def unrolled(self, value, node):
        """The items of a loop over modules; None for a loop that runs."""
        return self.resolver.unrolled(self, value, node)

    def object_item(self, value, node):
        """``module[index]``."""
        return self.resolver.object_item(self, value, node)

    def can_declare(self, value, target):
        """Whether a method may give an object a new attribute: ``__init__`` of a class."""
        own = isinstance(value, tree.Name) and value.name == self.first_name()
        if not own or self.owner is None or self.owner.kind != "class":
            return False
        return self.name.endswith("__init__")

    def first_name(self):
        """The name of the first parameter."""
        args = self.definition.args.args
        return args[0].arg if args else ""
