"""Decoded frames as tensors and back: audio ``[T, C]``, video ``[T, C, H, W]``."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import rushlight as rl

__all__ = ["DTYPES", "audio_array", "audio_frame", "format_for", "video_array", "video_frame"]

# FFmpeg's names of sample formats, without the p of planar ones.
DTYPES = {
    "u8": rl.uint8,
    "s16": rl.int16,
    "s32": rl.int32,
    "s64": rl.int64,
    "flt": rl.float32,
    "dbl": rl.float64,
}
_NAMES = {"u8": "uint8", "s16": "int16", "s32": "int32", "flt": "float32", "dbl": "float64"}
_PIXELS = ("rgb24", "bgr24", "gray", "gray8", "yuv444p", "rgba", "bgra")


def format_for(op: str, dtype: rl.dtype) -> str:
    """The packed sample format of a dtype."""
    for name in _NAMES:
        if DTYPES[name] is dtype:
            return name
    expected = "uint8, int16, int32, float32 or float64"
    raise ValueError(f"{op}(): waveform must be {expected}, got {dtype}")


def audio_array(frame: Any) -> Any:
    """The samples of a frame, ``[T, C]``."""
    array = frame.to_ndarray()
    return array.T if frame.format.is_planar else array.reshape(-1, frame.layout.nb_channels)


def audio_frame(array: Any, format: str, rate: int, pts: int | None) -> Any:
    """A frame of packed samples ``[T, C]``; `pts` counts samples."""
    import av

    frame = av.AudioFrame.from_ndarray(
        array.reshape(1, -1), format=format, layout=f"{array.shape[1]}c"
    )
    frame.sample_rate, frame.time_base, frame.pts = rate, Fraction(1, rate), pts
    return frame


def video_array(frame: Any) -> Any:
    """The pixels of a frame, ``[C, H, W]`` uint8; half-size colours are scaled up."""
    name = frame.format.name
    if name not in _PIXELS:
        frame = frame.reformat(format="yuv444p" if name.startswith(("yuv", "nv")) else "rgb24")
        name = frame.format.name
    array = frame.to_ndarray()
    if array.ndim == 2:
        return array[None]
    return array if name == "yuv444p" and array.shape[0] == 3 else array.transpose(2, 0, 1)


def video_frame(array: Any, format: str) -> Any:
    """A frame of ``[C, H, W]`` uint8."""
    import av

    if format in ("gray", "gray8"):
        return av.VideoFrame.from_ndarray(array[0], format="gray")
    if format == "yuv444p":
        return av.VideoFrame.from_ndarray(array, format=format, channel_last=False)
    return av.VideoFrame.from_ndarray(array.transpose(1, 2, 0).copy(), format=format)
