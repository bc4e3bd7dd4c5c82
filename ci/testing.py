"""Run the tests of the packages, one pytest process each, and print one table at the end.

Usage: python ci/testing.py [PACKAGE ...] [PYTEST ARGUMENT ...]
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from packages import PACKAGES, Package, package_named

NO_TESTS_COLLECTED = 5
PROCESSES = 2
HANGS = 300  # seconds after which a test that waits fails; the run goes on
STUCK = 420  # seconds after which a test that no signal reaches ends its process, and the run
SILENCE = 8  # seconds without a whole line until one says how far the tests are
DEAD = 900  # seconds without a whole line after which nothing is waited for
PLUGINS = Path(__file__).with_name("plugins")


def split(arguments: list[str]) -> tuple[list[Package], list[str]]:
    """Leading package names, and everything else for pytest."""
    folders = {package.folder for package in PACKAGES}
    count = 0
    while count < len(arguments) and arguments[count] in folders:
        count += 1
    chosen = [package_named(name) for name in arguments[:count]] or list(PACKAGES)
    return chosen, arguments[count:]


def shared(arguments: list[str]) -> list[str]:
    """Options that share a run among processes, file by file; none beside options for pytest,
    which may ask for what one process must do (``--pdb``, ``-x``, a profile)."""
    wants_one = any(word.startswith("-") for word in arguments)
    if wants_one or len(os.sched_getaffinity(0)) < PROCESSES:
        return []
    return ["-n", str(PROCESSES), "--dist", "loadfile", "-p", "whole_files"]


class Output:
    """What pytest prints, passed on as it comes; a line of its own where none has come for long,
    with the tests that the file `running` names. `watch` is called with each whole line, `dead`
    once where nothing can come any more."""

    def __init__(self, name: str, running: Path, dead, watch=None):
        self.name, self.start, self.closing, self.line = name, time.monotonic(), "", ""
        self.last, self.said, self.done = self.start, self.start, threading.Event()
        self.running, self.dead, self.watch = running, dead, watch

    def follow(self, stream) -> None:
        """Pass on a stream to its end."""
        threading.Thread(target=self._speak, daemon=True).start()
        while text := stream.read1(4096).decode(errors="replace"):
            sys.stdout.write(text)
            sys.stdout.flush()
            *lines, self.line = (self.line + text).split("\n")
            for line in lines:
                self.last = self.said = time.monotonic()
                if self.watch is not None:
                    self.watch(line)
                if re.search(r"\b(passed|failed|errors?|skipped|no tests ran)\b.* in \d", line):
                    self.closing = line.strip("= \n")
        self.done.set()

    def _speak(self) -> None:
        while not self.done.wait(1):
            now = time.monotonic()
            if now - self.said > SILENCE:
                self.said = now
                print(f"\n[{self.name}: {now - self.start:.0f} s, {self._tests()}]", flush=True)
            if now - self.last > DEAD:
                self.closing = f"ended after {DEAD} s without a line: {self._tests()}"
                self.dead()
                return

    def _tests(self) -> str:
        names = self.running.read_text().split("\n") if self.running.exists() else []
        return "in " + ", ".join(filter(None, names)) if any(names) else "between tests"


def environment(**more: str) -> dict[str, str]:
    """For a process of tests. The oracle's spinning OpenMP threads and our own pool would fight for
    the same cores, so the oracle has one unless somebody says otherwise. Our pool has two: what
    several threads share out is what tests have to see."""
    threads = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "RUSHLIGHT_NUM_THREADS": "2"}
    return {**threads, **os.environ, **more}


def limits() -> list[str]:
    """Options that end what waits for something that will not come."""
    options = [f"--timeout={HANGS}", "--timeout-method=signal", "-p", "running_tests"]
    last = ["-o", f"faulthandler_timeout={STUCK}", "-o", "faulthandler_exit_on_timeout=true"]
    # A worker that ended is not replaced: pytest-xdist gives the next one the same test again.
    return [*options, *last, "--max-worker-restart=0"]


def pytest(name, folder, arguments, settings, watch=None) -> tuple[int, str]:
    """Run pytest in a folder; return the exit status and its closing line."""
    with tempfile.TemporaryDirectory() as place:
        running = Path(place, "running")
        path = os.pathsep.join(filter(None, [str(PLUGINS), settings.get("PYTHONPATH")]))
        process = subprocess.Popen(
            [sys.executable, "-m", "pytest", "-q", *limits(), *arguments],
            cwd=folder,
            env={**settings, "PYTHONPATH": path, "RUSHLIGHT_RUNNING_TESTS": str(running)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            process_group=0,
        )
        output = Output(name, running, lambda: _end(process), watch)
        follower = threading.Thread(target=output.follow, args=(process.stdout,), daemon=True)
        follower.start()
        try:
            status = process.wait()
            follower.join(5)  # what tests left running may hold the pipe for ever
        finally:
            _end(process)
        output.done.set()
    return status, output.closing or "no output"


def _end(process: subprocess.Popen) -> None:
    """End pytest and all that its tests left running."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def run(package: Package, arguments: list[str]) -> tuple[int, str]:
    """Run one package's tests; return the exit status and pytest's closing line."""
    slowest = ["--durations=5", "--durations-min=5"]
    given = [*slowest, *shared(arguments), *arguments]
    return pytest(package.folder, package.path, given, environment())


def verdict(status: int) -> str:
    """One word for an exit status."""
    return "ok" if status == 0 else f"FAILED ({status})"


def main() -> int:
    packages, arguments = split(sys.argv[1:])
    rows = []
    for package in packages:
        print(f"\n--- {package.distribution} {package.version}", flush=True)
        status, closing = run(package, arguments)
        if status == NO_TESTS_COLLECTED and arguments:
            status = 0  # `-k name` need not match something in every package
        rows.append((package.distribution, status, closing))
    lines = [f"{name:26} {verdict(status):12} {closing}" for name, status, closing in rows]
    print("\n--- all packages")
    print("\n".join(lines))
    if summary := os.environ.get("RUSHLIGHT_TESTS_SUMMARY"):
        Path(summary).write_text("\n".join(lines) + "\n")
    return 1 if any(status for _, status, _ in rows) else 0


if __name__ == "__main__":
    raise SystemExit(main())
