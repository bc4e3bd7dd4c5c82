"""PyAV, which reads and writes video; it is loaded when it is needed."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from io import BytesIO
from typing import Any

import rushlight as rl


def library() -> Any:
    """PyAV; ImportError with what to install if it is not there."""
    try:
        import av
    except ImportError:
        raise ImportError(
            "video is read and written with PyAV, which is not installed: "
            "pip install 'rushlight-vision[video]'"
        ) from None
    av.logging.set_level(av.logging.ERROR)
    return av


def source(value: Any) -> tuple[Any, str]:
    """What PyAV opens, and how an error calls it: a path, bytes, or a uint8 tensor of a file's
    bytes."""
    if isinstance(value, rl.Tensor):
        if value.dtype is not rl.uint8 or value.ndim != 1:
            raise TypeError(
                f"expected a uint8 tensor of one dimension, got {value.dtype} of shape "
                f"{tuple(value.shape)}"
            )
        value = value.contiguous().numpy().tobytes()
    if isinstance(value, (bytes, bytearray)):
        return BytesIO(value), f"the file of {len(value)} bytes"
    if isinstance(value, (str, os.PathLike)):
        return os.fspath(value), os.fspath(value)
    return value, repr(value)


@contextlib.contextmanager
def reading(value: Any) -> Iterator[Any]:
    """An open container; RuntimeError with the name if the file is no video or is damaged."""
    av = library()
    opened, name = source(value)
    if isinstance(opened, str) and "://" not in opened and not os.path.exists(opened):
        raise FileNotFoundError(f"{name} does not exist")
    try:
        with av.open(opened, metadata_errors="ignore") as container:
            yield container
    except av.FFmpegError as error:
        raise RuntimeError(f"{name} is no video, or a damaged one: {error}") from None
