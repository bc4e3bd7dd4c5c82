"""Reading and writing by FFmpeg, through PyAV."""

from __future__ import annotations

import os
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

import rushlight as rl
from rushlight_audio.io import media
from rushlight_audio.io.compression import CodecConfig
from rushlight_audio.io.formats import AudioMetaData
from rushlight_audio.io.libsndfile import aside
from rushlight_audio.io.media_frames import audio_array, format_for
from rushlight_audio.io.sources import is_path
from rushlight_audio.io.stream_writer import StreamWriter

__all__ = ["UnknownFormat", "info", "load", "save", "writes"]

_LAWS = {"pcm_mulaw": "ULAW", "pcm_alaw": "ALAW"}
_FULL = {"uint8": 128, "int16": 1 << 15, "int32": 1 << 31, "int64": 1 << 63}
# torchaudio's words for the encodings of wav: FFmpeg's letters.
_LETTERS = {"PCM_S": "s", "PCM_U": "u", "PCM_F": "f"}
_BITS = {"PCM_S": 16, "PCM_U": 8, "PCM_F": 32}
_ENCODERS = {"ogg": "vorbis", "vorbis": "vorbis", "wma": "wmav2"}
_NIST_HEADER = 1024  # bytes
_BLOCK = 65536  # frames written at once
# Extensions that FFmpeg knows by other names.
_MUXERS = {"m4a": "ipod", "mka": "matroska", "mkv": "matroska", "wma": "asf", "aac": "adts"}


class UnknownFormat(RuntimeError):
    """Not a file with sound that FFmpeg knows."""


def _opened(op: str, source: Any, name: str, format: str | None) -> tuple[Any, Any]:
    """The container and its audio stream."""
    try:
        container = media.opened(op, source, format, None)
    except (RuntimeError, ValueError) as error:
        raise UnknownFormat(f"{op}(): {name}: not a sound file: {error}") from error
    stream = container.streams.best("audio")
    if stream is None:
        container.close()
        raise UnknownFormat(f"{op}(): {name}: the file has no sound")
    if container.format.name == "nistsphere" and _size(source) < _NIST_HEADER:
        container.close()
        # FFmpeg would take what there is of the header for samples.
        raise UnknownFormat(f"{op}(): {name}: the file breaks off in its header")
    codec = stream.codec_context
    if codec is None or not codec.sample_rate or not codec.layout.nb_channels:
        container.close()
        raise UnknownFormat(f"{op}(): {name}: FFmpeg does not know how its sound is coded")
    return container, stream


def _size(source: Any) -> int:
    """Bytes of a file."""
    if is_path(source):
        return os.path.getsize(source)
    here = source.tell()
    end = source.seek(0, os.SEEK_END)
    source.seek(here)
    return end


def info(source: Any, name: str, format: str | None) -> AudioMetaData:
    """The answer of `rushlight_audio.info`; the samples are counted by decoding them."""
    container, stream = _opened("info", source, name, format)
    with container:
        codec = stream.codec_context
        rate, channels = codec.sample_rate, codec.layout.nb_channels
        frames = sum(len(part) for part in _decoded("info", container, stream, name))
        return AudioMetaData(rate, frames, channels, *_encoding(codec))


def _encoding(codec: Any) -> tuple[int, str]:
    """Bits of a sample and torchaudio's name of the encoding."""
    bits = re.search(r"pcm_[suf](\d+)", codec.name)
    if bits:
        return int(bits[1]), f"PCM_{codec.name[4].upper()}"
    if codec.name in _LAWS:
        return 8, _LAWS[codec.name]
    if codec.name == "flac":
        return 16 if codec.format.name.startswith("s16") else 24, "FLAC"
    return 0, codec.name.removeprefix("lib").removesuffix("float").upper()


def _decoded(op: str, container: Any, stream: Any, name: str) -> Any:
    """Arrays ``[T, C]`` from the beginning to the end that the file states in samples."""
    rate, channels = stream.codec_context.sample_rate, stream.codec_context.layout.nb_channels
    exact = stream.time_base == Fraction(1, rate)
    left = stream.duration if exact and stream.duration else float("inf")
    with media.named(op, name):
        for frame in container.decode(stream):
            array = audio_array(frame)
            if (frame.sample_rate, array.shape[1]) != (rate, channels):
                raise RuntimeError(
                    f"{op}(): {name}: in the middle {channels} channels of {rate} Hz become "
                    f"{array.shape[1]} of {frame.sample_rate}; StreamReader gives them one rate"
                )
            # The last frame of AAC in mp4 is filled up; the stream's length says with how much.
            if left < len(array):
                array = array[: int(left)]
            left -= len(array)
            yield array


