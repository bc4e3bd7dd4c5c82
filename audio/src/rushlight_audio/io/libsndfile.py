"""Reading and writing by libsndfile, through soundfile."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import rushlight as rl
from rushlight_audio.io.compression import CodecConfig, for_libsndfile
from rushlight_audio.io.formats import (
    AudioMetaData,
    format_of,
    holds_nan,
    known_formats,
    metadata_names,
    most_channels,
    seekable,
    subtype_for,
)
from rushlight_audio.io.sources import is_path, shown

if TYPE_CHECKING:
    import soundfile

__all__ = ["SAVED", "UnknownFormat", "aside", "info", "load", "save"]

# What `normalize=False` gives for a WAV of a subtype; 24 bits are the upper ones of 32.
_STORED = {
    "PCM_U8": "uint8",
    "PCM_16": "int16",
    "PCM_24": "int32",
    "PCM_32": "int32",
    "FLOAT": "float32",
    "DOUBLE": "float64",
}
SAVED = {
    rl.uint8: "uint8",
    rl.int16: "int16",
    rl.int32: "int32",
    rl.float32: "float32",
    rl.float64: "float64",
}
# Frames that a file is read in at once: a header may promise any number of them.
_BLOCK = 65536


class UnknownFormat(RuntimeError):
    """Not a sound file that libsndfile knows."""


def info(source: Any, name: str, format: str | None) -> AudioMetaData:
    """The answer of `rushlight_audio.info`; `name` is what errors call the source."""
    with _opened("info", source, name) as file:
        bits, encoding = metadata_names(file.format, file.subtype)
        return AudioMetaData(file.samplerate, file.frames, file.channels, bits, encoding)


def load(
    source: Any,
    name: str,
    format: str | None,
    frame_offset: int,
    num_frames: int,
    normalize: bool,
) -> tuple[Any, int]:
    """Samples ``[T, C]`` as an array, and the rate."""
    with _opened("load", source, name) as file:
        if file.frames == 0:
            raise RuntimeError(f"load(): {name}: the file holds no samples")
        if frame_offset >= file.frames:
            raise ValueError(
                f"load(): {name}: frame_offset must be in [0, {file.frames}), the length of "
                f"the file, got {frame_offset}"
            )
        plain = not normalize and file.format in ("WAV", "WAVEX")
        dtype = _stored(name, file.subtype) if plain else "float32"
        wanted = file.frames - frame_offset
        wanted = wanted if num_frames == -1 else min(wanted, num_frames)
        return _read(file, name, frame_offset, wanted, dtype), file.samplerate


def _stored(name: str, subtype: str) -> str:
    if subtype not in _STORED:
        raise ValueError(
            f"load(): {name}: a WAV of {subtype} has no plain type of its own; use normalize=True"
        )
    return _STORED[subtype]


def _read(file: soundfile.SoundFile, name: str, frame_offset: int, wanted: int, dtype: str) -> Any:
    # libsndfile has no 8-bit reads: the upper byte of 16 bits is the sample, zero at 128.
    stored = "int16" if dtype == "uint8" else dtype
    skip = frame_offset
    try:
        if seekable(file.subtype):
            file.seek(frame_offset)
            skip = 0
        samples = _frames(file, skip, wanted, stored)
    except RuntimeError as error:
        raise RuntimeError(f"load(): {name}: cannot be read: {error}") from error
    if len(samples) != wanted:
        raise RuntimeError(
            f"load(): {name}: the file breaks off: {len(samples)} of {wanted} frames read"
        )
    return ((samples >> 8) + 128).astype("uint8") if dtype == "uint8" else samples


def _frames(file: soundfile.SoundFile, skip: int, wanted: int, dtype: str) -> Any:
    """Frames from `skip` on, counted from where the file is.

    Always in the same blocks: where a block ends shows in the last bits of what Opus gives. What
    is allocated follows what the file holds, not what its header says.
    """
    block = np.empty((_BLOCK, file.channels), dtype)
    samples = np.empty((min(wanted, 64 * _BLOCK), file.channels), dtype)
    filled = begin = 0
    while filled < wanted:
        count = len(file.read(dtype=dtype, always_2d=True, out=block))
        part = block[max(skip - begin, 0) : count][: wanted - filled]
        if filled + len(part) > len(samples):
            samples.resize((min(wanted, 2 * len(samples)), file.channels), refcheck=False)
        samples[filled : filled + len(part)] = part
        filled += len(part)
        begin += count
        if count < _BLOCK:
            break
    return samples[:filled]


def save(
    uri: Any,
    frames: rl.Tensor,
    sample_rate: int,
    format: str,
    encoding: str | None,
    bits_per_sample: int | None,
    compression: CodecConfig | float | None,
) -> None:
    """Write ``[T, C]`` or ``[T]``."""
    found = format_of(format)
    if found is None:
        raise ValueError(
            f"save(): {shown(uri)}: unknown format {format.lower().lstrip('.')!r}; known are "
            f"{known_formats()}, and what FFmpeg writes with PyAV "
            "(pip install rushlight-audio[av])"
        )
    name, container = found
    subtype = subtype_for(name, SAVED[frames.dtype], encoding, bits_per_sample)
    channels = 1 if frames.dim() == 1 else frames.shape[1]
    if channels > most_channels(name):
        raise ValueError(
            f"save(): {name} holds up to {most_channels(name)} channels, got a waveform of "
            f"{channels} channels and {len(frames)} frames; [T, C] needs channels_first=False"
        )
    options = for_libsndfile(name, compression, sample_rate, channels)
    array = _storable(frames, subtype).numpy()
    if frames.dtype is rl.uint8:
        array = (array.astype("int16") - 128) << 8
    _write(uri, array, sample_rate, container, subtype, options)


def _storable(src: rl.Tensor, subtype: str) -> rl.Tensor:
    """The samples as an encoding takes them: cut off to its range; ValueError for NaN."""
    if not src.is_floating_point() or holds_nan(subtype):
        return src
    integers = seekable(subtype)
    faulty = int((src.isnan() if integers else ~src.isfinite()).sum())
    if faulty:
        what = "NaN" if integers else "NaN or infinite"
        raise ValueError(
            f"save(): {faulty} of {src.numel()} samples are {what}, which {subtype} cannot hold; "
            "replace them (nan_to_num), or save a wav with encoding='PCM_F'"
        )
    # libsndfile looks mu-law and A-law up in a table without checking that the sample is in it.
    return src.clamp(-1.0, 1.0) if integers else src


def _write(
    uri: Any,
    frames: Any,
    sample_rate: int,
    container: str,
    subtype: str,
    options: dict[str, Any],
) -> None:
    if not is_path(uri):
        _write_blocks(uri, frames, sample_rate, container, subtype, options)
        return
    # soundfile tells a full disk by an AssertionError, other faults by its own RuntimeError.
    with aside(Path(uri), (RuntimeError, AssertionError)) as part:
        _write_blocks(part, frames, sample_rate, container, subtype, options)


def _write_blocks(
    target: Any,
    frames: Any,
    sample_rate: int,
    container: str,
    subtype: str,
    options: dict[str, Any],
) -> None:
    """Write block by block: a minute handed to Vorbis at once overflows the stack."""
    import soundfile

    channels = 1 if frames.ndim == 1 else frames.shape[1]
    with soundfile.SoundFile(
        target, "w", sample_rate, channels, subtype, format=container, **options
    ) as file:
        for begin in range(0, len(frames), _BLOCK):
            file.write(frames[begin : begin + _BLOCK])


@contextlib.contextmanager
def aside(path: Path, faults: tuple[type[Exception], ...]) -> Iterator[Path]:
    """Where to write a file that gets its name when it is whole; what goes wrong names it."""
    if not path.parent.is_dir():
        raise FileNotFoundError(f"save(): no such folder: {str(path.parent)!r}")
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    caught: tuple[type[Exception], ...] = (*faults, OSError)
    try:
        yield part
        os.replace(part, path)
    except caught as error:
        why = str(error).replace(part.name, path.name) or "is the disk full?"
        raise OSError(f"save(): {path}: cannot be written: {why}") from error
    finally:
        part.unlink(missing_ok=True)


@contextlib.contextmanager
def _opened(op: str, source: Any, name: str) -> Iterator[soundfile.SoundFile]:
    import soundfile

    try:
        file = soundfile.SoundFile(source if is_path(source) else _Forgiving(source))
    except soundfile.LibsndfileError as error:
        reason = error.error_string
        raise UnknownFormat(f"{op}(): {name}: not a sound file: {reason}") from error
    with file:
        yield file


class _Forgiving:
    """A file object whose `seek` stays where it is when a damaged header leads out of the file:
    libsndfile asks for the place, and an exception would be printed, not raised."""

    def __init__(self, file: Any):
        self._file = file
        self.read, self.tell = file.read, file.tell

    def seek(self, offset: int, whence: int = 0) -> int:
        """The place in the file."""
        try:
            return self._file.seek(offset, whence)
        except (ValueError, OSError):
            return self._file.tell()
