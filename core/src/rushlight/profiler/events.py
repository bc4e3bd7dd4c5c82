"""What a profile holds: events with their children, averages of them, and the table of both."""

from __future__ import annotations

from collections import defaultdict

from rushlight.profiler.table import make_table


class Interval:
    """Microseconds from `start` to `end`."""

    def __init__(self, start, end):
        self.start, self.end = start, end

    def elapsed_us(self):
        """How long it is."""
        return self.end - self.start


def time_text(microseconds) -> str:
    """A time as tables print it."""
    if microseconds >= 1e6:
        return f"{microseconds / 1e6:.3f}s"
    if microseconds >= 1e3:
        return f"{microseconds / 1e3:.3f}ms"
    return f"{microseconds:.3f}us"


class _Times:
    """Texts of times, and the figures of devices that are not there."""

    device_time = device_time_total = self_device_time_total = 0
    device_memory_usage = self_device_memory_usage = 0
    is_async = is_remote = is_legacy = False
    use_device = None

    @property
    def cpu_time(self):
        """Microseconds of one call on average."""
        return self.cpu_time_total / self.count if self.count else 0.0

    @property
    def cpu_time_str(self):
        """The same, as text."""
        return time_text(self.cpu_time)

    @property
    def cpu_time_total_str(self):
        """All microseconds with what was called inside, as text."""
        return time_text(self.cpu_time_total)

    @property
    def self_cpu_time_total_str(self):
        """All microseconds without what was called inside, as text."""
        return time_text(self.self_cpu_time_total)


class FunctionEvent(_Times):
    """One call: an op, a node of the backward pass, or a range the user named."""

    count = 1

    def __init__(self, number, span, origin):
        self.id, self.name, self.key = number, span.name, span.name
        self.category, self.thread, self.fwd_thread = span.category, span.thread, None
        self.time_range = Interval((span.begin - origin) / 1e3, (span.end - origin) / 1e3)
        self.input_shapes = span.shapes if span.shapes is not None else ()
        self.stack = span.stack or []
        self.flops, self.own_bytes = span.flops, span.bytes
        self.sequence_nr = span.sequence
        self.cpu_children: list[FunctionEvent] = []
        self.cpu_parent: FunctionEvent | None = None
        self.kernels: list = []

    @property
    def scope(self):
        """0 for ops, 1 for nodes of the backward pass, 7 for the user's ranges."""
        return {"cpu_op": 0, "backward": 1}.get(self.category, 7)

    is_user_annotation = property(
        lambda self: self.category == "user_annotation", doc="Whether the user named it."
    )

    @property
    def cpu_time_total(self):
        """Microseconds from begin to end."""
        return self.time_range.elapsed_us()

    @property
    def self_cpu_time_total(self):
        """Microseconds outside of the events it called."""
        return self.cpu_time_total - sum(child.cpu_time_total for child in self.cpu_children)

    @property
    def cpu_memory_usage(self):
        """Bytes of new results, those of the events it called included."""
        return self.own_bytes + sum(child.cpu_memory_usage for child in self.cpu_children)

    @property
    def self_cpu_memory_usage(self):
        """Bytes of its own new results."""
        return self.own_bytes

    def __repr__(self):
        return (
            f"<FunctionEvent id={self.id} name={self.name} cpu_time={self.cpu_time_str} "
            f"thread={self.thread} input_shapes={self.input_shapes}>"
        )


class FunctionEventAvg(_Times):
    """Events of one name (and shapes, and callers) added up."""

    def __init__(self):
        self.key = self.input_shapes = self.stack = self.scope = None
        self.count = 0
        self.cpu_time_total = self.self_cpu_time_total = 0.0
        self.cpu_memory_usage = self.self_cpu_memory_usage = 0
        self.flops = 0
        self.is_user_annotation = False
        self.cpu_children: list = []

    def add(self, other):
        """Add an event or another average."""
        if self.key is None:
            self.key, self.input_shapes, self.stack = other.key, other.input_shapes, other.stack
            self.scope = other.scope
            self.is_user_annotation = other.is_user_annotation
        self.count += other.count
        self.cpu_time_total += other.cpu_time_total
        self.self_cpu_time_total += other.self_cpu_time_total
        self.cpu_memory_usage += other.cpu_memory_usage
        self.self_cpu_memory_usage += other.self_cpu_memory_usage
        self.flops += other.flops
        return self

    __iadd__ = add

    def __repr__(self):
        return (
            f"<FunctionEventAvg key={self.key} self_cpu_time={self.self_cpu_time_total_str} "
            f"cpu_time={self.cpu_time_str} count={self.count}>"
        )


