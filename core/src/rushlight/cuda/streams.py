"""Streams, orders of execution on a GPU, and events, marks in them."""

from __future__ import annotations

import contextlib

from rushlight import devices
from rushlight.cuda import index_of, is_available, needs_gpu
from rushlight.machine.cuda import runtime

_slots = runtime.streams


def _require(name):
    if not is_available():
        raise RuntimeError(
            f"rushlight.cuda.{name}: this version computes on the CPU only; guard GPU code with "
            "rushlight.cuda.is_available()"
        )


class Stream:
    """An order of execution on a GPU; the work of different streams may overlap."""

    def __init__(self, device=None, priority=0, *, stream_id: int | None = None, **kwargs):
        _require(type(self).__name__)
        index = index_of(device)
        self._maker = None  # the runtime to give the stream back to
        if stream_id is None:
            self._maker = runtime.current()
            stream_id = self._maker.stream_create(index, priority)
        self.stream_id, self.priority = stream_id, priority
        self.device = devices.cuda_device(_slots.device_of(stream_id))

    def __del__(self):
        if self.__dict__.get("_maker") is not None and "stream_id" in self.__dict__:
            with contextlib.suppress(Exception):
                self._maker.stream_destroy(self.stream_id)

    device_index = property(lambda self: self.device.index, doc="The GPU's number.")
    device_type = property(lambda self: 1, doc="The kind of device, as PyTorch numbers it.")

    @property
    def cuda_stream(self) -> int:
        """CUDA's own handle, for other libraries."""
        return runtime.current().stream_pointer(self.stream_id)

    def synchronize(self) -> None:
        """Wait for the work of the stream."""
        runtime.current().stream_synchronize(self.stream_id)

    def query(self) -> bool:
        """Whether all its work is done."""
        return runtime.current().stream_query(self.stream_id)

    def record_event(self, event=None) -> Event:
        """An event that happens when the work so far is done."""
        event = Event() if event is None else event
        event.record(self)
        return event

    def wait_event(self, event) -> None:
        """Later work of this stream waits for an event."""
        event.wait(self)

    def wait_stream(self, stream) -> None:
        """Later work of this stream waits for what another one has now."""
        self.wait_event(stream.record_event())

    def __enter__(self):
        self._context = StreamContext(self)
        self._context.__enter__()
        return self

    def __exit__(self, *exc):
        return self._context.__exit__(*exc)

    def __eq__(self, other):
        return isinstance(other, Stream) and other.stream_id == self.stream_id

    def __hash__(self):
        return hash(("stream", self.stream_id))

    def __repr__(self):
        return f"<rushlight.cuda.Stream device={self.device} cuda_stream={self.cuda_stream:#x}>"


class ExternalStream(Stream):
    """A stream made by another library, given by CUDA's handle."""

    def __init__(self, stream_ptr: int, device=None, **kwargs):
        _require("ExternalStream")
        adopt = getattr(runtime.current(), "stream_adopt", None)
        if adopt is None:
            raise NotImplementedError(
                f"ExternalStream({stream_ptr:#x}): the {runtime.current().name} runtime takes no "
                "streams of other libraries; use Stream()"
            )
        super().__init__(stream_id=adopt(stream_ptr, index_of(device)))


class Event:
    """A mark in a stream: to wait for it, or to measure the time between two."""

    def __init__(self, enable_timing=False, blocking=False, interprocess=False, external=False):
        _require("Event")
        if interprocess:
            raise NotImplementedError(
                "cuda.Event(interprocess=True): events are not shared between processes; wait with "
                "synchronize() before handing work over"
            )
        self._timing, self._handle, self._maker = enable_timing, None, None

    def _made(self):
        if self._handle is None:
            self._maker = runtime.current()
            self._handle = self._maker.event_create(self._timing, _slots.current_device())
        return self._handle

    def __del__(self):
        if self.__dict__.get("_handle") is not None:
            with contextlib.suppress(Exception):
                self._maker.event_destroy(self._handle)

    def record(self, stream=None) -> None:
        """Mark the work that a stream (the current one by default) has now."""
        stream = current_stream() if stream is None else stream
        runtime.current().event_record(self._made(), stream.stream_id)

    def wait(self, stream=None) -> None:
        """Later work of a stream (the current one by default) waits for the event."""
        stream = current_stream() if stream is None else stream
        runtime.current().stream_wait_event(stream.stream_id, self._made())

    def query(self) -> bool:
        """Whether the marked work is done."""
        return runtime.current().event_query(self._made())

    def synchronize(self) -> None:
        """Wait for the marked work."""
        runtime.current().event_synchronize(self._made())

    def elapsed_time(self, end_event) -> float:
        """Milliseconds from this event to another one."""
        return runtime.current().event_elapsed(self._made(), end_event._made())

    def __repr__(self):
        return f"<rushlight.cuda.Event {self._handle if self._handle else 'uninitialized'}>"


def current_stream(device=None) -> Stream:
    """The stream that this thread uses on a GPU."""
    needs_gpu("current_stream")
    return Stream(stream_id=_slots.current(index_of(device)))


def default_stream(device=None) -> Stream:
    """The default stream of a GPU."""
    needs_gpu("default_stream")
    return Stream(stream_id=_slots.default(index_of(device)))


def set_stream(stream: Stream | None) -> None:
    """Use a stream on its GPU from now on, in this thread; None changes nothing."""
    needs_gpu("set_stream")
    if stream is not None:
        _slots.set_current(stream.stream_id)


class StreamContext:
    """A context in which a stream is the current one, and its GPU the current GPU."""

    def __init__(self, stream: Stream | None):
        self.stream = stream

    def __enter__(self):
        if self.stream is not None:
            self._device = _slots.set_device(self.stream.device.index)
            self._before = _slots.set_current(self.stream.stream_id)
        return self

    def __exit__(self, *exc):
        if self.stream is not None:
            _slots.set_current(self._before)
            _slots.set_device(self._device)
        return False


def stream(stream: Stream | None) -> contextlib.AbstractContextManager:
    """A context that makes a stream the current one; None changes nothing."""
    if stream is None:
        return contextlib.nullcontext()
    if not isinstance(stream, Stream):
        raise RuntimeError(
            "rushlight.cuda.stream: expected a Stream or None (there are no streams without a "
            f"GPU), got {type(stream).__name__}"
        )
    return StreamContext(stream)


__all__ = [
    "Event",
    "ExternalStream",
    "Stream",
    "StreamContext",
    "current_stream",
    "default_stream",
    "set_stream",
    "stream",
]
