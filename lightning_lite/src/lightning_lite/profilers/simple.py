"""SimpleProfiler: how often every action ran, and how long."""

from __future__ import annotations

import os
import time
from collections import defaultdict

from lightning_lite.profilers.profiler import Profiler


class SimpleProfiler(Profiler):
    """Adds the durations of every action up; the report has the longest first.

    `extended` adds numbers of calls, means and shares of the whole time. `recorded_durations` are
    the seconds of every call, by action.

    >>> profiler = SimpleProfiler()
    >>> with profiler.profile("sum"):
    ...     total = sum(range(10))
    >>> "sum" in profiler.summary()
    True
    """

    def __init__(
        self,
        dirpath: str | os.PathLike | None = None,
        filename: str | None = None,
        extended: bool = True,
    ) -> None:
        super().__init__(dirpath, filename)
        self.current_actions: dict[str, float] = {}
        self.recorded_durations: dict[str, list[float]] = defaultdict(list)
        self.extended = extended
        self.start_time = time.monotonic()

    def start(self, action_name: str) -> None:
        """An action begins. ValueError if it is under way."""
        if action_name in self.current_actions:
            raise ValueError(f"profiler: {action_name!r} begins, but has not ended before")
        self.current_actions[action_name] = time.monotonic()

    def stop(self, action_name: str) -> None:
        """An action ends. ValueError if it is not under way."""
        end = time.monotonic()
        if action_name not in self.current_actions:
            raise ValueError(f"profiler: {action_name!r} ends, but did not begin")
        self.recorded_durations[action_name].append(end - self.current_actions.pop(action_name))

    def summary(self) -> str:
        """The table."""
        whole = time.monotonic() - self.start_time
        rows = [(name, len(times), sum(times)) for name, times in self.recorded_durations.items()]
        rows.sort(key=lambda row: row[2], reverse=True)
        table = [("Action", "calls", "mean (s)", "total (s)", "share")] + [
            (name, str(n), f"{t / n:.3g}", f"{t:.5g}", f"{t / whole:.1%}") for name, n, t in rows
        ]
        if not self.extended:
            table = [(name, "", mean, total, "") for name, _, mean, total, _ in table]
        widths = [max(len(row[k]) for row in table) for k in range(len(table[0]))]
        lines = [
            row[0].ljust(widths[0])
            + "".join("  " + cell.rjust(w) for cell, w in zip(row[1:], widths[1:], strict=True))
            for row in table
        ]
        head = f"Profiler: {len(rows)} actions in {whole:.5g} s"
        return "\n".join([head, lines[0], "-" * len(lines[0]), *lines[1:]])
