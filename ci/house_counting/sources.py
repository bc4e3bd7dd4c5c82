"""Parsed source files of one tree, and what was found in them."""

from __future__ import annotations

import ast
import re
import sys
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

Function = ast.FunctionDef | ast.AsyncFunctionDef
SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def walk(root: ast.AST) -> list[ast.AST]:
    """A node and all below it: ast.walk in a third of its time, which lint waits for."""
    found = [root]
    for node in found:  # grows while it is read
        for name in node._fields:
            value = getattr(node, name, None)
            if isinstance(value, list):
                found += [each for each in value if isinstance(each, ast.AST)]
            elif isinstance(value, ast.AST) and not isinstance(value, ast.expr_context):
                found.append(value)
    return found


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
    def lines(self) -> list[str]:
        return self.text.split("\n")

    @cached_property
    def nodes(self) -> list[ast.AST]:
        """Every node of the tree."""
        return walk(self.tree)

    @cached_property
    def functions(self) -> list[Function]:
        """Every function, nested ones and methods too."""
        return [node for node in self.nodes if isinstance(node, Function)]

    @cached_property
    def docstrings(self) -> dict[int, ast.Constant]:
        """The docstrings, by the identity of their nodes."""
        found = {}
        for node in self.nodes:
            if isinstance(node, (ast.Module, ast.ClassDef, *SCOPES[:2])) and node.body:
                first = node.body[0]
                if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                    if isinstance(first.value.value, str):
                        found[id(first.value)] = first.value
        return found

    @cached_property
    def _texts(self) -> dict[int, list[tuple[int, int]]]:
        """Where strings stand: line -> spans of bytes."""
        spans: dict[int, list[tuple[int, int]]] = {}
        for node in self.nodes:
            text = isinstance(node, ast.Constant) and isinstance(node.value, str | bytes)
            if text or isinstance(node, ast.JoinedStr):
                for line in range(node.lineno, node.end_lineno + 1):
                    start = node.col_offset if line == node.lineno else 0
                    end = node.end_col_offset if line == node.end_lineno else sys.maxsize
                    spans.setdefault(line, []).append((start, end))
        return spans

    @cached_property
    def comments(self) -> list[tuple[int, str]]:
        """Line and text of every comment: what stands behind the first # outside strings."""
        found = []
        for number, line in enumerate(self.lines, 1):
            if "#" not in line:
                continue
            spans, data = self._texts.get(number, ()), line.encode()
            for match in re.finditer(b"#", data):
                if not any(start <= match.start() < end for start, end in spans):
                    found.append((number, data[match.start() :].decode()))
                    break
        return found

    @cached_property
    def code(self) -> set[int]:
        """Lines that hold code: more than a comment, a docstring or nothing."""
        whole = {n for n, text in self.comments if self.lines[n - 1].strip() == text.strip()}
        lines = {n for n, line in enumerate(self.lines, 1) if line.strip()} - whole
        for text in self.docstrings.values():
            lines.difference_update(range(text.lineno, text.end_lineno + 1))
        return lines


def read(root: Path, generated: str) -> list[Source]:
    """Every Python file below `root` whose first line does not start with the mark `generated`;
    examples are programs, which ci/examples.py checks."""
    found = []
    for path in sorted(root.rglob("*.py")):
        if path.parent == root / "examples":
            continue
        text = path.read_text(encoding="utf-8")
        if not text.startswith(generated):
            found.append(Source(root, path, text, ast.parse(text, filename=str(path))))
    return found


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
