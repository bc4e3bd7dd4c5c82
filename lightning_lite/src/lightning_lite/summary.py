"""The table of a model's layers."""

from __future__ import annotations

from typing import Any


def human(number: int) -> str:
    """A number with a letter for thousands, millions, ...

    >>> human(105866)
    '106 K'
    """
    value = float(number)
    for letter in ("", " K", " M", " B"):
        if value < 999.5:
            return f"{value:.3g}{letter}" if letter else str(number)
        value /= 1000
    return f"{value:.3g} T"


def parameter_count(module: Any, trainable: bool = False) -> int:
    """Number of parameters; only those that need gradients if `trainable`."""
    found = module.parameters()
    return sum(each.numel() for each in found if each.requires_grad or not trainable)


def summarize(module: Any, max_depth: int = 1) -> str:
    """The layers of a module with type, parameters and mode, and the totals."""
    rows = []
    for name, layer in module.named_modules():
        depth = name.count(".") + 1
        if not name or (max_depth != -1 and depth > max_depth):
            continue
        mode = "train" if layer.training else "eval"
        rows.append((name, type(layer).__name__, human(parameter_count(layer)), mode))
    table = [("name", "type", "params", "mode"), *rows] if rows else []
    widths = [max(len(row[column]) for row in table) for column in range(4)] if table else []
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in table
    ]
    if lines:
        rule = "-" * max(len(line) for line in lines)
        lines = [lines[0], rule, *lines[1:], rule]
    total, trainable = parameter_count(module), parameter_count(module, trainable=True)
    size = sum(each.numel() * each.element_size() for each in module.parameters())
    lines.append(f"{human(trainable)} trainable, {human(total - trainable)} frozen parameters")
    lines.append(f"{human(total)} parameters in all, {size / 1e6:.3f} MB")
    return "\n".join(lines)
