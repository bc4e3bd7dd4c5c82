"""Check format and rules with ruff; with `fix`, repair what ruff can repair.

Usage: python ci/lint.py [fix] [PATH ...]
"""

from __future__ import annotations

import subprocess
import sys

from packages import ROOT


def main() -> int:
    arguments = sys.argv[1:]
    repair = "fix" in arguments
    paths = [word for word in arguments if word != "fix"] or ["."]
    ruff = [sys.executable, "-m", "ruff"]
    format_command = [*ruff, "format", *([] if repair else ["--diff"]), *paths]
    rules_command = [*ruff, "check", *(["--fix"] if repair else []), *paths]
    statuses = [
        subprocess.run(each, cwd=ROOT).returncode for each in (rules_command, format_command)
    ]
    return 1 if any(statuses) else 0


if __name__ == "__main__":
    raise SystemExit(main())