def load(
    source: Any,
    name: str,
    format: str | None,
    frame_offset: int,
    num_frames: int,
    normalize: bool,
) -> tuple[Any, int]:
    """Samples ``[T, C]`` as an array, and the rate."""
    container, stream = _opened("load", source, name, format)
    with container:
        plain = not normalize and container.format.name == "wav"
        rate, seen, kept = stream.codec_context.sample_rate, 0, 0
        parts: list[Any] = []
        for array in _decoded("load", container, stream, name):
            part = array[max(frame_offset - seen, 0) :]
            part = part if num_frames == -1 else part[: num_frames - kept]
            seen, kept = seen + len(array), kept + len(part)
            if len(part):
                parts.append(np.array(part) if plain else _normal(part))
            if kept == num_frames:
                break
    if seen == 0:
        raise RuntimeError(f"load(): {name}: the file holds no samples")
    if kept == 0:
        raise ValueError(
            f"load(): {name}: frame_offset must be in [0, {seen}), the length of the file, got "
            f"{frame_offset}"
        )
    return np.concatenate(parts), rate


def _normal(array: Any) -> Any:
    """float32 in [-1, 1]."""
    full = _FULL.get(array.dtype.name)
    if full is None:
        with np.errstate(over="ignore", invalid="ignore"):  # of float64
            return array.astype(np.float32)
    middle = 128 if array.dtype == np.uint8 else 0
    return ((array.astype(np.float64) - middle) / full).astype(np.float32)


def writes(format: str) -> bool:
    """Whether FFmpeg has a file format of that name or extension."""
    av = media.library("save")
    try:
        av.ContainerFormat(_muxer(format), "w")
    except ValueError:
        return False
    return True


def _muxer(format: str) -> str:
    name = format.lower().lstrip(".")
    return {**_MUXERS, "vorbis": "ogg"}.get(name, name)


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
    if not writes(format):
        raise ValueError(f"save(): FFmpeg writes no format {format!r}")
    frames = frames.unsqueeze(1) if frames.dim() == 1 else frames
    if frames.is_floating_point() and not rl.isfinite(frames).all():
        faulty = int((~rl.isfinite(frames)).sum())
        raise ValueError(
            f"save(): {faulty} of {frames.numel()} samples are NaN or infinite; replace them "
            "(nan_to_num)"
        )
    encoder = _encoder(format, encoding, bits_per_sample, frames.dtype)
    config = _config(compression)
    if not is_path(uri):
        _write(uri, frames, sample_rate, format, encoder, config)
        return
    with aside(Path(uri), (RuntimeError,)) as part:
        _write(str(part), frames, sample_rate, format, encoder, config)


def _encoder(format: str, encoding: str | None, bits: int | None, dtype: rl.dtype) -> str | None:
    name = format.lower().lstrip(".")
    if name != "wav":
        if encoding is not None or bits is not None:
            raise ValueError(f"save(): {name} takes no encoding and bits_per_sample with 'ffmpeg'")
        return _ENCODERS.get(name)
    if encoding in ("ULAW", "ALAW"):
        return "pcm_mulaw" if encoding == "ULAW" else "pcm_alaw"
    kind = format_for("save", dtype)
    natural = "PCM_F" if kind in ("flt", "dbl") else "PCM_U" if kind == "u8" else "PCM_S"
    size = {"u8": 8, "s16": 16, "s32": 32, "flt": 32, "dbl": 64}[kind]
    if encoding is None and bits is None:
        encoding, bits = natural, size
    encoding = encoding or ("PCM_U" if bits == 8 else "PCM_S")
    if encoding not in _LETTERS:
        raise ValueError(f"save(): wav has no encoding {encoding!r}")
    bits = bits or _BITS[encoding]
    return f"pcm_{_LETTERS[encoding]}{bits}" + ("" if bits == 8 else "le")


def _config(compression: CodecConfig | float | None) -> CodecConfig | None:
    if compression is None or isinstance(compression, CodecConfig):
        return compression
    rate = compression if compression >= 1000 else compression * 1000
    if rate <= 0:
        raise ValueError(f"save(): compression must be a bit rate with 'ffmpeg', got {compression}")
    return CodecConfig(bit_rate=int(rate))


def _write(
    uri: Any,
    frames: rl.Tensor,
    sample_rate: int,
    format: str,
    encoder: str | None,
    config: CodecConfig | None,
) -> None:
    writer = StreamWriter(uri, _muxer(format))
    writer.add_audio_stream(
        sample_rate,
        frames.shape[1],
        format_for("save", frames.dtype),
        encoder=encoder,
        codec_config=config,
    )
    with writer.open():
        for begin in range(0, len(frames), _BLOCK):
            writer.write_audio_chunk(0, frames[begin : begin + _BLOCK])
