"""What the stages of gpu_check share: rows of results, a clock, timing on a device."""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

NOT_APPLICABLE = 77


class Stage:
    """One run of a stage: its arguments, its file of rows, its clock."""

    def __init__(self, description: str, *more: str):
        parser = argparse.ArgumentParser(description=description)
        parser.add_argument("--out", type=Path, default=Path("rows.jsonl"))
        parser.add_argument("--seconds", type=float, default=450)
        parser.add_argument("--smoke", action="store_true")
        for name in more:
            parser.add_argument(name)
        self.given = parser.parse_args()
        self.smoke, self.end = self.given.smoke, time.monotonic() + self.given.seconds
        self.failed = 0
        self.given.out.write_text("")

    def time_left(self) -> float:
        """Seconds until the stage should stop by itself."""
        return self.end - time.monotonic()

    def row(self, what: str, **values) -> None:
        """Write one result."""
        line = json.dumps({"what": what, **values})
        with open(self.given.out, "a") as file:
            file.write(line + "\n")
        print(line, flush=True)

    def attempt(self, what: str, call: Callable, **values) -> None:
        """Write what a call returns (a dict), or its error; skip it where time is up."""
        if self.time_left() < 10:
            self.row(what, **values, skipped="no time left")
            return
        try:
            self.row(what, **values, **call())
        except NotImplementedError as error:
            self.row(what, **values, missing=str(error)[:500])
        except Exception as error:  # one failure must not hide the other rows
            self.failed += 1
            self.row(what, **values, error=f"{type(error).__name__}: {error}"[:2000])

    def finish(self) -> None:
        """End the process with the stage's status."""
        sys.exit(1 if self.failed else 0)


def seconds_each(call: Callable, wait: Callable, smoke: bool, budget: float = 1.0) -> float:
    """Median seconds of a call when many run one after another; `wait` waits for the device."""
    for _ in range(2):
        call()
    wait()
    if smoke:
        start = time.perf_counter()
        call()
        wait()
        return time.perf_counter() - start
    start = time.perf_counter()
    call()
    wait()
    once = max(1e-6, time.perf_counter() - start)
    repeats = max(3, min(2000, int(budget / 7 / once)))
    found = []
    for _ in range(7):
        start = time.perf_counter()
        for _ in range(repeats):
            call()
        wait()
        found.append((time.perf_counter() - start) / repeats)
    return statistics.median(found)
