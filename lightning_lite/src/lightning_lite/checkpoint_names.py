"""Names of checkpoint files: templates with logged values in them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

FIELD = re.compile(r"\{(?P<name>[^{}:!]*)(?P<rest>(?:![rsa])?(?::[^{}]*)?)\}")


def format_name(template: str, values: dict[str, Any], equals: str | None) -> str:
    """A template with values in place of their names; 0 for those that were not logged.

    Names may hold any character but braces, colons and exclamation marks (`val/loss` too). With
    `equals`, each value is preceded by its name.

    >>> format_name("{epoch:02d}-{val_loss:.2f}", {"epoch": 3, "val_loss": 0.1234}, "=")
    'epoch=03-val_loss=0.12'
    """

    def replaced(field: re.Match[str]) -> str:
        name = field["name"]
        value = values.get(name, 0)
        if hasattr(value, "item"):
            value = value.item()
        text = ("{0" + field["rest"] + "}").format(value)
        return f"{name}{equals}{text}" if equals is not None else text

    return FIELD.sub(replaced, template)


def unused_name(name: Callable[[int | None], str], taken: Callable[[str], bool], start: int) -> str:
    """The first name that is not taken: without a version, then with versions from `start` on."""
    path = name(None)
    version = start
    while taken(path):
        path = name(version)
        version += 1
    return path
