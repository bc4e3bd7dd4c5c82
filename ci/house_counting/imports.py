"""Imports by layer: those that go up, those inside functions, and those hidden in strings."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator

from .sources import SCOPES, Found, Source, walk

Layer = Callable[[str], int]
Import = ast.Import | ast.ImportFrom
_TAKERS = ("import_module", "__import__")


def _for_types(node: ast.AST) -> bool:
    """Whether a node is ``if TYPE_CHECKING:``."""
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)


def outside_functions(tree: ast.Module) -> Iterator[ast.AST]:
    """Nodes that run when a file is imported; class bodies do, bodies of functions do not, and
    nothing under ``if TYPE_CHECKING:`` does."""
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        if isinstance(node, SCOPES):
            head = node.args.defaults + [d for d in node.args.kw_defaults if d is not None]
            waiting.extend(head + getattr(node, "decorator_list", []))
        elif _for_types(node):
            waiting.extend(node.orelse)
        else:
            waiting.extend(ast.iter_child_nodes(node))


def _typing_only(source: Source) -> set[int]:
    found = set()
    for node in source.nodes:
        if _for_types(node):
            found.update(id(inner) for child in node.body for inner in walk(child))
    return found


def targets(source: Source, node: Import, subjects: set[str]) -> Iterator[str]:
    """The subjects of the tree that a statement imports; "__init__" for the whole package."""
    package = source.root.name
    if isinstance(node, ast.Import):
        dotted = [tuple(alias.name.split(".")) for alias in node.names]
    else:
        base: tuple[str, ...] = ()
        if node.level:
            up = node.level - (source.path.name == "__init__.py")
            base = source.module[: len(source.module) - up]
        module = base + tuple(node.module.split(".") if node.module else ())
        dotted = [(*module, alias.name) for alias in node.names]
    for parts in dotted:
        if parts[0] == package:
            known = len(parts) > 1 and parts[1] in subjects
            yield parts[1] if known else "__init__"


def _taker(node: ast.Call) -> bool:
    """Whether a call imports the module that a string names."""
    function = node.func
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    return name in _TAKERS


def _named_module(node: ast.AST, package: str, known: set[str]) -> str | None:
    """The module of the package that a string names: whole, or the beginning of a joined one."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value if node.value in known else None
    if isinstance(node, ast.Call) and node.args and _taker(node):
        first = node.args[0]
        if isinstance(first, ast.BinOp):
            first = first.left
        elif isinstance(first, ast.JoinedStr) and first.values:
            first = first.values[0]
        text = getattr(first, "value", None)
        if isinstance(text, str) and text not in known:
            if re.match(rf"{re.escape(package)}\.\w+\.", text):
                return text
    return None


def hidden(source: Source, known: set[str]) -> Iterator[tuple[ast.AST, str]]:
    """Strings that name a module of the package, in calls of import_module or elsewhere."""
    skipped = set(source.docstrings)
    for node in source.nodes:
        module = None if id(node) in skipped else _named_module(node, source.root.name, known)
        if module:
            yield node, module


def _statements(source: Source, subjects: set[str], layer: Layer) -> Iterator[Found]:
    at_import = {id(node) for node in outside_functions(source.tree)}
    typing_only = _typing_only(source)
    for node in source.nodes:
        if not isinstance(node, Import) or id(node) in typing_only:
            continue
        if id(node) not in at_import:
            yield Found("function-import", source.name, node.lineno, ast.unparse(node))
        for target in sorted(set(targets(source, node, subjects)) - {"__init__"}):
            if layer(target) > layer(source.subject):
                yield Found("upward-import", source.name, node.lineno, target)


def imports(source: Source, subjects: set[str], known: set[str], layer: Layer) -> Iterator[Found]:
    """Rules `function-import` (a statement inside a function), `upward-import` (a statement that
    goes up), `hidden-import` (a string that names a module above) and `hidden-at-import` (a call of
    import_module that runs when the file is imported)."""
    yield from _statements(source, subjects, layer)
    for node, module in hidden(source, known):
        if layer(module.split(".")[1]) > layer(source.subject):
            yield Found("hidden-import", source.name, node.lineno, module)
    for node in outside_functions(source.tree):
        if isinstance(node, ast.Call) and _taker(node):
            yield Found("hidden-at-import", source.name, node.lineno, ast.unparse(node))
