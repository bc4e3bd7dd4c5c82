"""Entries of PyTorch's tables that are known not to pass, each with its reason, in a file."""

from __future__ import annotations

import tomllib
from collections.abc import Collection
from pathlib import Path


def reasons(path: Path) -> dict[str, str]:
    """The entries on record with their reasons; none where there is no file."""
    return tomllib.loads(path.read_text())["entries"] if path.is_file() else {}


def surprises(path: Path, failing: Collection[str], examined: Collection[str]) -> int:
    """Print and count the entries whose result is not the one on record: a failure that is not
    there, and an entry there that passes. Entries that were not examined do not count."""
    known = reasons(path)
    new = [name for name in failing if name not in known]
    healed = [name for name in known if name in examined and name not in failing]
    for name in failing:
        if name in known:
            print(f"known: {name}: {known[name]}")
    for name in new:
        print(f"not on record: {name}")
    for name in healed:
        print(f"on record as failing, but passes: {name}")
    print(f"{len(failing) - len(new)} known failures, {len(new)} new, {len(healed)} healed")
    return len(new) + len(healed)
