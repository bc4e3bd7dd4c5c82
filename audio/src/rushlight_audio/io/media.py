"""PyAV's containers: opened, named in errors, decoders set, frames cut at a time."""

from __future__ import annotations

import contextlib
import importlib
import io
import os
from collections.abc import Iterator
from typing import Any

import numpy as np

from rushlight_audio.io.sources import shown

__all__ = [
    "configure_decoder",
    "from_time",
    "library",
    "named",
    "opened",
    "require_chunks",
]


def library(op: str) -> Any:
    """The module `av`; ImportError says how to get it."""
    try:
        return importlib.import_module("av")
    except ImportError as error:
        raise ImportError(f"{op}() needs PyAV: pip install rushlight-audio[av]") from error


def opened(
    op: str,
    src: Any,
    format: str | None,
    option: dict[str, str] | None,
    buffer_size: int = 32768,
) -> Any:
    """A container to read from; RuntimeError names what cannot be read."""
    av = library(op)
    if isinstance(src, bytes):
        src = io.BytesIO(src)
    if isinstance(src, os.PathLike):
        src = os.fspath(src)
    if not isinstance(src, str) and not hasattr(src, "read"):
        raise TypeError(
            f"{op}(): argument 'src' must be a path, bytes or a binary file object, not "
            f"{type(src).__name__}"
        )
    with named(op, shown(src)):
        return av.open(src, format=format, options=_options(option), buffer_size=buffer_size)


def _options(option: dict[str, str] | None) -> dict[str, str]:
    """FFmpeg's present name for the number of channels of raw samples."""
    option = dict(option or {})
    if "channels" in option:
        option.setdefault("ch_layout", f"{option.pop('channels')}c")
    return option


@contextlib.contextmanager
def named(op: str, name: str) -> Iterator[None]:
    """FFmpeg's errors as RuntimeError with the name of the file."""
    av = library(op)
    try:
        yield
    except (av.FileNotFoundError, av.BlockingIOError):
        raise
    except av.codec.codec.UnknownCodecError as error:
        raise ValueError(f"{op}(): FFmpeg has no codec {str(error)!r}") from error
    except av.FFmpegError as error:
        raise RuntimeError(f"{op}(): {name}: {error.strerror or error}") from error


def require_chunks(op: str, frames_per_chunk: int, buffer_chunk_size: int) -> None:
    """ValueError for a chunk of no frames and a buffer of no chunks."""
    for name, value in (
        ("frames_per_chunk", frames_per_chunk),
        ("buffer_chunk_size", buffer_chunk_size),
    ):
        if value != -1 and value < 1:
            raise ValueError(f"{op}(): {name} must be positive or -1, got {value}")


def configure_decoder(
    op: str, source: Any, decoder: str | None, option: dict[str, str] | None
) -> None:
    """Give a stream's decoder its options; another decoder than its own is refused."""
    own = source.codec_context.name
    if decoder is not None and decoder != own:
        raise NotImplementedError(
            f"{op}(): decoder={decoder!r} is not there for this stream; leave it None or {own!r}"
        )
    if option:
        source.codec_context.options = dict(option)


def from_time(frame: Any, begin: float) -> Any:
    """What of a frame is not before `begin` seconds; None for nothing."""
    start = float((frame.pts or 0) * frame.time_base)
    if not hasattr(frame, "samples"):
        return frame if start >= begin - 1e-6 else None
    skip = round((begin - start) * frame.sample_rate)
    if skip <= 0:
        return frame
    if skip >= frame.samples:
        return None
    return _without_first(frame, skip)


def _without_first(frame: Any, skip: int) -> Any:
    import av

    array = frame.to_ndarray()
    width = 1 if frame.format.is_planar else frame.layout.nb_channels
    rest = av.AudioFrame.from_ndarray(
        np.ascontiguousarray(array[:, skip * width :]),
        format=frame.format.name,
        layout=frame.layout.name,
    )
    rest.sample_rate, rest.time_base = frame.sample_rate, frame.time_base
    rest.pts = (frame.pts or 0) + round(skip / frame.sample_rate / frame.time_base)
    return rest
