"""Source of a program and errors that point into it."""

from __future__ import annotations


class Source:
    """Text of a function's file with the name errors show; `first` is the number of its first
    line in that file."""

    def __init__(self, text, filename, first=1, function=""):
        self.lines, self.filename, self.first, self.function = None, filename, first, function
        self.text = text

    def line(self, number):
        """A line by its number in the file."""
        if self.lines is None:
            self.lines = self.text.splitlines()
        index = number - self.first
        return self.lines[index] if 0 <= index < len(self.lines) else ""

    def highlight(self, at):
        """The lines around a position, and a mark under it."""
        line, column, end = at
        shown = [self.line(n) for n in range(max(line - 3, self.first), line + 1)]
        text = shown[-1]
        end = end if end is not None and end > column else column + 1
        mark = " " * column + "~" * max(min(end, len(text)) - column, 1) + " <--- HERE"
        where = f'  File "{self.filename}", line {line}'
        where += f", in {self.function}" if self.function else ""
        return "\n".join([where, *shown, mark])


class CompileError(RuntimeError):
    """A program that cannot be compiled; the message shows where."""


class NotSupportedError(CompileError):
    """A form of Python that TorchScript does not have."""


def fault(source, at, message, kind=CompileError):
    """The error for a position in a source."""
    return kind(f"\n{message}:\n{source.highlight(at)}\n" if at else f"\n{message}\n")


def place(node):
    """Where a node of Python's tree stands: line, first column, last column if on one line."""
    last = node.end_col_offset if node.end_lineno == node.lineno else None
    return node.lineno, node.col_offset, last
