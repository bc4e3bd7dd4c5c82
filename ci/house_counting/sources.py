"""Parsed source files of one tree, and what was found in them."""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

Function = ast.FunctionDef | ast.AsyncFunctionDef
SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_LAYOUT = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}


@dataclass(frozen=True)
class Found:
    """One case of a rule: the file (inside its tree), the line, and what stands there."""

    rule: str
    file: str
    line: int
    name: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.rule}: {self.name}"


@dataclass(frozen=True)
class Source:
    """One parsed file of the tree at `root`."""

    root: Path
    path: Path
    text: str
    tree: ast.Module

    @cached_property
    def name(self) -> str:
        """Path inside the tree."""
        return self.path.relative_to(self.root).as_posix()

    @property
    def subject(self) -> str:
        """The first part of the path: the folder, or the file, that layers are given for."""
        return self.name.split("/")[0].removesuffix(".py")

    @property
    def module(self) -> tuple[str, ...]:
        """Dotted name as a tuple, the tree's own name first; an __init__ counts as its folder."""
        parts = (self.root.name, *self.path.relative_to(self.root).with_suffix("").parts)
        return parts[:-1] if parts[-1] == "__init__" else parts

    @cached_property
    def docstrings(self) -> dict[int, ast.Constant]:
        """The constants that are docstrings, by identity."""
        found = {}
        for node in ast.walk(self.tree):
            if isinstance(node, (ast.Module, ast.ClassDef, *SCOPES[:2])) and node.body:
                first = node.body[0]
                if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                    if isinstance(first.value.value, str):
                        found[id(first.value)] = first.value
        return found

    @cached_property
    def tokens(self) -> list[tokenize.TokenInfo]:
        return list(tokenize.generate_tokens(io.StringIO(self.text).readline))

    @cached_property
    def comments(self) -> list[tuple[int, str]]:
        """Line and text of every comment."""
        return [(t.start[0], t.string) for t in self.tokens if t.type == tokenize.COMMENT]

    @cached_property
    def code(self) -> set[int]:
        """Lines that hold code: more than a comment, a docstring or nothing."""
        lines: set[int] = set()
        for token in self.tokens:
            if token.type not in _LAYOUT:
                lines.update(range(token.start[0], token.end[0] + 1))
        for text in self.docstrings.values():
            lines.difference_update(range(text.lineno, text.end_lineno + 1))
        return lines


def read(root: Path, generated: str) -> list[Source]:
    """Every Python file below `root` whose first line does not start with the mark `generated`."""
    found = []
    for path in sorted(root.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if not text.startswith(generated):
            found.append(Source(root, path, text, ast.parse(text, filename=str(path))))
    return found


def functions(tree: ast.AST) -> Iterator[Function]:
    """Every function, nested ones and methods too."""
    for node in ast.walk(tree):
        if isinstance(node, Function):
            yield node


def called(expression: ast.expr) -> str | None:
    """The name that a decorator or a call is of: `op` in ``@op`` and ``@op(rule=same)``."""
    target = expression.func if isinstance(expression, ast.Call) else expression
    return target.id if isinstance(target, ast.Name) else None


def rooted(expression: ast.expr) -> str | None:
    """The name that a chain of attributes and calls begins with: `relu` in ``relu.gradient(...)``;
    None where there is no chain."""
    node = expression.func if isinstance(expression, ast.Call) else expression
    if not isinstance(node, ast.Attribute):
        return None
    while isinstance(node, ast.Attribute | ast.Call):
        node = node.value if isinstance(node, ast.Attribute) else node.func
    return node.id if isinstance(node, ast.Name) else None
