"""The profiler of before `rushlight.profiler` (``rushlight.autograd.profiler``)."""

from __future__ import annotations

import warnings

from rushlight.profiler.events import EventList, FunctionEvent, FunctionEventAvg, build_events
from rushlight.profiler.ranges import record_function
from rushlight.profiler.recorder import Recorder

__all__ = [
    "EventList",
    "FunctionEvent",
    "FunctionEventAvg",
    "emit_itt",
    "emit_nvtx",
    "load_nvprof",
    "profile",
    "record_function",
]


class profile:  # noqa: N801 - PyTorch's name
    """Records the ops inside a ``with`` block; `rushlight.profiler.profile` is today's form.

    >>> with rushlight.autograd.profiler.profile() as found:
    ...     _ = rushlight.ones(3).exp()
    >>> any(event.name == "aten::exp" for event in found.function_events)
    True
    """

    def __init__(
        self,
        enabled=True,
        *,
        use_cuda=False,
        use_device=None,
        record_shapes=False,
        with_flops=False,
        profile_memory=False,
        with_stack=False,
        with_modules=False,
        use_kineto=False,
        use_cpu=True,
        experimental_config=None,
        acc_events=False,
        custom_trace_id_callback=None,
        post_processing_timeout_s=None,
    ):
        if with_modules or experimental_config:
            raise NotImplementedError(
                "profile: with_modules is for compiled PyTorch; use with_stack"
            )
        if use_cuda or use_device not in (None, "cpu"):
            warnings.warn("CUDA is not available, disabling CUDA profiling", stacklevel=2)
        self.enabled = bool(enabled)
        self.options = (record_shapes, profile_memory, with_stack, with_flops)
        self.entered = False
        self._recorder: Recorder | None = None
        self._events: EventList | None = None

    def __enter__(self):
        if not self.enabled:
            return None
        if self.entered:
            raise RuntimeError("Profiler context manager is not reentrant")
        self.entered = True
        self._recorder = Recorder(*self.options)
        self._recorder.start()
        return self

    def __exit__(self, *exc):
        if self.enabled:
            self._recorder.stop()
            self._events = build_events(self._recorder)
        return False

    @property
    def function_events(self) -> EventList:
        """Every event."""
        if self._events is None:
            raise RuntimeError("Profiler didn't finish running")
        return self._events

    def key_averages(
        self, group_by_input_shape=False, group_by_stack_n=0, group_by_overload_name=False
    ):
        """Averages by name, shapes or callers."""
        return self.function_events.key_averages(group_by_input_shape, group_by_stack_n)

    def total_average(self):
        """All events added up."""
        return self.function_events.total_average()

    def table(self, *args, **kwargs):
        """The events as a table."""
        return self.function_events.table(*args, **kwargs)

    def export_chrome_trace(self, path):
        """Write the events as a trace."""
        self.function_events.export_chrome_trace(path)

    def export_stacks(self, path, metric="self_cpu_time_total"):
        """Write callers and their microseconds."""
        self.function_events.export_stacks(path, metric)

    @property
    def self_cpu_time_total(self):
        """Microseconds in all events, each counted once."""
        return self.function_events.self_cpu_time_total

    def __str__(self):
        return str(self._events) if self._events is not None else "<unfinished rushlight profile>"

    __repr__ = __str__


class emit_nvtx:  # noqa: N801 - PyTorch's name
    """Ranges for NVIDIA's tools, which need a CUDA device; entering raises when `enabled`."""

    needs = "emit_nvtx: NVTX ranges need a CUDA device"

    def __init__(self, enabled=True, record_shapes=False):
        self.enabled, self.record_shapes = enabled, record_shapes

    def __enter__(self):
        if self.enabled:
            raise RuntimeError(self.needs + "; use rushlight.profiler.profile")
        return self

    def __exit__(self, *exc):
        return False


class emit_itt(emit_nvtx):
    """Ranges for Intel's VTune, whose library is not used here; entering raises when `enabled`."""

    needs = "emit_itt: ITT ranges need Intel's library"


def load_nvprof(path):
    """Refused: traces of nvprof hold CUDA kernels."""
    raise NotImplementedError(
        f"load_nvprof({path!r}): traces of nvprof are not read; open them there"
    )
