"""AdvancedProfiler: Python's own profiler around every action."""

from __future__ import annotations

import cProfile
import io
import os
import pstats

from lightning_lite.profilers.profiler import Profiler


class AdvancedProfiler(Profiler):
    """Which functions an action calls, and how long they take, by `cProfile`.

    `line_count_restriction`: how many lines of each table (an int), or which share of them (a
    float). `dump_stats` also writes `STAGE-filename-ACTION.prof` for other tools. Of actions inside
    of others only the outer one is measured, since Python has one profiler at a time.

    >>> profiler = AdvancedProfiler(line_count_restriction=3)
    >>> with profiler.profile("sum"):
    ...     total = sum(range(10))
    >>> "sum" in profiler.summary()
    True
    """

    def __init__(
        self,
        dirpath: str | os.PathLike | None = None,
        filename: str | None = None,
        line_count_restriction: float = 1.0,
        dump_stats: bool = False,
    ) -> None:
        super().__init__(dirpath, filename)
        self.profiled_actions: dict[str, cProfile.Profile] = {}
        self.line_count_restriction = line_count_restriction
        self.dump_stats = dump_stats
        self._running: list[str] = []

    def start(self, action_name: str) -> None:
        """An action begins."""
        if not self._running:
            self.profiled_actions.setdefault(action_name, cProfile.Profile()).enable()
        self._running.append(action_name)

    def stop(self, action_name: str) -> None:
        """An action ends. ValueError if it is not the one that began last."""
        if not self._running or self._running[-1] != action_name:
            raise ValueError(f"profiler: {action_name!r} ends, but did not begin")
        self._running.pop()
        if not self._running:
            self.profiled_actions[action_name].disable()

    def summary(self) -> str:
        """A table for each action."""
        tables = []
        for action, profile in self.profiled_actions.items():
            text = io.StringIO()
            stats = pstats.Stats(profile, stream=text).strip_dirs().sort_stats("cumulative")
            stats.print_stats(self.line_count_restriction)
            tables.append(f"Profile of {action}\n{text.getvalue().strip()}")
            if self.dump_stats:
                self._dump(action, profile)
        return "\n\n".join(tables)

    def _dump(self, action: str, profile: cProfile.Profile) -> None:
        plain = "".join(each if each.isalnum() or each in "._-" else "_" for each in action)
        path = self._report_path(f"-{plain}.prof")
        path.parent.mkdir(parents=True, exist_ok=True)
        profile.dump_stats(str(path))
