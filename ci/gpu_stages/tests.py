"""The tests of core/tests/cuda on the device."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

from stage import Stage

ROOT = Path(__file__).resolve().parent.parent.parent


def main() -> None:
    """One run of pytest; the rows are its failures and its closing line."""
    stage = Stage(__doc__)
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:benchmark", "-p", "no:cacheprovider"]
    words += ["-x" if stage.smoke else "--maxfail=400"]
    words += ["tests/cuda/test_kernel_softmax.py"] if stage.smoke else ["tests/cuda"]
    if importlib.util.find_spec("xdist"):
        words += ["-n", str(max(1, min(12, len(os.sched_getaffinity(0)) - 2)))]
    found = subprocess.run(
        words, cwd=ROOT / "core", stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        env=dict(os.environ),
    )  # fmt: skip
    print(found.stdout)
    for line in found.stdout.splitlines():
        if line.startswith(("FAILED", "ERROR")):
            stage.row("failure", test=line[:500])
    closing = [
        line for line in found.stdout.splitlines() if re.search(r"(passed|failed).* in", line)
    ]
    stage.row("tests", closing=closing[-1] if closing else "no output", status=found.returncode)
    stage.failed = found.returncode
    stage.finish()


if __name__ == "__main__":
    main()
