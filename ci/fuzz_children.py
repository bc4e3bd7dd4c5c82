"""Cases of mutated files in child processes: one that crashes or hangs is found by its number."""

from __future__ import annotations

import subprocess
import sys


def tried(script: str, begin: int, end: int, seconds: float, *more: str) -> list[str]:
    """The faults that ``script --batch BEGIN END MORE`` prints; where it dies, or takes longer than
    so many seconds, those of halves of its cases."""
    command = [sys.executable, script, "--batch", str(begin), str(end), *more]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds)
        how = f"exit status {done.returncode}"
    except subprocess.TimeoutExpired:
        done, how = None, f"hangs for {seconds} s"
    if done is not None and done.returncode == 0:
        return done.stdout.splitlines()
    if end - begin == 1:
        return [" ".join([f"case {begin}", *(f"({word})" for word in more)]) + f": {how}"]
    middle = (begin + end) // 2
    halves = (begin, middle), (middle, end)
    return [fault for half in halves for fault in tried(script, *half, seconds, *more)]
