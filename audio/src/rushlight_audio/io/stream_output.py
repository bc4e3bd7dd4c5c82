"""One output of a `StreamReader`: frames go through filters and are kept until they are popped."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

import rushlight as rl
from rushlight_audio.io.filter_graph import FilterGraph
from rushlight_audio.io.media_frames import audio_array, video_array
from rushlight_audio.io.stream_info import OutputAudioStream, OutputStream, OutputVideoStream

__all__ = ["Output"]


@dataclass
class _Part:
    """Frames in a row: an array ``[T, ...]``, the time of the first and the time of one."""

    array: Any
    start: float
    step: float

    def split(self, count: int) -> tuple[_Part, _Part]:
        rest = _Part(self.array[count:], self.start + count * self.step, self.step)
        return _Part(self.array[:count], self.start, self.step), rest


class Output:
    """Frames of the stream `source`, filtered by `description`, in chunks of `size` frames.

    At most `most` whole chunks are kept, the newest; all where it is -1, or where `size` is -1:
    then a chunk is what there is.
    """

    def __init__(self, source: Any, description: str | None, size: int, most: int):
        self.source, self.description, self.size, self.most = source, description, size, most
        self.reset()

    def reset(self) -> None:
        """Forget all frames: the next come from elsewhere in the file."""
        self._graph: FilterGraph | None = None
        self._parts: deque[_Part] = deque()
        self._count = 0
        self._ended = False

    @property
    def is_ready(self) -> bool:
        """Whether there is a whole chunk."""
        return self._count >= (1 if self.size == -1 else self.size)

    @property
    def is_empty(self) -> bool:
        """Whether nothing can be popped: at the end a part of a chunk can."""
        return not (self._count if self._ended else self.is_ready)

    def take(self, frame: Any) -> None:
        """Frames go in; None ends them."""
        if frame is None:
            self._ended = True
        if self._graph is None and frame is not None and self._changes(frame):
            rate = getattr(self.source, "average_rate", None)
            self._graph = FilterGraph([self.description], frame, self.source.time_base, rate)
        if self._graph is not None:
            for filtered in self._graph.push(frame):
                self._keep(filtered)
        elif frame is not None:
            self._keep(frame)

    def _changes(self, frame: Any) -> bool:
        """Whether the filters do more than ask for the format that frames have: going through a
        graph takes as long as decoding."""
        same = f"aformat=sample_fmts={frame.format.name}"
        return self.description not in (None, "", same)

    def _keep(self, frame: Any) -> None:
        time_base = frame.time_base or self.source.time_base
        start = float((frame.pts or 0) * time_base)
        if hasattr(frame, "samples"):
            part = _Part(audio_array(frame), start, 1 / frame.sample_rate)
        else:
            part = _Part(video_array(frame)[None], start, 0.0)
        shapes = [
            list(each.array.shape[1:]) for each in (self._parts[-1] if self._parts else part, part)
        ]
        if shapes[0] != shapes[-1]:
            raise RuntimeError(
                f"StreamReader: in the middle frames of shape {shapes[0]} become {shapes[-1]}; "
                "num_channels, width and height give them one"
            )
        self._parts.append(part)
        self._count += len(part.array)
        while self.size != -1 and self.most != -1 and self._count >= (self.most + 1) * self.size:
            self._taken(self.size)

    def _taken(self, count: int) -> list[_Part]:
        found = []
        while count:
            part = self._parts.popleft()
            if len(part.array) > count:
                part, rest = part.split(count)
                self._parts.appendleft(rest)
            found.append(part)
            count -= len(part.array)
            self._count -= len(part.array)
        return found

    def pop(self) -> rl.Tensor | None:
        """The next chunk, with the time of its first frame as `pts`; None where there is none."""
        if self.is_empty:
            return None
        count = self._count if self.size == -1 else min(self.size, self._count)
        parts = self._taken(count)
        chunk: Any = rl.from_numpy(np.ascontiguousarray(np.concatenate([p.array for p in parts])))
        chunk.pts = parts[0].start
        return chunk

    def info(self) -> OutputStream:
        """What comes out, found by sending silence or a black picture through the filters."""
        shared = (self.source.index, self.description or self._nothing(), self.source.type)
        frame = self._probe()
        if self.source.type == "audio":
            return OutputAudioStream(
                *shared, frame.format.name, float(frame.sample_rate), frame.layout.nb_channels
            )
        rate = self._frame_rate(frame)
        return OutputVideoStream(*shared, frame.format.name, frame.width, frame.height, rate)

    def _nothing(self) -> str:
        return "anull" if self.source.type == "audio" else "null"

    def _probe(self) -> Any:
        """The first frame that comes out of the filters after a second."""
        frames = [self._blank(time) for time in (0, 1)]
        rate = getattr(self.source, "average_rate", None)
        graph = FilterGraph([self.description], frames[0], self.source.time_base, rate)
        sent = (*frames, None)
        return next((out for each in sent for out in graph.push(each)), frames[0])

    def _blank(self, time: int) -> Any:
        import av

        codec = self.source.codec_context
        if self.source.type == "video":
            frame = av.VideoFrame(codec.width, codec.height, codec.pix_fmt)
            frame.time_base = self.source.time_base
            frame.pts = round(time / frame.time_base)
            return frame
        rate = codec.sample_rate
        sound = av.AudioFrame(codec.format.name, codec.layout.name, rate)
        for plane in sound.planes:
            plane.update(bytes(plane.buffer_size))
        sound.sample_rate, sound.time_base, sound.pts = rate, Fraction(1, rate), time * rate
        return sound

    def _frame_rate(self, frame: Any) -> float:
        """Pictures per second: the filter `fps` counts time in pictures."""
        if self.description and "fps=" in self.description and frame.time_base:
            return float(1 / frame.time_base)
        return float(self.source.average_rate or self.source.guessed_rate or 0)
