"""Fabric's arguments as the command line of `fabric.cli` says them, by the environment."""

from __future__ import annotations

import os
from typing import Any

# Arguments of Fabric -> what they are by default.
ARGUMENTS = {
    "accelerator": "auto",
    "strategy": "auto",
    "devices": "auto",
    "num_nodes": 1,
    "precision": None,
}


def from_command_line(**given: Any) -> tuple[Any, ...]:
    """The arguments of a Fabric, those that the command line says in place of the defaults.
    ValueError where the script says otherwise."""
    if os.environ.get("LT_CLI_USED") != "1":
        return tuple(given.values())
    return tuple(_value(name, value) for name, value in given.items())


def _value(name: str, value: Any) -> Any:
    told = os.environ.get(f"LT_{name.upper()}")
    if told is None:
        return value
    if value not in (ARGUMENTS[name], told) and str(value) != told:
        raise ValueError(
            f"Fabric({name}={value!r}): the command line says {told!r}; expected one of them alone"
        )
    return int(told) if told.isdigit() and name in ("devices", "num_nodes") else told
