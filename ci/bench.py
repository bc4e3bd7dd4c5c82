"""Run the benchmarks of bench/ (see bench/README.md).

python ci/bench.py [run | trainer | steps | kernels | ops | loader | graph | ...] [OPTION ...]

Without a name: bench/run.py. Options are passed on to every program that is named.
"""

from __future__ import annotations

import itertools
import subprocess
import sys

from packages import ROOT


def main(arguments):
    known = {path.stem for path in (ROOT / "bench").glob("*.py")} - {"cases", "shapes", "turns"}
    chosen = list(itertools.takewhile(known.__contains__, arguments))
    for name in chosen or ["run"]:
        command = [sys.executable, str(ROOT / "bench" / f"{name}.py"), *arguments[len(chosen) :]]
        if subprocess.run(command, cwd=ROOT, check=False).returncode:
            return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
