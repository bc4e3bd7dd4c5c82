"""Parameters that a module holds under several names."""

from __future__ import annotations

from typing import Any


def find_shared_parameters(module: Any) -> list[list[str]]:
    """The names of each parameter that has more than one, in a list per parameter."""
    names: dict[int, list[str]] = {}
    for prefix, owner in module.named_modules():
        for name, parameter in owner.named_parameters(recurse=False):
            full = f"{prefix}.{name}" if prefix else name
            names.setdefault(id(parameter), []).append(full)
    return [each for each in names.values() if len(each) > 1]


def set_shared_parameters(module: Any, shared_params: list[list[str]]) -> Any:
    """Make the names of each list mean the parameter of the list's first name; the module."""
    for names in shared_params:
        first = _find(module, names[0])
        for name in names[1:]:
            path, _, last = name.rpartition(".")
            setattr(_find(module, path), last, first)
    return module


def _find(module: Any, path: str) -> Any:
    for name in path.split(".") if path else []:
        module = getattr(module, name)
    return module
