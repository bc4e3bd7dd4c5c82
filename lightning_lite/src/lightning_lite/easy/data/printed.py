"""Tables of words: what shows batches and results of texts and tables."""

from __future__ import annotations

import html
import textwrap
from collections.abc import Sequence
from typing import Any

from lightning_lite.easy.data.showing import title_of

WIDTH = 60  # characters of a column, after which its cells go on in the next line


class PrintedTable:
    """Rows of words under the names of columns. `print` gives aligned text; in a notebook it is a
    table of HTML. `columns`: the names; `rows`: as many words each.

    >>> print(PrintedTable(["text", "category"], [["good day", "up"], ["no", "down"]]))
    text      category
    --------  --------
    good day  up
    no        down
    """

    def __init__(self, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        self.columns, self.rows = list(columns), [list(row) for row in rows]

    def __len__(self) -> int:
        """How many rows there are."""
        return len(self.rows)

    def __str__(self) -> str:
        lines = [[_wrapped(cell) for cell in row] for row in [self.columns, *self.rows]]
        widths = [
            max(len(line) for row in lines for line in row[number])
            for number in range(len(self.columns))
        ]
        printed = [_aligned(row, widths) for row in lines]
        return "\n".join([printed[0], "  ".join("-" * width for width in widths), *printed[1:]])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{html.escape(each)}</th>" for each in self.columns)
        rows = ["".join(f"<td>{html.escape(each)}</td>" for each in row) for row in self.rows]
        body = "".join(f"<tr>{row}</tr>" for row in rows)
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _wrapped(cell: str) -> list[str]:
    return textwrap.wrap(cell, WIDTH) or [""]


def _aligned(row: list[list[str]], widths: list[int]) -> str:
    """The lines of a row, whose cells may have several."""
    height = max(len(cell) for cell in row)
    lines = []
    for number in range(height):
        parts = [cell[number] if number < len(cell) else "" for cell in row]
        padded = [part.ljust(width) for part, width in zip(parts, widths, strict=True)]
        lines.append("  ".join(padded).rstrip())
    return "\n".join(lines)


def texts_shown(
    readers: Sequence[Any], batch: Sequence[Any], max_n: int, trunc_at: int | None, more: Any = None
) -> PrintedTable:
    """The parts of a batch of texts in words, at most `max_n` rows and `trunc_at` tokens of a text.

    `readers`: of the parts; a language model's targets are texts as well. `more`: what else is
    shown, as pairs of a column's name and what decodes as the last part.
    """
    blocks = [reader.block for reader in readers]
    blocks += [blocks[-1]] * (len(batch) - len(blocks))
    names = [block.kind for block in blocks]
    names = [
        each if each not in names[:number] else f"{each}_" for number, each in enumerate(names)
    ]
    columns = list(zip(names, blocks, batch, strict=True))
    columns += [(name, blocks[-1], values) for name, values in more or []]
    cells = [
        [_words(block, value, trunc_at) for value in values[:max_n]] for _, block, values in columns
    ]
    return PrintedTable([name for name, _, _ in columns], list(zip(*cells, strict=True)))


def _words(block: Any, value: Any, trunc_at: int | None) -> str:
    found = block.decode(value)
    if block.kind != "text":
        return title_of(found)
    tokens = found.split(" ")
    cut = trunc_at is not None and len(tokens) > trunc_at
    return " ".join([*tokens[:trunc_at], "..."] if cut else tokens)
