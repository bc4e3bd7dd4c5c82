"""Saving and loading 1 GB, ours against PyTorch's, in alternating processes: seconds, peak memory.

python bench/checkpoints.py [--megabytes 1024] [--rounds 3]

Each process does one thing - save, load, load with mmap (and sum what it mapped) - and prints its
time and its high-water mark beyond what it held before, as a multiple of the data. Every round
writes new files. They are in the page cache when they are read, so that it is the library that is
measured.
"""

from __future__ import annotations

import argparse
import ctypes
import mmap
import os
import statistics
import subprocess
import sys
import tempfile
import time


def _status(key):
    with open("/proc/self/status", encoding="ascii") as file:
        return next(int(line.split()[1]) << 10 for line in file if line.startswith(key))


def _touch(count):
    """Make the machine have memory for us: a virtual one may give back what is free, and then the
    first to touch it pays, several times the work that is to be measured."""
    with mmap.mmap(-1, count) as memory:
        for at in range(0, count, 1 << 20):
            memory[at : at + (1 << 20)] = bytes(1 << 20)


def work(name: str, action: str, path: str, megabytes: int) -> None:
    """One measurement, in this process."""
    library = __import__(name)
    library.save({"x": library.ones(1 << 20)}, path + ".small")
    float(library.load(path + ".small")["x"].sum())
    count = megabytes << 20
    state = None
    if action == "save":
        state = {str(i): library.full((count // 64,), float(i)) for i in range(16)}
    _touch(count)
    ctypes.CDLL(None).malloc_trim(0)
    with open("/proc/self/clear_refs", "w", encoding="ascii") as file:
        file.write("5")
    before, begin = _status("VmRSS"), time.perf_counter()
    if action == "save":
        library.save(state, path)
    else:
        found = library.load(path, mmap=action == "mmap")
        if action == "mmap":
            assert all(float(value.sum()) >= 0 for value in found.values())  # noqa: S101
    spent = time.perf_counter() - begin
    held = count if action == "save" else 0
    print(spent, (held + _status("VmHWM") - before) / count)


def main() -> None:
    """Measure both libraries in turn; print medians and the ratio."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=1024)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--work", nargs=3, metavar=("LIBRARY", "ACTION", "PATH"))
    options = parser.parse_args()
    if options.work:
        work(*options.work, options.megabytes)
        return
    libraries = ("rushlight", "torch")
    found: dict = {}
    with tempfile.TemporaryDirectory(prefix="rushlight-bench-") as folder:
        for number in range(options.rounds):
            for action in ("save", "load", "mmap"):
                for library in libraries:
                    path = os.path.join(folder, f"{library}{number}.pt")
                    command = [sys.executable, __file__, "--megabytes", str(options.megabytes),
                               "--work", library, action, path]  # fmt: skip
                    printed = subprocess.run(command, capture_output=True, text=True, check=True)
                    seconds, peak = map(float, printed.stdout.split())
                    found.setdefault((action, library), []).append((seconds, peak))
            for library in libraries:
                os.unlink(os.path.join(folder, f"{library}{number}.pt"))
    print(f"{'':6}{'rushlight':>12}{'torch':>10}{'speed':>8}{'peak':>8}{'torch':>8}")
    for action in ("save", "load", "mmap"):
        times = [statistics.median(s for s, _ in found[action, name]) for name in libraries]
        peaks = [max(p for _, p in found[action, name]) for name in libraries]
        print(
            f"{action:6}{times[0]:11.2f}s{times[1]:9.2f}s{times[1] / times[0]:7.2f}x"
            f"{peaks[0]:7.2f}x{peaks[1]:7.2f}x"
        )


if __name__ == "__main__":
    main()
