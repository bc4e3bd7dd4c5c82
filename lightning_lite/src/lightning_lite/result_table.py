"""The table that validate and test print."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def print_results(found: list[dict[str, Any]], what: str, write: Callable[[str], None]) -> None:
    """Print the logged numbers, a column per loader."""
    names: list[str] = []
    for values in found:
        names.extend(name for name in values if name not in names)
    if not names:
        return
    plain = {name: name.split("/dataloader_idx_")[0] for name in names}
    rows: dict[str, list[str]] = {}
    for number, values in enumerate(found):
        for name, value in values.items():
            row = rows.setdefault(plain[name], [""] * len(found))
            row[number] = f"{value:.6g}" if isinstance(value, float) else str(value)
    titles = [f"{what} metric"]
    titles += ["value"] if len(found) == 1 else [f"loader {i}" for i in range(len(found))]
    table = [titles, *([name, *row] for name, row in sorted(rows.items()))]
    widths = [max(len(line[column]) for line in table) for column in range(len(titles))]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in table
    ]
    rule = "-" * max(len(line) for line in lines)
    write("\n".join([rule, lines[0], rule, *lines[1:], rule]))
