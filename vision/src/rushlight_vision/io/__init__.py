"""Reading and writing images and videos as tensors."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from rushlight_vision.io.image import (
    ImageReadMode,
    decode_avif,
    decode_gif,
    decode_heic,
    decode_image,
    decode_jpeg,
    decode_png,
    decode_webp,
    encode_jpeg,
    encode_png,
    read_file,
    read_image,
    write_file,
    write_jpeg,
    write_png,
)
from rushlight_vision.io.video_metadata import Timebase, VideoMetaData

if TYPE_CHECKING:
    from rushlight_vision.io.video import read_video, read_video_timestamps, write_video
    from rushlight_vision.io.video_reader import VideoReader

__all__ = [
    "ImageReadMode",
    "Timebase",
    "VideoMetaData",
    "VideoReader",
    "decode_avif",
    "decode_gif",
    "decode_heic",
    "decode_image",
    "decode_jpeg",
    "decode_png",
    "decode_webp",
    "encode_jpeg",
    "encode_png",
    "read_file",
    "read_image",
    "read_video",
    "read_video_timestamps",
    "write_file",
    "write_jpeg",
    "write_png",
    "write_video",
]


def __getattr__(name: str) -> Any:
    """What is about video is loaded when it is asked for."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = "video_reader" if name == "VideoReader" else "video"
    return getattr(importlib.import_module(f"{__name__}.{module}"), name)
