"""Run every test that compares with PyTorch, with PyTorch there, and say how many there are.

A test file takes part if it names the oracle. `quick` (the default) takes the op table's quick
tier, `full` the full one and then PyTorch's own tables of operations (results, reference inputs,
strides, unsigned dtypes, complex32), layers and optimizers, the table of seeds, and
archives in C++: the scripts in ci/pytorch.

Usage: python ci/parity.py [quick|full] [--if-available] [PYTEST ARGUMENT ...]
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import oracle
import testing
from packages import PACKAGES, Package

NAMES_ORACLE = re.compile(r"importorskip\(\s*[\"']torch|^\s*import torch\b|^\s*from torch\b", re.M)
USES_TABLE = re.compile(r"rushlight\.testing|from rushlight import testing")
# PyTorch's own tables of operations, layers and optimizers, and the table of seeds.
TABLES = (
    ("table.py", ("--jobs", "2", "--samples", "120")),
    ("table.py", ("--jobs", "2", "--reference")),
    ("strides.py", ()),
    ("unsigned.py", ()),
    ("complex32.py", ()),
    ("modules.py", ()),
    ("optimizers.py", ()),
    ("seeds.py", ()),
    ("cpp_archives.py", ()),
)
CLOSING = re.compile(r"(\d+) (passed|failed|skipped|errors?|xfailed)")


def files(package: Package) -> list[str]:
    """Test files of a package that compare with the oracle."""
    chosen = []
    for path in sorted((package.path / "tests").rglob("test_*.py")):
        text = path.read_text()
        if NAMES_ORACLE.search(text) or USES_TABLE.search(text):
            chosen.append(str(path.relative_to(package.path)))
    return chosen


def run(package: Package, arguments: list[str], environment: dict[str, str]) -> tuple[int, str]:
    """Run a package's comparing tests; return the exit status and pytest's closing line."""
    chosen = files(package)
    if not chosen:
        return 0, "no test compares with the oracle"
    given = [*chosen, *testing.shared(arguments), *arguments]
    return testing.pytest(package.folder, package.path, given, environment)


def main() -> int:
    arguments = sys.argv[1:]
    tier = "full" if "full" in arguments else "quick"
    optional = "--if-available" in arguments
    rest = [word for word in arguments if word not in ("quick", "full", "--if-available")]
    if not oracle.install():
        print(f"torch oracle not available ({oracle.REQUIREMENT}): parity was NOT checked")
        return 0 if optional else 1
    environment = testing.environment(RUSHLIGHT_OPS_TIER=tier)
    rows = [(package.distribution, *run(package, rest, environment)) for package in PACKAGES]
    print(f"\n--- parity with torch {oracle.VERSION} ({tier})")
    for name, status, closing in rows:
        print(f"{name:26} {'ok' if status == 0 else 'FAILED':8} {closing}")
    passed = sum(
        int(n) for _, _, line in rows for n, what in CLOSING.findall(line) if what == "passed"
    )
    print(f"parity: {passed} tests passed")
    failed = any(status for _, status, _ in rows)
    if tier == "full" and not rest:
        for table, arguments in TABLES:
            command = [sys.executable, str(Path(__file__).parent / "pytorch" / table), *arguments]
            failed = subprocess.run(command, env=environment).returncode != 0 or failed
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
