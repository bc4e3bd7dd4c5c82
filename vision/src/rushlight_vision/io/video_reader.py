"""Videos frame by frame, from any time on."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import rushlight as rl
from rushlight_vision.io._av import library, source
from rushlight_vision.io.video import decoded_from, exact

if TYPE_CHECKING:
    from os import PathLike
    from typing import BinaryIO

_KINDS = ("video", "audio")


class VideoReader:
    """An iterator over the frames of one stream of a video.

    `src` is a path, an address, bytes, or a uint8 tensor of a file's bytes; `stream` is "video" or
    "audio", with ":" and a number where there are several; `num_threads` is for the codec, 0 leaves
    it the choice. An item is a dict: "pts" is the time in seconds, "data" a picture (uint8, (3, H,
    W)) or sound (samples, channels).

    >>> reader = VideoReader("film.mp4")  # doctest: +SKIP
    >>> for frame in itertools.islice(reader.seek(2.0), 5):  # doctest: +SKIP
    ...     print(frame["pts"], frame["data"].shape)

    """

    def __init__(
        self,
        src: str | PathLike[str] | bytes | rl.Tensor | BinaryIO,
        stream: str = "video",
        num_threads: int = 0,
    ) -> None:
        av = library()
        opened, self._name = source(src)
        try:
            self.container = av.open(opened, metadata_errors="ignore")
        except av.FFmpegError as error:
            if isinstance(error, FileNotFoundError):
                raise FileNotFoundError(f"{self._name} does not exist") from None
            raise RuntimeError(f"{self._name} is no video, or a damaged one: {error}") from None
        self._threads = num_threads
        self.set_current_stream(stream)

    def set_current_stream(self, stream: str) -> bool:
        """Read another stream, from its beginning; True. ValueError if there is no such one."""
        kind, _, number = stream.partition(":")
        if kind not in _KINDS or (number and not number.isdigit()):
            raise ValueError(
                f'stream must be "video" or "audio", or as "video:1" with a number; got {stream!r}'
            )
        found = getattr(self.container.streams, kind)
        place = int(number or 0)
        if place >= len(found):
            raise ValueError(f"stream {stream!r}: {self._name} has {len(found)} of {kind}")
        self._stream = found[place]
        if self._threads:
            self._stream.thread_count = self._threads
        self._frames = self._from(self._stream.start_time or 0)
        return True

    def _from(self, first: int) -> Iterator[Any]:
        """Frames whose time, by the stream's clock, is not before `first`."""
        return (f for f in decoded_from(self.container, self._stream, first) if f.pts >= first)

    def seek(self, time_s: float, keyframes_only: bool = False) -> VideoReader:
        """Go on with the first frame at or after a time in seconds; with `keyframes_only` with the
        last key frame at or before it, which is quicker. Gives the reader."""
        if not math.isfinite(time_s) or time_s < 0:
            raise ValueError(f"time_s must be a number of seconds from 0, got {time_s}")
        stream = self._stream
        first = math.ceil(exact(time_s) / stream.time_base)
        if keyframes_only:
            self.container.seek(first, any_frame=False, backward=True, stream=stream)
            self._frames = self.container.decode(stream)
        else:
            self._frames = self._from(first)
        return self

    def __iter__(self) -> VideoReader:
        return self

    def __next__(self) -> dict[str, Any]:
        frame = next(self._frames)
        time = float(frame.pts * frame.time_base)
        if self._stream.type == "video":
            picture = rl.from_numpy(frame.to_rgb().to_ndarray()).permute(2, 0, 1)
            return {"data": picture, "pts": time}
        return {"data": rl.from_numpy(frame.to_ndarray()).permute(1, 0), "pts": time}

    def get_metadata(self) -> dict[str, dict[str, list[float]]]:
        """Of each kind of stream the durations in seconds and the rates ("fps", of sound
        "framerate")."""
        found: dict[str, dict[str, list[float]]] = {}
        for stream in self.container.streams:
            if stream.type not in _KINDS:
                continue
            rate_name = "fps" if stream.type == "video" else "framerate"
            about = found.setdefault(stream.type, {rate_name: [], "duration": []})
            rate = stream.average_rate if stream.type == "video" else stream.rate
            about[rate_name].append(float(rate))
            about["duration"].append(float((stream.duration or 0) * stream.time_base))
        return found
