"""Streams and events of any device, under the names ``torch.Stream`` and ``torch.Event``.

On a GPU they are those of :mod:`rushlight.cuda`. On the CPU there is one order of execution, that
of the program: all its work is done when a call returns.
"""

from __future__ import annotations

from rushlight import cuda, devices


def _device(given):
    found = devices.get_default_device() if given is None else devices.as_device(given)
    return found if isinstance(found, devices.device) else devices.device(found)


class Stream:
    """An order of execution on a device.

    device: by default the one that new tensors are made on. Of a GPU, the result is a
        :class:`rushlight.cuda.Stream`.
    priority: of a GPU's stream.
    """

    def __new__(cls, device=None, *, priority: int = 0):
        """The stream of the CPU, or a new one of a GPU."""
        place = _device(device)
        if place.type == "cuda":
            return cuda.Stream(place, priority)
        made = super().__new__(cls)
        made.device = place
        return made

    # -1 is the number of a device that has none.
    device_index = property(lambda self: -1, doc="The device's number: the CPU has none.")
    device_type = property(lambda self: 0, doc="The kind of device, as PyTorch numbers it.")
    stream_id = property(lambda self: 0, doc="The stream's number: there is one.")

    def query(self) -> bool:
        """Whether all its work is done: always."""
        return True

    def synchronize(self) -> None:
        """Wait for the work of the stream: it is done."""

    def wait_event(self, event) -> None:
        """Later work waits for an event: everything happens in order."""

    def wait_stream(self, stream) -> None:
        """Refused, as in PyTorch: the CPU has no events."""
        raise _without_events()

    def record_event(self, event=None):
        """Refused, as in PyTorch: the CPU has no events."""
        raise _without_events()

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        return None

    def __eq__(self, other):
        return isinstance(other, Stream) and other.device == self.device

    def __hash__(self):
        return hash(("stream", str(self.device)))

    def __repr__(self):
        return f"rushlight.Stream device_type={self.device.type}, device_index=-1, stream_id=0"


class Event:
    """A mark in a stream; of a GPU, a :class:`rushlight.cuda.Event`.

    device: by default the one that new tensors are made on. An event of the CPU can be made, and
        cannot be recorded.
    """

    def __new__(cls, device=None, *, enable_timing=False, blocking=False, interprocess=False):
        """An event of a device."""
        place = _device(device)
        if place.type == "cuda":
            return cuda.Event(enable_timing, blocking, interprocess)
        made = super().__new__(cls)
        made.device = place
        return made

    def record(self, stream=None) -> None:
        """Refused, as in PyTorch: the CPU has no events."""
        raise _without_events()

    wait = record

    def query(self) -> bool:
        """Whether the marked work is done: nothing is marked."""
        return True

    def synchronize(self) -> None:
        """Wait for the marked work: nothing is marked."""

    def __repr__(self):
        return f"rushlight.Event device_type={self.device.type}, device_index=-1, event_id=0"


def _without_events():
    return RuntimeError(
        "cpu backend doesn't support events: everything on the CPU happens in the order of the "
        "program"
    )
