"""`where_does_my_step_go`: one call that runs a few training steps and says what took the time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from time import perf_counter_ns

from rushlight.profiler.events import EventList, time_text
from rushlight.profiler.profile import profile
from rushlight.profiler.table import memory_text

_PHASES = ("data", "forward", "backward", "optimizer", "other")


class StepReport:
    """Where the time of steps went: `phases` and `ops` in seconds a step; `str` is the report."""

    def __init__(
        self,
        steps: int,
        seconds: float,
        phases: dict[str, float],
        averages: EventList,
        advice: list[str],
    ) -> None:
        self.steps, self.seconds, self.phases = steps, seconds, phases
        self.averages, self.advice = averages, advice
        self.ops = {e.key: e.self_cpu_time_total / 1e6 / steps for e in averages}

    def __str__(self):
        total = sum(self.phases.values()) or 1.0
        lines = [f"One step takes {time_text(self.seconds * 1e6)} (mean of {self.steps})", ""]
        for name in _PHASES:
            spent = self.phases[name]
            bar = "#" * round(40 * spent / total)
            lines.append(
                f"{name:>10}  {time_text(spent * 1e6):>10}  {100 * spent / total:5.1f}%  {bar}"
            )
        lines += ["", f"{'Op':<36}{'self, a step':>14}{'share':>8}{'calls':>8}{'new memory':>13}"]
        rows = sorted(self.averages, key=lambda e: -e.self_cpu_time_total)[:12]
        for row in rows:
            spent = row.self_cpu_time_total / 1e6 / self.steps
            lines.append(
                f"{row.key[:35]:<36}{time_text(spent * 1e6):>14}{100 * spent / total:7.1f}%"
                f"{row.count / self.steps:8.1f}"
                f"{memory_text(int(row.self_cpu_memory_usage / self.steps)):>13}"
            )
        return "\n".join([*lines, "", *(f"- {line}" for line in self.advice)])

    __repr__ = __str__


def where_does_my_step_go(
    step: Callable[..., object],
    data: Iterable[object] | None = None,
    *,
    steps: int = 5,
    warmup: int = 2,
) -> StepReport:
    """Run ``step(batch)`` for batches of `data`, or ``step()`` without, and report what took time.

    Waiting for the next batch counts as data; nodes of the backward pass as backward; optimizers'
    steps as optimizer; every other op as forward; and what is left, Python between the ops, as
    other. The first `warmup` steps are not counted.

    >>> weight = rushlight.ones(3, requires_grad=True)
    >>> report = where_does_my_step_go(lambda: (weight * 2).sum().backward(), steps=2)
    >>> sorted(report.phases)
    ['backward', 'data', 'forward', 'optimizer', 'other']
    """
    if not callable(step):
        raise TypeError(
            f"where_does_my_step_go: expected 'step' to be a function, got {type(step).__name__}"
        )
    if steps < 1 or warmup < 0:
        raise ValueError(f"where_does_my_step_go: {steps} steps after {warmup} of warm-up")
    batches = iter(data) if data is not None else None
    waited = spent = 0
    recording = profile(profile_memory=True)
    for number in range(warmup + steps):
        if number == warmup:
            recording.start()
            waited = spent = 0
        begin = perf_counter_ns()
        try:
            given = () if batches is None else (next(batches),)
        except StopIteration:
            recording.stop()
            raise ValueError(
                f"where_does_my_step_go: the data end after {number} batches; {warmup + steps} are "
                "needed"
            ) from None
        waited += perf_counter_ns() - begin
        step(*given)
        spent += perf_counter_ns() - begin
    recording.stop()
    return _report(recording.events(), steps, waited / 1e9 / steps, spent / 1e9 / steps)


def _report(events, steps, waited, seconds):
    phases = dict.fromkeys(_PHASES, 0.0)
    own: dict = defaultdict(float)
    for event in events:
        if event.cpu_parent is None or event.cpu_parent.category == "user_annotation":
            inside = _phase(event)
            if event.category != "user_annotation" or inside == "optimizer":
                if event.cpu_parent is None or _phase(event.cpu_parent) != "optimizer":
                    own[inside] += event.cpu_time_total / 1e6 / steps
    phases.update(own)
    phases["data"] = waited
    phases["other"] = max(seconds - sum(phases.values()), 0.0)
    averages = events.key_averages()
    return StepReport(steps, seconds, phases, averages, _advice(phases, averages, steps))


def _phase(event):
    if event.category == "backward":
        return "backward"
    return "optimizer" if event.name.startswith("Optimizer.step#") else "forward"


def _advice(phases, averages, steps):
    """What the figures suggest."""
    total = sum(phases.values()) or 1.0
    found = []
    if phases["data"] > 0.2 * total:
        found.append("Waiting for data: give the DataLoader num_workers, or do less per item.")
    if phases["other"] > 0.3 * total:
        found.append("Python between the ops takes long: look for loops, .item() and prints.")
    calls = sum(e.count for e in averages) / steps
    if calls > 2000:
        found.append(f"{calls:.0f} ops a step: larger batches, or fewer and larger ops, help.")
    if phases["optimizer"] > 0.25 * total:
        found.append("The optimizer takes long: larger batches, or fewer parameters, help.")
    top = max(averages, key=lambda e: e.self_cpu_time_total, default=None)
    if top is not None:
        found.append(f"The largest single item is {top.key}.")
    return found
