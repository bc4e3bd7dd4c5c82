"""How long a statement takes: repeated runs, their median and how much they scatter."""

from __future__ import annotations

import timeit
from statistics import fmean, median, quantiles
from typing import Any

from rushlight.inspection import get_num_threads, set_num_threads
from rushlight.refusals import refusal

_UNITS = (("s", 1.0), ("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9))


class Measurement:
    """Times of one statement: `raw_times` in seconds, each of `number_per_run` runs."""

    def __init__(self, number_per_run, raw_times, num_threads, statement, labels):
        self.number_per_run, self.raw_times = number_per_run, raw_times
        self.num_threads, self.stmt = num_threads, statement
        self.label, self.sub_label, self.description, self.env = labels

    @property
    def times(self) -> list:
        """Seconds per run, for each repetition."""
        return [t / self.number_per_run for t in self.raw_times]

    @property
    def mean(self) -> float:
        """The mean of `times`."""
        return fmean(self.times)

    @property
    def median(self) -> float:
        """The median of `times`."""
        return median(self.times)

    @property
    def iqr(self) -> float:
        """The distance between the first and the third quartile of `times`."""
        if len(self.raw_times) < 2:
            return 0.0
        first, _, third = quantiles(self.times, n=4, method="inclusive")
        return third - first

    @property
    def title(self) -> str:
        """The labels, or the statement where there are none."""
        names = [self.label or self.stmt, self.sub_label]
        return ": ".join(str(name) for name in names if name)

    def __repr__(self):
        unit, size = next((u for u in _UNITS if self.median >= u[1]), _UNITS[-1])
        lines = [f"<{type(self).__module__}.Measurement>", self.title]
        lines.append(f"  Median: {self.median / size:.2f} {unit}")
        if len(self.raw_times) > 1:
            lines.append(f"  IQR:    {self.iqr / size:.2f} {unit}")
        runs = f"{self.number_per_run} run{'s' * (self.number_per_run > 1)}"
        threads = f"{self.num_threads} thread{'s' * (self.num_threads > 1)}"
        lines.append(f"  {len(self.raw_times)} measurements, {runs} per measurement, {threads}")
        return "\n".join(lines)


class Timer:
    """Times a Python statement on `num_threads` threads; results are :class:`Measurement`.

    >>> timer = rushlight.utils.benchmark.Timer("x + x", globals={"x": rushlight.ones(10)})
    >>> timer.timeit(100).number_per_run
    100
    """

    def __init__(
        self,
        stmt: str = "pass",
        setup: str = "pass",
        global_setup: str = "",
        timer=timeit.default_timer,
        globals: dict[str, Any] | None = None,
        label: str | None = None,
        sub_label: str | None = None,
        description: str | None = None,
        env: str | None = None,
        num_threads: int = 1,
        language="python",
    ):
        if str(language).lower() not in ("python", "py", "language.python"):
            raise refusal("utils.benchmark.Timer(language='c++')")
        if global_setup:
            raise ValueError("global_setup is for C++; put Python into setup")
        import rushlight

        self._statement, self._num_threads = stmt, num_threads
        self._labels = label, sub_label, description, env
        space = {"rushlight": rushlight, "torch": rushlight, **(globals or {})}
        self._timer = timeit.Timer(stmt, setup, timer, space)

    def _times(self, number, repetitions):
        before = get_num_threads()
        set_num_threads(self._num_threads)
        try:
            return [self._timer.timeit(number) for _ in range(repetitions)]
        finally:
            set_num_threads(before)

    def _measurement(self, number, times):
        return Measurement(number, times, self._num_threads, self._statement, self._labels)

    def timeit(self, number: int = 1_000_000) -> Measurement:
        """One measurement of `number` runs, after a few that are not counted."""
        self._times(max(number // 100, 2), 1)
        return self._measurement(number, self._times(number, 1))

    def _block(self, min_run_time):
        """How many runs take a thousandth of the time there is, or 10 microseconds."""
        number = 1
        self._times(2, 1)
        while True:
            (spent,) = self._times(number, 1)
            if spent >= max(min_run_time / 1000, 1e-5) or number >= 1 << 30:
                return number
            number *= 10

    def blocked_autorange(self, callback=None, min_run_time: float = 0.2) -> Measurement:
        """Blocks of equally many runs until `min_run_time` seconds are spent in them;
        ``callback(number, seconds)`` sees every block."""
        number = self._block(min_run_time)
        times: list[float] = []
        while sum(times) < min_run_time:
            times += self._times(number, 1)
            if callback is not None:
                callback(number, times[-1])
        return self._measurement(number, times)

    def adaptive_autorange(
        self,
        threshold: float = 0.1,
        *,
        min_run_time: float = 0.01,
        max_run_time: float = 10.0,
        callback=None,
    ) -> Measurement:
        """Blocks until the quartiles are within `threshold` of the median, and `min_run_time`
        seconds are spent, or `max_run_time` are."""
        number = self._block(min_run_time)
        times: list[float] = []
        while sum(times) < max_run_time:
            times += self._times(number, 1)
            if callback is not None:
                callback(number, times[-1])
            found = self._measurement(number, times)
            enough = len(times) > 3 and sum(times) >= min_run_time
            if enough and found.iqr / found.median < threshold:
                break
        return self._measurement(number, times)
