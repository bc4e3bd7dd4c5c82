"""Which names of PyTorch's packages a Python file uses, and where; read from its syntax tree."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from rushlight.compat.paths import PACKAGES

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)


@dataclass(frozen=True)
class Use:
    """One use of a full name such as ``torch.nn.Linear``; `kind` is import, name or star."""

    name: str
    line: int
    kind: str = "name"


class _Scope:
    """Names bound in a module, class or function: to one of PyTorch's, or (None) to others."""

    def __init__(self, parent: _Scope | None, is_class: bool = False):
        self.parent, self.is_class = parent, is_class
        self.bound: dict[str, str | None] = {}

    def find(self, name: str) -> str | None:
        """The full name behind a name, as it is seen from here."""
        scope: _Scope | None = self
        while scope is not None:
            # Names of a class are not seen in its methods.
            if name in scope.bound and (scope is self or not scope.is_class):
                return scope.bound[name]
            scope = scope.parent
        return None


def _is_pytorch(name: str | None) -> bool:
    return name is not None and name.partition(".")[0] in PACKAGES


def _own_nodes(body: list[ast.AST]) -> Iterator[ast.AST]:
    """The nodes of a scope without those of the scopes inside it (whose heads are given)."""
    waiting = list(body)
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, _SCOPES):
            waiting.extend(ast.iter_child_nodes(node))


class _Reader(ast.NodeVisitor):
    """Walks a file with its scopes; collects uses."""

    def __init__(self):
        self.scope = _Scope(None)
        self.uses: list[Use] = []

    # -- scopes ----------------------------------------------------------------------------------

    def enter(self, body: list[ast.AST], arguments: ast.arguments | None, is_class: bool):
        """Visit the body of a scope, after noting what it binds."""
        self.scope = _Scope(self.scope, is_class)
        if arguments is not None:
            every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
            every += [a for a in (arguments.vararg, arguments.kwarg) if a is not None]
            self.scope.bound.update(dict.fromkeys((a.arg for a in every), None))
        self.bind(body)
        for node in body:
            self.visit(node)
        self.scope = self.scope.parent

    def bind(self, body: list[ast.AST]):
        """Note the names that a scope's statements bind: imports win, then simple assignments."""
        shared, other, imported, assigned = set(), set(), {}, []
        for node in _own_nodes(body):
            if isinstance(node, ast.Global | ast.Nonlocal):
                shared.update(node.names)
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                other.add(node.name)
            elif isinstance(node, ast.Import | ast.ImportFrom):
                for name, full in _imported(node):
                    # `try: import torch ... except: import other as torch`: the first is meant.
                    if _is_pytorch(full) or name not in imported:
                        imported[name] = full
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                other.add(node.id)
            elif isinstance(node, ast.ExceptHandler) and node.name:
                other.add(node.name)
            if isinstance(node, ast.Assign) and len(node.targets) == 1:
                assigned.append(node)
        bound: dict[str, str | None] = dict.fromkeys(other - shared, None)
        for name, full in imported.items():
            if _is_pytorch(full):
                bound[name] = full
            else:
                bound.setdefault(name, None)
        self.scope.bound.update(bound)
        for node in sorted(assigned, key=lambda n: n.lineno):
            target, full = node.targets[0], self.full_name(node.value)
            # `F = torch.nn.functional` is another name for it.
            if isinstance(target, ast.Name) and _is_pytorch(full) and target.id not in imported:
                self.scope.bound[target.id] = full

    def full_name(self, node: ast.AST) -> str | None:
        """The full name of an attribute chain that starts at one of PyTorch's names."""
        rest = []
        while isinstance(node, ast.Attribute):
            rest.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name):
            return None
        start = self.scope.find(node.id)
        return None if start is None else ".".join([start, *reversed(rest)])

    # -- statements ------------------------------------------------------------------------------

    def visit_Module(self, node):
        """The file: its names are the outermost scope."""
        self.enter(node.body, None, False)

    def visit_FunctionDef(self, node):
        """Decorators, defaults and annotations belong to the scope outside."""
        outside = [*node.decorator_list, *node.args.defaults, node.returns]
        outside += [d for d in node.args.kw_defaults if d is not None]
        every = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
        outside += [a.annotation for a in (*every, node.args.vararg, node.args.kwarg) if a]
        for part in outside:
            if part is not None:
                self.visit(part)
        self.enter(node.body, node.args, False)

    visit_AsyncFunctionDef = visit_FunctionDef  # noqa: N815 - the name ast.NodeVisitor calls

    def visit_Lambda(self, node):
        """A function of one expression."""
        for default in (*node.args.defaults, *node.args.kw_defaults):
            if default is not None:
                self.visit(default)
        self.enter([node.body], node.args, False)

    def visit_ClassDef(self, node):
        """Bases and decorators belong to the scope outside."""
        for part in (*node.decorator_list, *node.bases, *(k.value for k in node.keywords)):
            self.visit(part)
        self.enter(node.body, None, True)

    def visit_Import(self, node):
        """`import torch.nn as nn`."""
        for item in node.names:
            if _is_pytorch(item.name):
                self.uses.append(Use(item.name, node.lineno, "import"))

    def visit_ImportFrom(self, node):
        """`from torch import nn`."""
        if node.level or not _is_pytorch(node.module):
            return
        for item in node.names:
            star = item.name == "*"
            full = node.module if star else f"{node.module}.{item.name}"
            self.uses.append(Use(full, node.lineno, "star" if star else "import"))

    # -- expressions -----------------------------------------------------------------------------

    def visit_Attribute(self, node):
        """A chain is one use, of the longest name."""
        full = self.full_name(node)
        if full is not None:
            self.uses.append(Use(full, node.lineno))
        elif not isinstance(node.value, ast.Name):
            self.visit(node.value)

    def visit_Name(self, node):
        """A name imported from a package: `DataLoader`."""
        full = self.scope.find(node.id) if isinstance(node.ctx, ast.Load) else None
        if full is not None and "." in full:
            self.uses.append(Use(full, node.lineno))


def _imported(node: ast.Import | ast.ImportFrom) -> Iterator[tuple[str, str | None]]:
    """The names an import binds, and what they stand for."""
    for item in node.names:
        if isinstance(node, ast.Import):
            top = item.name.partition(".")[0]
            yield (item.asname, item.name) if item.asname else (top, top)
        elif item.name != "*":
            module = None if node.level else node.module
            yield item.asname or item.name, None if module is None else f"{module}.{item.name}"


def uses_of(source: str, path: str = "<string>") -> list[Use]:
    """The uses of PyTorch's names in a program's text, in the order of lines.

    Methods of values (``x.view(3)``) are not judged: what ``x`` is shows only when the program
    runs. Raises SyntaxError for text that is no Python.
    """
    reader = _Reader()
    reader.visit(ast.parse(source, path))
    return sorted(reader.uses, key=lambda use: use.line)
