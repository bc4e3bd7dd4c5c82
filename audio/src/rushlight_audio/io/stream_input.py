"""One input of a `StreamWriter`: chunks go through filters into an encoder and the file."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import rushlight as rl
from rushlight_audio.io.compression import CodecConfig
from rushlight_audio.io.filter_graph import FilterGraph, audio_description, video_description
from rushlight_audio.io.media_frames import DTYPES, audio_frame, video_frame

__all__ = ["AudioInput", "Encoding", "VideoInput"]

_CHANNELS = {"rgb24": 3, "bgr24": 3, "yuv444p": 3, "rgba": 4, "bgra": 4, "gray": 1, "gray8": 1}


@dataclass
class Encoding:
    """What an encoder is asked for; None for what is natural."""

    encoder: str | None
    option: dict[str, str] | None
    config: CodecConfig | None
    filters: str | None

    def apply(self, codec: Any) -> None:
        """Set an encoder's fields."""
        # FFmpeg calls its own Vorbis and Opus experimental.
        options = {"strict": "experimental", **(self.option or {})}
        config = self.config or CodecConfig()
        if config.bit_rate > 0:
            codec.bit_rate = config.bit_rate
        if config.compression_level >= 0:
            options["compression_level"] = str(config.compression_level)
        if config.qscale is not None:
            codec.qscale = True
            codec.global_quality = config.qscale * 118  # FFmpeg's FF_QP2LAMBDA
        if config.gop_size >= 0:
            codec.gop_size = config.gop_size
        if config.max_b_frames >= 0:
            codec.max_b_frames = config.max_b_frames
        codec.options = options


class _Input:
    """What audio and video have in common: filters, encoding, the end."""

    def __init__(self, stream: Any, descriptions: tuple[str | None, ...]):
        self.stream, self.descriptions = stream, descriptions
        self._graph: FilterGraph | None = None
        self._next = 0

    def _encoded(self, frame: Any) -> Iterable[Any]:
        if self._graph is None:
            rate = getattr(self.stream.codec_context, "framerate", None)
            self._graph = FilterGraph(self.descriptions, frame, frame.time_base, rate)
        for filtered in self._graph.push(frame):
            yield from self.stream.encode(filtered)

    def finish(self, mux: Callable[[Any], None]) -> None:
        """Write what filters and the encoder have kept back."""
        if self._graph is not None:
            for filtered in self._graph.push(None):
                self._mux_all(self.stream.encode(filtered), mux)
        if self._next:
            self._mux_all(self.stream.encode(None), mux)

    def _mux_all(self, packets: Iterable[Any], mux: Callable[[Any], None]) -> None:
        for packet in packets:
            mux(packet)


class AudioInput(_Input):
    """Chunks ``[T, C]`` of one dtype, rate and number of channels."""

    def __init__(
        self,
        container: Any,
        source: tuple[int, int, str],
        target: tuple[int | None, int | None, str | None],
        encoding: Encoding,
    ):
        self.rate, self.channels, self.format = source
        if self.format not in DTYPES or self.format == "s64":
            known = [name for name in DTYPES if name != "s64"]
            raise ValueError(
                f"add_audio_stream(): format must be one of {known}, got {self.format!r}"
            )
        rate, channels, format = target
        codec = encoding.encoder or container.default_audio_codec
        stream = container.add_stream(codec, rate=rate or _near(codec, self.rate))
        stream.layout = f"{channels or self.channels}c"
        format = format or _sample_format(stream.codec_context.codec, self.format)
        stream.format = format
        encoding.apply(stream.codec_context)
        fitting = audio_description(stream.rate, format, channels or self.channels)
        super().__init__(stream, (encoding.filters, fitting))

    def write(self, chunk: rl.Tensor, pts: float | None, mux: Callable[[Any], None]) -> None:
        """Encode samples; `pts` is their time in seconds, else they follow the last ones."""
        expected = DTYPES[self.format]
        if chunk.dim() != 2 or chunk.shape[1] != self.channels or chunk.dtype is not expected:
            raise RuntimeError(
                f"write_audio_chunk(): expected {expected} of shape [T, {self.channels}], got "
                f"{chunk.dtype} of shape {list(chunk.shape)}"
            )
        if len(chunk) == 0:
            return
        start = self._next if pts is None else round(pts * self.rate)
        array = chunk.detach().cpu().contiguous().numpy()
        frame = audio_frame(array, self.format, self.rate, start)
        self._next = start + len(array)
        self._mux_all(self._encoded(frame), mux)


def _near(codec: str, rate: int) -> int:
    """The rate itself, or the nearest above it that an encoder takes."""
    import av

    rates = av.Codec(codec, "w").audio_rates
    if not rates or rate in rates:
        return rate
    above = [known for known in rates if known > rate]
    return min(above) if above else max(rates)


def _sample_format(codec: Any, format: str) -> str:
    """The first format of an encoder that holds the samples, else the first it has."""
    known = [found.name for found in codec.audio_formats or ()]
    same = [name for name in known if name.removesuffix("p") == format]
    return (same or known or [format])[0]


class VideoInput(_Input):
    """Chunks ``[T, C, H, W]`` uint8 of one size and frame rate."""

    def __init__(
        self,
        container: Any,
        source: tuple[float, int, int, str],
        target: tuple[float | None, int | None, int | None, str | None],
        encoding: Encoding,
    ):
        self.rate, self.width, self.height, self.format = source
        if self.format not in _CHANNELS:
            raise ValueError(
                f"add_video_stream(): format must be one of {list(_CHANNELS)}, got {self.format!r}"
            )
        rate, width, height, format = target
        fraction = Fraction(rate or self.rate).limit_denominator(1001 * 30)
        stream = container.add_stream(encoding.encoder or container.default_video_codec, fraction)
        stream.width, stream.height = width or self.width, height or self.height
        known = [found.name for found in stream.codec_context.codec.video_formats or ()]
        format = format or (self.format if self.format in known else (known or ["yuv420p"])[0])
        stream.pix_fmt = format
        encoding.apply(stream.codec_context)
        fitting = video_description(rate, stream.width, stream.height, format)
        super().__init__(stream, (encoding.filters, fitting))

    def write(self, chunk: rl.Tensor, pts: float | None, mux: Callable[[Any], None]) -> None:
        """Encode pictures; `pts` is the time of the first in seconds."""
        expected = [_CHANNELS[self.format], self.height, self.width]
        if chunk.dim() != 4 or list(chunk.shape[1:]) != expected or chunk.dtype is not rl.uint8:
            raise RuntimeError(
                f"write_video_chunk(): expected rushlight.uint8 of shape [T, "
                f"{', '.join(map(str, expected))}], got {chunk.dtype} of shape {list(chunk.shape)}"
            )
        rate = Fraction(self.rate).limit_denominator(1001 * 30)
        start = self._next if pts is None else round(pts * rate)
        for place, picture in enumerate(chunk.detach().cpu().contiguous().numpy()):
            frame = video_frame(picture, self.format)
            frame.pts, frame.time_base = start + place, 1 / rate
            self._mux_all(self._encoded(frame), mux)
        self._next = start + len(chunk)
