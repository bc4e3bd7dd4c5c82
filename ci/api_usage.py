"""Count which of the names that public programs use exist here.

Reads a table (tab-separated: name, repos, files, uses, note), one row for a name of PyTorch that
was found in public repositories, and looks every name up that at least `--repos` of them use.
present: it is there; refused: it is there in order to raise NotImplementedError naming what to use
instead; missing: neither. Names marked not-in-2.13 are left out, and names of other packages.

Usage: python ci/api_usage.py TABLE [--repos 3] [--missing] [--refused]
"""

from __future__ import annotations

import argparse
import csv
import importlib
import sys
import warnings
from collections import defaultdict
from pathlib import Path

PRESENT, REFUSED, MISSING = "present", "refused", "missing"


def layers():
    """`Module` and the layers derived from it: a name used on modules may be a layer's."""
    from rushlight import nn

    found = [nn.Module()]
    kinds = (getattr(nn, name) for name in nn.__all__)
    return found + [k for k in kinds if isinstance(k, type) and issubclass(k, nn.Module)]


def step(current, name: str, path: str):
    """The attribute of an object, or the submodule of that path."""
    try:
        return getattr(current, name)
    except AttributeError:
        return importlib.import_module(path)


def resolve(name: str) -> str | None:
    """Whether a name is present, refused or missing; None for names of other packages."""
    import rushlight
    from rushlight import refusals

    first, *rest = name.split(".")
    if first == "Module":
        return PRESENT if any(hasattr(layer, rest[0]) for layer in layers()) else MISSING
    roots = {"torch": rushlight, "Tensor": rushlight.Tensor}
    if first not in roots:
        return None
    current, path = roots[first], "rushlight"
    for part in rest:
        path += "." + part
        try:
            current = step(current, part, path)
        except NotImplementedError:
            return REFUSED
        except (AttributeError, ImportError):
            return MISSING
        if isinstance(current, refusals.Refused | refusals.AbsentModule):
            return REFUSED
        if "refuses" in getattr(current, "__dict__", ()):
            return REFUSED
    return PRESENT


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("table", type=Path)
    parser.add_argument("--repos", type=int, default=3, help="least number of repositories")
    parser.add_argument("--missing", action="store_true", help="list the missing names")
    parser.add_argument("--refused", action="store_true", help="list the refused names")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    found = defaultdict(list)
    with arguments.table.open(newline="") as table:
        for row in csv.DictReader(table, delimiter="\t"):
            if int(row["repos"]) < arguments.repos or "not-in" in (row["note"] or ""):
                continue
            answer = resolve(row["name"])
            if answer is not None:
                found[answer].append((row["name"], int(row["repos"]), int(row["files"])))
    names = sum(len(rows) for rows in found.values())
    files = sum(row[2] for rows in found.values() for row in rows)
    for kind in (PRESENT, REFUSED, MISSING):
        rows = found[kind]
        weight = sum(row[2] for row in rows)
        print(
            f"{kind:8} {len(rows):5} names {100 * len(rows) / max(names, 1):6.2f} %   "
            f"{weight:7} files {100 * weight / max(files, 1):6.2f} %"
        )
    for kind, asked in ((REFUSED, arguments.refused), (MISSING, arguments.missing)):
        if asked:
            for name, repositories, count in found[kind]:
                print(f"{kind} {name} {repositories} repos {count} files")
    return 1 if found[MISSING] else 0


if __name__ == "__main__":
    sys.exit(main())
