"""Examples written by hand, of names that have none in their docstrings and no declaration to make
one from: ``examples/PAGE.txt`` and ``examples/PAGE-2.txt`` hold those of the names of a page.

A block begins with ``=== NAME``; its lines are a program whose last statement is an expression, the
result that is shown. Every block runs in an empty folder when the reference is written.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import tempfile
from pathlib import Path

FOLDER = Path(__file__).with_name("examples")
_MARK = "=== "


@functools.cache
def examples_of(path) -> dict:
    """The programs of a page, by name; empty where it has no file."""
    files = [FOLDER / f"{path}.txt", FOLDER / f"{path}-2.txt"]
    texts = [f"\n{file.read_text(encoding='utf-8')}" for file in files if file.exists()]
    blocks = [block for text in texts for block in text.split(f"\n{_MARK}")[1:]]
    parts = [block.partition("\n") for block in blocks]
    found = {name.strip(): program.strip() for name, _, program in parts}
    if len(found) != len(blocks):
        raise ValueError(f"{path}: a name has two examples")
    return found


def statements(text) -> list:
    """The statements of a program as texts, comments and decorators with those that follow."""
    lines, found, start = text.splitlines(), [], 0
    for each in ast.parse(text).body:
        found.append("\n".join(lines[start : each.end_lineno]).strip("\n"))
        start = each.end_lineno
    return found


def prompted(statement) -> str:
    """A statement with the interpreter's prompts."""
    first, *rest = statement.splitlines()
    return "\n".join([f">>> {first}", *(f"... {line}".rstrip() for line in rest)])


@contextlib.contextmanager
def empty_folder():
    """Work in an empty folder that is gone afterwards."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        with contextlib.chdir(folder):
            yield folder
