"""What a stream is: of a file, and of what a `StreamReader` gives."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

__all__ = [
    "OutputAudioStream",
    "OutputStream",
    "OutputVideoStream",
    "SourceAudioStream",
    "SourceStream",
    "SourceVideoStream",
    "described",
]


@dataclass
class SourceStream:
    """A stream of a file, of a kind that is neither audio nor video.

    Attributes:
        media_type: ``"audio"``, ``"video"``, ``"subtitle"``, ``"data"``, ``"attachment"``.
        codec: FFmpeg's short name, ``"pcm_s16le"`` for one.
        codec_long_name: its description.
        format: of decoded samples or pixels: ``"s16"``, ``"fltp"``, ``"yuv420p"``.
        bit_rate: bits per second as the file says; 0 where it does not.
        num_frames: as the file says; 0 where it does not.
        bits_per_sample: of PCM; 0 of other codecs.
        metadata: what the file says of the stream.
    """

    media_type: str
    codec: str
    codec_long_name: str
    format: str | None
    bit_rate: int | None
    num_frames: int | None
    bits_per_sample: int | None
    metadata: dict[str, str]


@dataclass
class SourceAudioStream(SourceStream):
    """An audio stream of a file: also samples per second, and channels."""

    sample_rate: float
    num_channels: int


@dataclass
class SourceVideoStream(SourceStream):
    """A video stream of a file: also the size of its pictures, and pictures per second."""

    width: int
    height: int
    frame_rate: float


@dataclass
class OutputStream:
    """A stream that a `StreamReader` gives.

    Attributes:
        source_index: of the stream it comes from.
        filter_description: the filters it goes through.
        media_type: ``"audio"`` or ``"video"``.
        format: of samples or pixels after the filters.
    """

    source_index: int
    filter_description: str
    media_type: str
    format: str


@dataclass
class OutputAudioStream(OutputStream):
    """Audio that comes out: also samples per second, and channels."""

    sample_rate: float
    num_channels: int


@dataclass
class OutputVideoStream(OutputStream):
    """Video that comes out: also the size of its pictures, and pictures per second."""

    width: int
    height: int
    frame_rate: float


def described(stream: Any) -> SourceStream:
    """What PyAV knows of a stream."""
    codec = getattr(stream, "codec_context", None)
    if codec is None or stream.type not in ("audio", "video"):
        name = getattr(codec, "name", "") or ""
        return SourceStream(stream.type, name, "", None, None, None, None, dict(stream.metadata))
    bits = re.search(r"pcm_[sufm]\D*(\d+)", codec.name)
    shared = {
        "media_type": stream.type,
        "codec": codec.name,
        "codec_long_name": codec.codec.long_name,
        "format": codec.format.name if stream.type == "audio" else codec.pix_fmt,
        "bit_rate": codec.bit_rate or 0,
        "num_frames": stream.frames,
        "bits_per_sample": int(bits[1]) if bits else 0,
        "metadata": dict(stream.metadata),
    }
    if stream.type == "audio":
        return SourceAudioStream(
            **shared, sample_rate=float(codec.sample_rate), num_channels=codec.layout.nb_channels
        )
    rate = float(stream.average_rate or stream.guessed_rate or 0)
    return SourceVideoStream(**shared, width=codec.width, height=codec.height, frame_rate=rate)
