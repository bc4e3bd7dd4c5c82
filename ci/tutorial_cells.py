"""Run the cells of a tutorial in one namespace; write what each printed, and the pictures it left.

    python ci/tutorial_cells.py TUTORIAL RESULT [--cells N]

RESULT is JSON: a list with ``{"printed": str, "pictures": [str]}`` for each cell, the pictures as
paths in the working directory. A cell has the line numbers of its file: tracebacks, `inspect` and
the debugger show the script itself.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import sys
from pathlib import Path

from tutorials import cells


def pictures(folder: Path) -> dict[str, int]:
    """Path and time of the last change of each picture below a folder."""
    return {str(path): path.stat().st_mtime_ns for path in sorted(folder.rglob("*.png"))}


def run(path: Path, count: int | None = None) -> list[dict]:
    """Execute the first `count` cells of a tutorial (all if None)."""
    sys.argv = [str(path)]
    names = {"__name__": "__main__", "__file__": str(path)}
    left = Path("runs", path.stem)
    results = []
    for cell in cells(path)[:count]:
        before, printed = pictures(left), io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile("\n" * (cell.line - 1) + cell.code, str(path), "exec"), names)
        new = [name for name, time in pictures(left).items() if before.get(name) != time]
        results.append({"printed": printed.getvalue(), "pictures": new})
    return results


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tutorial", type=Path)
    parser.add_argument("result", type=Path)
    parser.add_argument("--cells", type=int, help="run only so many of the first cells")
    options = parser.parse_args()
    found = run(options.tutorial.resolve(), options.cells)
    options.result.write_text(json.dumps(found), encoding="utf-8")


if __name__ == "__main__":
    main()
