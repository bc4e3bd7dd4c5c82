"""Check the types of the packages' public signatures with mypy.

Usage: python ci/typecheck.py [PACKAGE ...]

Without names, the stubs are checked, too: that they are what ci/stubs.py would write, and that
`mypy --strict` finds in ci/typed_programs what their comments say and nothing else.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from packages import PACKAGES, ROOT, package_named

CONFIGURATION = Path(__file__).with_name("mypy.ini")


_STUBS = ROOT / "core" / "stubs" / "rushlight-stubs"
_PROGRAMS = Path(__file__).with_name("typed_programs")


def check_stubs() -> int:
    """Whether stubs are as they would be written, and say what programs are told by them."""
    stubs = Path(__file__).with_name("stubs.py")
    status = subprocess.run([sys.executable, str(stubs), "--check"], cwd=ROOT).returncode
    for program in sorted(_PROGRAMS.glob("*.py")):
        for line in differences(program):
            print(f"{program.name}: {line}")
            status = 1
    return status


def differences(program: Path) -> list[str]:
    """Where mypy finds something else than a program's comments say."""
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--config-file="]
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "rushlight").symlink_to(_STUBS)
        found = subprocess.run(
            [*command, str(program)], capture_output=True, text=True,
            env={**os.environ, "MYPYPATH": folder},
        ).stdout  # fmt: skip
    told: dict[int, str] = {}
    for number, kind, text in re.findall(r"\.py:(\d+): (error|note): (.*)", found):
        if kind == "error" or "Revealed type" in text:
            told[int(number)] = told.get(int(number), "") + text
    wanted = {
        number: line.partition("# ")[2].split(": ", 1)[1]
        for number, line in enumerate(program.read_text().splitlines(), 1)
        if re.search(r"# (error|note): ", line)
    }
    return [
        f"line {number}: mypy says {told.get(number, 'nothing')!r}, expected {wanted.get(number)!r}"
        for number in sorted({*told, *wanted})
        if number not in told or number not in wanted or wanted[number] not in told[number]
    ]


def main() -> int:
    chosen = [package_named(name) for name in sys.argv[1:]] or list(PACKAGES)
    statuses = [] if sys.argv[1:] else [check_stubs()]
    for package in chosen:
        print(f"--- {package.distribution}", flush=True)
        command = [sys.executable, "-m", "mypy", "--config-file", str(CONFIGURATION)]
        statuses.append(subprocess.run([*command, str(package.source)], cwd=ROOT).returncode)
    return 1 if any(statuses) else 0


if __name__ == "__main__":
    raise SystemExit(main())