class EventList(list):
    """Events, or averages of events."""

    def __init__(self, events=(), memory=False, flops=False, duration=None):
        super().__init__(events)
        self._memory, self._flops, self._duration = memory, flops, duration

    @property
    def self_cpu_time_total(self):
        """Microseconds in all events, each counted once."""
        return sum(event.self_cpu_time_total for event in self)

    def key_averages(
        self, group_by_input_shape=False, group_by_stack_n=0, group_by_overload_name=False
    ):
        """Averages by name, and by shapes or by the `group_by_stack_n` nearest callers."""
        groups: dict = defaultdict(FunctionEventAvg)
        for event in self:
            shapes = str(event.input_shapes) if group_by_input_shape else ""
            callers = tuple(event.stack[:group_by_stack_n]) if group_by_stack_n else ()
            groups[event.key, event.is_user_annotation, shapes, callers].add(event)
        for (_, _, _, callers), average in groups.items():
            average.stack = list(callers)
            if not group_by_input_shape:
                average.input_shapes = ""
        return EventList(groups.values(), self._memory, self._flops, self._duration)

    def total_average(self):
        """All events added up, under the name ``Total``."""
        total = FunctionEventAvg()
        for event in self:
            total += event
        total.key = "Total"
        return total

    def table(
        self,
        sort_by=None,
        row_limit=100,
        max_src_column_width=75,
        max_name_column_width=55,
        max_shapes_column_width=80,
        header=None,
        top_level_events_only=False,
        time_unit=None,
    ) -> str:
        """The events as a table, the largest of the column `sort_by` first."""
        widths = max_name_column_width, max_shapes_column_width, max_src_column_width
        return make_table(
            self, sort_by, row_limit, widths, header, top_level_events_only, self._memory,
            self._flops, time_unit,
        )  # fmt: skip

    def __str__(self):
        return self.table()

    def export_chrome_trace(self, path):
        """Write the events as a trace that ``chrome://tracing`` and Perfetto open."""
        from rushlight.profiler.trace import write_trace

        write_trace(self, path)

    def export_stacks(self, path, metric="self_cpu_time_total"):
        """Write callers and their microseconds, as flame graph tools read them."""
        if metric not in ("self_cpu_time_total", "self_device_time_total", "self_cuda_time_total"):
            raise ValueError(
                "metric should be one of: ['self_cpu_time_total', 'self_device_time_total']"
            )
        with open(path, "w", encoding="utf-8") as file:
            for event in self:
                value = getattr(event, metric, 0)
                if event.stack and int(value) > 0:
                    frames = [f.translate(_NO_SEPARATORS) for f in reversed(event.stack)]
                    file.write(";".join([*frames, event.key]) + f" {int(value)}\n")


_NO_SEPARATORS = str.maketrans(" ;\t\n", "____")


def build_events(recorder) -> EventList:
    """The recorder's spans as events, with parents and children by thread and time."""
    origin = recorder.begin
    spans = sorted(recorder.spans, key=lambda s: (s.begin, -s.end))
    events = [FunctionEvent(number, span, origin) for number, span in enumerate(spans)]
    open_ones: dict = defaultdict(list)
    for event in events:
        waiting = open_ones[event.thread]
        while waiting and waiting[-1].time_range.end < event.time_range.end:
            waiting.pop()
        while waiting and waiting[-1].time_range.end <= event.time_range.start:
            waiting.pop()
        if waiting:
            event.cpu_parent = waiting[-1]
            waiting[-1].cpu_children.append(event)
            if waiting[-1].flops:  # counted as a whole already
                event.flops = 0
        waiting.append(event)
    duration = (recorder.end - recorder.begin) / 1e3
    return EventList(events, recorder.memory, recorder.flops, duration)
