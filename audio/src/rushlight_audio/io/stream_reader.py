"""Sound and video read chunk by chunk, through FFmpeg's filters, with torchaudio's names."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import rushlight as rl
from rushlight_audio.io import media
from rushlight_audio.io.stream_choice import StreamChoice

if TYPE_CHECKING:
    from os import PathLike
    from typing import BinaryIO

__all__ = ["StreamReader"]

_MODES = ("precise", "key", "any")
# Seconds decoded before the one asked for, so that the decoder's state is what it would be.
_LEAD = 1.0


class StreamReader(StreamChoice):
    """Streams of a file, in chunks; needs PyAV (``pip install rushlight-audio[av]``).

    Args:
        src: path, address, device, bytes, or a binary file object.
        format: name of a demuxer or a device's kind; None to find it in the file.
        option: options of the demuxer: ``{"sample_rate": "8000"}`` of raw samples.
        buffer_size: bytes asked of a file object at once.

    Example:
        >>> import io, rushlight as rl, rushlight_audio as ra
        >>> file = io.BytesIO()
        >>> ra.save(file, rl.zeros(1, 2500), 8000, format="wav")
        >>> reader = StreamReader(file.getvalue())
        >>> reader.add_basic_audio_stream(frames_per_chunk=1000)
        >>> [chunk.shape[0] for (chunk,) in reader.stream()]
        [1000, 1000, 500]

    """

    def __init__(
        self,
        src: str | PathLike[str] | bytes | BinaryIO,
        format: str | None = None,
        option: dict[str, str] | None = None,
        buffer_size: int = 4096,
    ):
        super().__init__(media.opened("StreamReader", src, format, option, buffer_size))
        self._begin: float | None = None
        self._skips_faults = False
        self._ended = False

    def seek(self, timestamp: float, mode: str = "precise") -> None:
        """Go on at a time; what is buffered is dropped.

        Args:
            timestamp: seconds from the beginning, 0 or more.
            mode: ``"precise"``: the first sample or picture is the one of that time, as exactly as
                the file counts time; ``"key"``: the key frame before it; ``"any"``: the frame
                nearest before it; what cannot be decoded without those before it is skipped.
        """
        if timestamp < 0:
            raise ValueError(f"seek(): timestamp must be 0 or more, got {timestamp}")
        if mode not in _MODES:
            raise ValueError(f"seek(): mode must be one of {list(_MODES)}, got {mode!r}")
        lead = _LEAD if mode == "precise" else 0.0
        with media.named("seek", self._container.name):
            target = int(max(timestamp - lead, 0.0) * 1_000_000)
            self._container.seek(target, any_frame=mode == "any")
        self._begin = timestamp if mode == "precise" else None
        self._skips_faults = mode == "any"
        self._packets, self._ended = None, False
        for output in self._outputs:
            output.reset()

    def process_packet(self, timeout: float | None = None, backoff: float = 10.0) -> int:
        """Read one packet of the file and decode it; 1 where there is no more, else 0.

        Args:
            timeout: milliseconds for which a device that has nothing yet is asked again; None for
                as long as it takes.
            backoff: milliseconds between two questions.
        """
        import av

        end = None if timeout is None else time.monotonic() + timeout / 1000
        while True:
            try:
                return self._processed()
            except av.BlockingIOError:
                if end is not None and time.monotonic() > end:
                    raise RuntimeError(
                        f"process_packet(): nothing came within {timeout} ms"
                    ) from None
                time.sleep(backoff / 1000)

    def _processed(self) -> int:
        if self._ended or not self._outputs:
            return self._end()
        with media.named("process_packet", self._container.name):
            if self._packets is None:
                used = {output.source.index: output.source for output in self._outputs}
                self._packets = self._container.demux(*used.values())
            packet = next(self._packets, None)
            if packet is None:
                return self._end()
            for frame in self._decoded(packet):
                self._send(packet.stream.index, frame)
        return 0

    def _decoded(self, packet: Any) -> list[Any]:
        """A packet's frames; one without data makes the decoder give what it has kept back."""
        import av

        try:
            return packet.decode()
        except av.InvalidDataError:
            if not self._skips_faults:
                raise
            return []

    def _send(self, index: int, frame: Any) -> None:
        if self._begin is not None:
            frame = media.from_time(frame, self._begin)
        if frame is not None:
            for output in self._outputs:
                if output.source.index == index:
                    output.take(frame)

    def _end(self) -> int:
        if not self._ended:
            self._ended = True
            for output in self._outputs:
                output.take(None)
        return 1

    def process_all_packets(self) -> None:
        """Read the file to its end; buffers that are too small keep its end alone."""
        while not self.process_packet():
            pass

    def is_buffer_ready(self) -> bool:
        """Whether every output has a chunk."""
        return all(output.is_ready for output in self._outputs)

    def pop_chunks(self) -> tuple[rl.Tensor | None, ...]:
        """The next chunk of every output, None of those that have none; a chunk's `pts` is the
        time of its beginning in seconds."""
        return tuple(output.pop() for output in self._outputs)

    def fill_buffer(self, timeout: float | None = None, backoff: float = 10.0) -> int:
        """Read until every output has a chunk; 1 where the file ends before, else 0."""
        while not self.is_buffer_ready():
            if self.process_packet(timeout, backoff):
                return 1
        return 0

    def stream(
        self, timeout: float | None = None, backoff: float = 10.0
    ) -> Iterator[tuple[rl.Tensor | None, ...]]:
        """All chunks to the end of the file, a tuple with one of every output at a time."""
        if not self._outputs:
            raise RuntimeError("stream(): no output is there; add_basic_audio_stream() adds one")
        while not self.fill_buffer(timeout, backoff):
            yield self.pop_chunks()
        # At the end also what is shorter than a chunk.
        while not all(output.is_empty for output in self._outputs):
            yield self.pop_chunks()
