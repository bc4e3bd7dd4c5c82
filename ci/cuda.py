"""CUDA without a GPU, in parts: what `nox -s cuda` runs.

`kernels` compiles every kernel for all architectures with NVRTC; `tests` runs the CUDA tests of the
core on the emulator; `table` runs PyTorch's op table there; `check` runs ci/gpu_check.py's stages
there, small. Words after the part are passed on. Without a part all of them run.

Usage: python ci/cuda.py [kernels|tests|table|check [WORDS ...]]
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PARTS = {
    "kernels": ("ci/nvrtc_check.py",),
    "tests": ("ci/testing.py", "core", "tests/cuda"),
    "table": ("ci/pytorch/table.py", "--device", "cuda"),
    "check": ("ci/gpu_check.py", "--runtime", "emu", "--smoke"),
}


def run(part: str, words: list[str]) -> bool:
    """Run one part with more words of the command line; whether it passed."""
    start = time.monotonic()
    command = [sys.executable, *PARTS[part], *words]
    environment = {**os.environ, "RUSHLIGHT_CUDA": "emu"} if part == "table" else None
    passed = subprocess.run(command, cwd=ROOT, env=environment).returncode == 0
    print(f"{part}: {'ok' if passed else 'FAILED'}, {time.monotonic() - start:.0f} s", flush=True)
    return passed


def main() -> int:
    """One part, or all of them; 1 where one fails."""
    words = sys.argv[1:]
    if words and words[0] not in PARTS:
        print(__doc__, file=sys.stderr)
        return 2
    if words:
        return 0 if run(words[0], words[1:]) else 1
    subprocess.run([sys.executable, "ci/oracle.py"], cwd=ROOT, check=False)
    return 0 if all([run(part, []) for part in PARTS]) else 1


if __name__ == "__main__":
    sys.exit(main())
