"""`profile`: records by a schedule and hands every finished recording to a function."""

from __future__ import annotations

import enum
import json
import os
import socket
import time
import warnings
from collections.abc import Callable, Iterable
from time import perf_counter_ns

from rushlight.profiler.events import EventList, build_events
from rushlight.profiler.recorder import Recorder
from rushlight.profiler.trace import write_trace


class ProfilerActivity(enum.Enum):
    """What a profile may look at. Only the CPU is there."""

    CPU = 0
    XPU = 1
    MTIA = 2
    CUDA = 3
    HPU = 4
    PrivateUse1 = 5


class ProfilerAction(enum.Enum):
    """What a profiler does in a step."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


def supported_activities() -> set[ProfilerActivity]:
    """What can be profiled here."""
    return {ProfilerActivity.CPU}


def schedule(
    *,
    wait: int,
    warmup: int,
    active: int,
    repeat: int = 0,
    skip_first: int = 0,
    skip_first_wait: int = 0,
) -> Callable:
    """The action of each step: skip the first, then in cycles wait, warm up and record.

    `repeat` cycles, or for ever when it is 0; with `skip_first_wait` the first cycle does not wait.

    >>> plan = rushlight.profiler.schedule(wait=1, warmup=1, active=2, repeat=1)
    >>> [plan(step).name for step in range(5)]
    ['NONE', 'WARMUP', 'RECORD', 'RECORD_AND_SAVE', 'NONE']
    """
    if min(wait, warmup, repeat, skip_first) < 0 or active <= 0:
        raise AssertionError("Invalid profiler schedule arguments")
    if warmup == 0:
        warnings.warn(
            "Profiler won't be using warmup, this can skew profiler results", stacklevel=2
        )

    def action(step: int) -> ProfilerAction:
        if step < 0:
            raise AssertionError(f"Step must be non-negative. Got {step}.")
        if step < skip_first:
            return ProfilerAction.NONE
        step -= skip_first
        if skip_first_wait:
            step += wait
        cycle = wait + warmup + active
        if repeat and step // cycle >= repeat:
            return ProfilerAction.NONE
        place = step % cycle
        if place < wait:
            return ProfilerAction.NONE
        if place < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD if place < cycle - 1 else ProfilerAction.RECORD_AND_SAVE

    return action


def tensorboard_trace_handler(
    dir_name: str, worker_name: str | None = None, use_gzip=False
) -> Callable:
    """A function for `on_trace_ready` that writes every trace to a folder, under a name that
    TensorBoard's profile plugin reads."""

    def write(profiler) -> None:
        os.makedirs(dir_name, exist_ok=True)
        worker = worker_name or f"{socket.gethostname()}_{os.getpid()}"
        end = ".pt.trace.json.gz" if use_gzip else ".pt.trace.json"
        profiler.export_chrome_trace(os.path.join(dir_name, f"{worker}.{time.time_ns()}{end}"))

    return write


