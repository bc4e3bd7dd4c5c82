"""Run the benchmarks of bench/ (see bench/README.md); arguments are passed on."""

from __future__ import annotations

import subprocess
import sys

from packages import ROOT


def main() -> int:
    program = ROOT / "bench" / "run.py"
    if not program.is_file():
        raise SystemExit(f"{program.relative_to(ROOT)} is missing: there is no benchmark to run")
    return subprocess.run([sys.executable, str(program), *sys.argv[1:]], cwd=ROOT).returncode


if __name__ == "__main__":
    raise SystemExit(main())
