"""Programs whose source is rewritten before they are traced: assertions become calls."""

from __future__ import annotations

import ast
import copy
import inspect
import textwrap
import types

from rushlight import nn
from rushlight.fx._symbolic_trace import Tracer
from rushlight.fx.graph import Graph


class AST_Rewriter(ast.NodeTransformer):  # noqa: N801 - PyTorch's name
    """Rewrites the source of functions: ``assert x, message`` becomes a call of
    ``rushlight._assert``, which is traced, and ``y: T = x`` becomes ``y = annotate(x, T)`` with
    :func:`rushlight.fx.annotate.annotate`.

    Subclasses rewrite more by a ``visit_NAME`` for a kind of :class:`ast.AST`.
    """

    def rewrite(self, fn):
        """A function of the rewritten source, with the globals, defaults and names of `fn`.

        Raises OSError where there is no source, ValueError for a function that is no ``def`` of its
        own, such as a lambda.
        """
        function = inspect.unwrap(getattr(fn, "__func__", fn))
        if function.__name__ == "<lambda>":
            raise ValueError(f"rewrite(): {function.__qualname__} is no `def` of its own")
        definition = _definition(textwrap.dedent(inspect.getsource(function)))
        definition.decorator_list = []
        definition = self.visit(definition)
        ast.increment_lineno(definition, function.__code__.co_firstlineno - 1)
        code = _compiled(definition, function.__code__)
        cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
        made = types.FunctionType(
            code, function.__globals__, function.__name__, function.__defaults__,
            tuple(cells[name] for name in code.co_freevars),
        )  # fmt: skip
        made.__kwdefaults__ = copy.copy(function.__kwdefaults__)
        made.__annotations__ = function.__annotations__
        made.__qualname__, made.__doc__ = function.__qualname__, function.__doc__
        return made

    def visit_Assert(self, node: ast.Assert) -> ast.AST:  # noqa: N802 - ast's names
        """``_assert(condition, message)``, with an empty message where there is none."""
        call = ast.Call(_named("rushlight._assert"), [node.test, node.msg or ast.Constant("")], [])
        return ast.copy_location(ast.Expr(call), node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:  # noqa: N802 - ast's names
        """``target = annotate(value, type)``; a declaration without a value stays."""
        if node.value is None:
            return node
        annotate = _named("rushlight.fx.annotate.annotate")
        call = ast.Call(annotate, [node.value, node.annotation], [])
        return ast.copy_location(ast.Assign([node.target], call), node)


def _definition(source):
    """The syntax tree of the first function of a source."""
    return next(n for n in ast.walk(ast.parse(source)) if isinstance(n, ast.FunctionDef))


def _named(path):
    """An expression for a function of Rushlight, which needs no name of the function's globals."""
    module, _, name = path.rpartition(".")
    return ast.parse(f"__import__({module!r}, fromlist=['']).{name}", mode="eval").body


def _compiled(definition, original):
    """The code of a definition inside of a function that has the variables it reads of others."""
    arguments = [ast.arg(name) for name in original.co_freevars]
    around = _definition("def around(): pass")
    around.args.args, around.body = arguments, [definition]
    tree = ast.fix_missing_locations(ast.Module([around], []))
    outer = _codes(compile(tree, original.co_filename, "exec"))[0]
    return _codes(outer)[0]


def _codes(code):
    return [each for each in code.co_consts if isinstance(each, types.CodeType)]


class RewritingTracer(Tracer):
    """A tracer of programs rewritten by :class:`AST_Rewriter`: of a module the ``forward`` of the
    root, not those of its submodules."""

    def trace(self, root, concrete_args: dict | None = None) -> Graph:
        """The graph of a module's rewritten ``forward`` or of a rewritten function."""
        return super().trace(_rewritten(root), concrete_args)


def _rewritten(root):
    if not isinstance(root, nn.Module):
        return AST_Rewriter().rewrite(root)
    made = copy.copy(root)
    forward = AST_Rewriter().rewrite(root.forward)
    made.__class__ = type("RewrittenModule", (type(root),), {"forward": forward})
    return made


__all__ = ["AST_Rewriter", "RewritingTracer"]