class profile:  # noqa: N801 - PyTorch's name
    """Records which ops ran, how long each took, forward and backward.

    - `activities`: what to look at; there is only the CPU.
    - `schedule`: what to do in each step (see :func:`schedule`), with :meth:`step` after each;
      without it everything is recorded.
    - `on_trace_ready`: called with this object whenever a recording is finished.
    - `record_shapes`: keep the sizes of inputs; `with_stack`: the lines of the program that called;
      `profile_memory`: the bytes of new results; `with_flops`: multiplications and additions of
      matrix products and convolutions.

    Times of the backward pass stand under its nodes (``MmBackward0``); ops of other threads are not
    seen. Bytes are counted where results are made; what is released is not.

    >>> with rushlight.profiler.profile() as found:
    ...     _ = rushlight.ones(3) + 1
    >>> [event.key for event in found.key_averages() if "add" in event.key]
    ['aten::add']
    """

    def __init__(
        self,
        *,
        activities: Iterable[ProfilerActivity] | None = None,
        schedule: Callable[[int], ProfilerAction] | None = None,
        on_trace_ready: Callable[[profile], object] | None = None,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_flops: bool = False,
        with_modules: bool = False,
        experimental_config: None = None,
        execution_trace_observer: None = None,
        acc_events: bool = False,
        use_cuda: bool | None = None,
        custom_trace_id_callback: Callable[[], str] | None = None,
        post_processing_timeout_s: float | None = None,
    ):
        for name, value in (
            ("with_modules", with_modules), ("experimental_config", experimental_config),
            ("execution_trace_observer", execution_trace_observer),
        ):  # fmt: skip
            if value:
                raise NotImplementedError(
                    f"profile: {name} is for PyTorch's compiled parts; name ranges with "
                    "record_function, or use with_stack=True"
                )
        asked = set(activities) if activities is not None else supported_activities()
        if not asked:
            raise AssertionError("No valid profiler activities found")
        for activity in (asked | ({ProfilerActivity.CUDA} if use_cuda else set())) - (
            supported_activities()
        ):
            warnings.warn(
                f"{activity.name} is not available, disabling its profiling", stacklevel=2
            )
        self.activities = asked & supported_activities()
        self.schedule = schedule or (lambda step: ProfilerAction.RECORD)
        self.record_steps = schedule is not None
        self.on_trace_ready, self.acc_events = on_trace_ready, acc_events
        self.record_shapes, self.profile_memory = record_shapes, profile_memory
        self.with_stack, self.with_flops = with_stack, with_flops
        self.step_num = 0
        self.current_action = self.schedule(0)
        self.profiler: Recorder | None = None
        self._events: EventList | None = None
        self._earlier: list = []
        self._metadata: dict = {}
        self._step_began = 0

    # -------------------------------------------------------------------------------- on and off
    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *exc):
        self.stop()

    def start(self) -> None:
        """Do what the schedule says of the first step."""
        self._step_began = perf_counter_ns()
        if self.current_action in _RECORDING:
            self._record()

    def stop(self) -> None:
        """Finish; a recording that is under way is handed on."""
        if self.profiler is not None and self.profiler.running:
            self._note_step()
            self._finish()
            if self.on_trace_ready is not None:
                self.on_trace_ready(self)

    def step(self) -> None:
        """Say that a step of the program is over."""
        self._note_step()
        before = self.current_action
        self.step_num += 1
        self.current_action = self.schedule(self.step_num)
        running = self.profiler is not None and self.profiler.running
        saved = before is ProfilerAction.RECORD_AND_SAVE
        if running and (saved or self.current_action not in _RECORDING):
            self._finish()
            if self.on_trace_ready is not None:
                self.on_trace_ready(self)
            running = False
        if self.current_action in _RECORDING and not running:
            self._record()
        self._step_began = perf_counter_ns()

    def _note_step(self):
        recorder = self.profiler
        if self.record_steps and recorder is not None and recorder.running:
            begin = max(self._step_began, recorder.begin)
            recorder.note(f"ProfilerStep#{self.step_num}", begin)

    def _record(self):
        self._events = None
        self.profiler = Recorder(
            self.record_shapes, self.profile_memory, self.with_stack, self.with_flops
        )
        self.profiler.start()

    def _finish(self):
        self.profiler.stop()
        if self.acc_events:
            self._earlier += self.profiler.spans
            self.profiler.spans = list(self._earlier)

    def toggle_collection_dynamic(self, enable: bool, activities) -> None:
        """Pause and go on inside of a recording."""
        recorder = self._recorder()
        if ProfilerActivity.CPU in set(activities) and recorder.running:
            inside = any(item is recorder for item in _interpreters())
            if inside != enable:
                recorder._watch(enable)

    # ------------------------------------------------------------------------------- what is found
    def _recorder(self):
        if self.profiler is None:
            raise AssertionError(
                "Profiler must be initialized: nothing has been recorded; enter it, and with a "
                "schedule call step() often enough"
            )
        return self.profiler

    def events(self) -> EventList:
        """Every event of the last recording, in the order of their beginnings."""
        recorder = self._recorder()
        if recorder.running:
            raise AssertionError("Profiler is still running; leave it before asking for events")
        if self._events is None:
            self._events = build_events(recorder)
        return self._events

    def key_averages(
        self,
        group_by_input_shape: bool = False,
        group_by_stack_n: int = 0,
        group_by_overload_name: bool = False,
    ) -> EventList:
        """Averages by name, and by shapes (`record_shapes`) or callers (`with_stack`)."""
        return self.events().key_averages(group_by_input_shape, group_by_stack_n)

    def export_chrome_trace(self, path: str) -> None:
        """Write the events as a trace that ``chrome://tracing`` and Perfetto open; packed when the
        path ends in ``.gz``."""
        write_trace(self.events(), path, self._metadata)

    def export_stacks(self, path: str, metric: str = "self_cpu_time_total") -> None:
        """Write callers and their microseconds, as flame graph tools read them."""
        self.events().export_stacks(path, metric)

    def add_metadata(self, key: str, value: str) -> None:
        """Put a text into the traces."""
        self._metadata[key] = value

    def add_metadata_json(self, key: str, value: str) -> None:
        """Put JSON into the traces."""
        self._metadata[key] = json.loads(value)

    preset_metadata_json = add_metadata_json


def _interpreters():
    from rushlight.tensor.dispatch import stack

    return stack.interpreters


_RECORDING = (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)
