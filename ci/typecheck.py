"""Check the types of the packages' public signatures with mypy.

Usage: python ci/typecheck.py [PACKAGE ...]
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from packages import PACKAGES, ROOT, package_named

CONFIGURATION = Path(__file__).with_name("mypy.ini")


def main() -> int:
    chosen = [package_named(name) for name in sys.argv[1:]] or list(PACKAGES)
    statuses = []
    for package in chosen:
        print(f"--- {package.distribution}", flush=True)
        command = [sys.executable, "-m", "mypy", "--config-file", str(CONFIGURATION)]
        statuses.append(subprocess.run([*command, str(package.source)], cwd=ROOT).returncode)
    return 1 if any(statuses) else 0


if __name__ == "__main__":
    raise SystemExit(main())
