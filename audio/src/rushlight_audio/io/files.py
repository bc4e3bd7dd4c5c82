"""Sound files by libsndfile, with torchaudio's signatures."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import rushlight as rl
from rushlight_audio.io.formats import (
    AudioMetaData,
    format_of,
    holds_nan,
    metadata_names,
    seekable,
    subtype_for,
)

if TYPE_CHECKING:
    import soundfile

__all__ = ["info", "load", "save"]

Source = str | os.PathLike | BinaryIO
# What `normalize=False` gives for a WAV of a subtype; 24 bits are the upper ones of 32.
_STORED = {
    "PCM_U8": "uint8",
    "PCM_16": "int16",
    "PCM_24": "int32",
    "PCM_32": "int32",
    "FLOAT": "float32",
    "DOUBLE": "float64",
}
_SAVED = {
    rl.uint8: "uint8",
    rl.int16: "int16",
    rl.int32: "int32",
    rl.float32: "float32",
    rl.float64: "float64",
}
# Frames that a compressed file is decoded in at once.
_BLOCK = 65536


def info(
    uri: Source, format: str | None = None, buffer_size: int = 4096, backend: str | None = None
) -> AudioMetaData:
    """What a sound file says of itself; the samples are not read.

    Args:
        uri: path, or a binary file object.
        format: unused; libsndfile finds the format in the file.
        buffer_size: unused.
        backend: None or ``"soundfile"``, the only one.

    Raises:
        FileNotFoundError: no such file.
        RuntimeError: not a sound file that libsndfile knows.
    """
    _require_backend("info", backend)
    with _opened("info", uri) as file:
        bits, encoding = metadata_names(file.format, file.subtype)
        return AudioMetaData(file.samplerate, file.frames, file.channels, bits, encoding)


def load(
    uri: Source,
    frame_offset: int = 0,
    num_frames: int = -1,
    normalize: bool = True,
    channels_first: bool = True,
    format: str | None = None,
    buffer_size: int = 4096,
    backend: str | None = None,
) -> tuple[rl.Tensor, int]:
    """The samples of a sound file, and its sample rate.

    A part is that slice of the whole, bit for bit. Of a compressed file (ogg, opus, mp3) what comes
    before it is decoded too, so a late part takes as long as the whole; wav and flac are read from
    `frame_offset` on.

    Args:
        uri: path, or a binary file object.
        frame_offset: frames to skip at the beginning.
        num_frames: most frames to read; -1 for all.
        normalize: give float32 in [-1, 1]; if False, a WAV file gives the type it stores (uint8,
            int16, int32, float32, float64; 24 bits in the upper ones of int32).
        channels_first: give ``[C, T]``; else ``[T, C]``.
        format: unused; libsndfile finds the format in the file.
        buffer_size: unused.
        backend: None or ``"soundfile"``, the only one.

    Raises:
        FileNotFoundError: no such file.
        RuntimeError: not a sound file that libsndfile knows, or one without a single sample.
        ValueError: `frame_offset` or `num_frames` does not fit.
    """
    _require_backend("load", backend)
    if num_frames == 0 or num_frames < -1:
        raise ValueError(f"load(): num_frames must be -1 or greater than 0, got {num_frames}")
    with _opened("load", uri) as file:
        if file.frames == 0:
            raise RuntimeError(f"load(): {_name(uri)}: the file holds no samples")
        if not 0 <= frame_offset < file.frames:
            raise ValueError(
                f"load(): {_name(uri)}: frame_offset must be in [0, {file.frames}), the length of "
                f"the file, got {frame_offset}"
            )
        dtype = "float32"
        if not normalize and file.format in ("WAV", "WAVEX"):
            dtype = _STORED.get(file.subtype, "")
            if not dtype:
                raise ValueError(
                    f"load(): {_name(uri)}: a WAV of {file.subtype} has no plain type of its own; "
                    "use normalize=True"
                )
        samples = _read(file, uri, frame_offset, num_frames, dtype)
        rate = file.samplerate
    waveform = rl.from_numpy(samples)
    return (waveform.T.contiguous() if channels_first else waveform), rate


def _read(
    file: soundfile.SoundFile, uri: Source, frame_offset: int, num_frames: int, dtype: str
) -> Any:
    wanted = file.frames - frame_offset
    wanted = wanted if num_frames == -1 else min(wanted, num_frames)
    try:
        if seekable(file.subtype):
            file.seek(frame_offset)
            # libsndfile has no 8-bit reads: the upper byte of 16 bits is the sample, zero at 128.
            stored = "int16" if dtype == "uint8" else dtype
            samples = file.read(wanted, dtype=stored, always_2d=True)
        else:
            samples = _decoded(file, frame_offset, wanted)
    except RuntimeError as error:
        raise RuntimeError(f"load(): {_name(uri)}: cannot be read: {error}") from error
    if len(samples) != wanted:
        raise RuntimeError(
            f"load(): {_name(uri)}: the file breaks off: {len(samples)} of {wanted} frames read"
        )
    return ((samples >> 8) + 128).astype("uint8") if dtype == "uint8" else samples


def _decoded(file: soundfile.SoundFile, frame_offset: int, wanted: int) -> Any:
    """Frames of a compressed file, float32, decoded from its beginning.

    Always in the same blocks: where a block ends shows in the last bits of what Opus gives.
    """
    samples = rl.empty(wanted, file.channels, dtype=rl.float32)
    filled = begin = 0
    while filled < wanted:
        block = rl.from_numpy(file.read(_BLOCK, dtype="float32", always_2d=True))
        part = block[max(frame_offset - begin, 0) :][: wanted - filled]
        samples[filled : filled + len(part)] = part
        filled += len(part)
        begin += len(block)
        if len(block) < _BLOCK:
            break
    return samples[:filled].numpy()


def save(
    uri: Source,
    src: rl.Tensor,
    sample_rate: int,
    channels_first: bool = True,
    format: str | None = None,
    encoding: str | None = None,
    bits_per_sample: int | None = None,
    buffer_size: int = 4096,
    backend: str | None = None,
    compression: float | int | None = None,
) -> None:
    """Write samples as wav, flac, ogg (vorbis), opus or mp3.

    A path is written aside and renamed, so that a fault leaves the old file or none. Floats beyond
    [-1, 1] are cut off, infinities too, where the file holds integers (PCM, mu-law, A-law, flac).
    NaN is written where the file holds floats, and refused elsewhere, as infinities are by ogg,
    opus and mp3.

    Args:
        uri: path, or a binary file object (then `format` is needed).
        src: ``[C, T]``, or ``[T, C]`` without `channels_first`; uint8, int16, int32, float32 in
            [-1, 1] or float64.
        sample_rate: samples per second, an integer.
        channels_first: how `src` lies.
        format: instead of the path's extension.
        encoding: for wav: ``PCM_S``, ``PCM_U``, ``PCM_F``, ``ULAW``, ``ALAW``.
        bits_per_sample: for wav 8, 16, 24, 32, 64; for flac 8, 16, 24. By default wav takes the
            type of `src`, and flac 16.
        buffer_size: unused.
        backend: None or ``"soundfile"``, the only one.
        compression: not supported; None.

    Raises:
        ValueError: a shape, format, encoding or rate that does not fit, or NaN that the file
            cannot hold.
        TypeError: not a tensor, or a dtype that no file holds.
        OSError: the file cannot be written; the message names it.
    """
    _require_backend("save", backend)
    if compression is not None:
        raise NotImplementedError("save(): compression is not supported; leave it None")
    _require_samples(src, sample_rate)
    if format is None:
        if not isinstance(uri, (str, os.PathLike)):
            raise ValueError("save(): argument 'format' is needed for a file object")
        format = Path(uri).suffix
    name, container = format_of(format, _name(uri))
    subtype = subtype_for(name, _SAVED[src.dtype], encoding, bits_per_sample)
    array = _storable(src, subtype).detach().cpu().numpy()
    frames = array.T if channels_first else array
    if src.dtype is rl.uint8:
        frames = (frames.astype("int16") - 128) << 8
    _write(uri, frames, sample_rate, container, subtype)


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


def _write(uri: Source, frames: Any, sample_rate: int, container: str, subtype: str) -> None:
    import soundfile

    if not isinstance(uri, (str, os.PathLike)):
        soundfile.write(uri, frames, sample_rate, subtype, format=container)
        return
    path = Path(uri)
    if not path.parent.is_dir():
        raise FileNotFoundError(f"save(): no such folder: {str(path.parent)!r}")
    aside = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        soundfile.write(aside, frames, sample_rate, subtype, format=container)
        os.replace(aside, path)
    # soundfile tells a full disk by an AssertionError, other faults by its own RuntimeError.
    except (RuntimeError, AssertionError, OSError) as error:
        raise OSError(
            f"save(): {path}: cannot be written: {str(error) or 'is the disk full?'}"
        ) from error
    finally:
        aside.unlink(missing_ok=True)


@contextlib.contextmanager
def _opened(op: str, uri: Source) -> Iterator[soundfile.SoundFile]:
    import soundfile

    if isinstance(uri, (str, os.PathLike)):
        path = Path(uri)
        if not path.exists():
            raise FileNotFoundError(f"{op}(): no such file: {str(path)!r}")
        if path.is_dir():
            raise IsADirectoryError(f"{op}(): {path}: is a folder, not a sound file")
        if path.stat().st_size == 0:
            raise RuntimeError(f"{op}(): {path}: the file is empty (0 bytes)")
    try:
        file = soundfile.SoundFile(uri)
    except soundfile.LibsndfileError as error:
        reason = error.error_string
        raise RuntimeError(f"{op}(): {_name(uri)}: not a sound file: {reason}") from error
    with file:
        yield file


def _name(uri: Source) -> str:
    return str(uri) if isinstance(uri, (str, os.PathLike)) else f"<{type(uri).__name__}>"


def _require_backend(op: str, backend: str | None) -> None:
    if backend not in (None, "soundfile"):
        raise ValueError(f"{op}(): the only backend is 'soundfile', got {backend!r}")


def _require_samples(src: rl.Tensor, sample_rate: int) -> None:
    if not isinstance(src, rl.Tensor):
        raise TypeError(f"save(): argument 'src' must be a tensor, not {type(src).__name__}")
    if src.dim() != 2:
        raise ValueError(
            "save(): argument 'src' must have 2 dimensions, channels and time, got shape "
            f"{list(src.shape)}"
        )
    if src.numel() == 0:
        raise ValueError(f"save(): argument 'src' holds no samples, its shape is {list(src.shape)}")
    if src.dtype not in _SAVED:
        raise TypeError(
            f"save(): argument 'src' must be uint8, int16, int32, float32 or float64, got "
            f"{src.dtype}"
        )
    if isinstance(sample_rate, bool) or not isinstance(sample_rate, int) or sample_rate < 1:
        raise ValueError(f"save(): sample_rate must be a positive integer, got {sample_rate!r}")
