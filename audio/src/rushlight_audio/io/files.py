"""Sound files with torchaudio's signatures: by libsndfile, by FFmpeg what that does not know."""

from __future__ import annotations

import operator
import os
from pathlib import Path
from types import ModuleType
from typing import Any

import rushlight as rl
from rushlight_audio.io import backends, ffmpeg, libsndfile, sources
from rushlight_audio.io.compression import CodecConfig
from rushlight_audio.io.formats import AudioMetaData, format_of
from rushlight_audio.io.sources import Source

__all__ = ["info", "load", "load_wav", "load_with_torchcodec", "save", "save_with_torchcodec"]

Compression = CodecConfig | float | int | None


def info(
    uri: Source, format: str | None = None, buffer_size: int = 4096, backend: str | None = None
) -> AudioMetaData:
    """What a sound file says of itself.

    The samples are not read, save of what FFmpeg reads: those are counted by decoding them.

    Args:
        uri: path, http or https address, or a binary file object.
        format: libsndfile finds the format in the file; FFmpeg takes it for the name of a demuxer.
        buffer_size: unused.
        backend: ``"soundfile"``, ``"ffmpeg"``, or None: see `set_audio_backend`.

    Raises:
        FileNotFoundError: no such file.
        RuntimeError: not a sound file that is known, or the backend is not installed.
        rushlight.utils.download.DownloadError: an address that cannot be fetched.
    """
    name = backends.chosen("info", backend)
    with sources.opened("info", uri) as source:
        return _first_that_knows("info", name, source, sources.shown(uri), format, ())


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

    A part is that slice of the whole, bit for bit. Of a compressed file (ogg, opus, mp3, and all
    that FFmpeg reads) what comes before it is decoded too, so a late part takes as long as the
    whole; wav, flac and other plain files are read from `frame_offset` on.

    Integers become floats by division by 2 to the bits less one: 16 bits by 32768, so that -1 is
    there and 1 is not. Floats beyond [-1, 1] stay as they are, NaN too.

    Args:
        uri: path, http or https address, or a binary file object.
        frame_offset: frames to skip at the beginning.
        num_frames: most frames to read; -1 for all.
        normalize: give float32 in [-1, 1]; if False, a WAV file gives the type it stores (uint8,
            int16, int32, float32, float64; 24 bits in the upper ones of int32).
        channels_first: give ``[C, T]``; else ``[T, C]``.
        format: libsndfile finds the format in the file; FFmpeg takes it for the name of a demuxer.
        buffer_size: unused.
        backend: ``"soundfile"``, ``"ffmpeg"``, or None: see `set_audio_backend`.

    Raises:
        FileNotFoundError: no such file.
        RuntimeError: not a sound file that is known, or one without a single sample, or the
            backend is not installed.
        ValueError: `frame_offset` or `num_frames` does not fit.
        rushlight.utils.download.DownloadError: an address that cannot be fetched.
    """
    name = backends.chosen("load", backend)
    for argument, value in (("frame_offset", frame_offset), ("num_frames", num_frames)):
        if _integer(value) is None:
            raise TypeError(f"load(): {argument} must be an integer, got {value!r}")
    if num_frames == 0 or num_frames < -1:
        raise ValueError(f"load(): num_frames must be -1 or greater than 0, got {num_frames}")
    if frame_offset < 0:
        raise ValueError(f"load(): frame_offset must be 0 or greater, got {frame_offset}")
    with sources.opened("load", uri) as source:
        samples, rate = _first_that_knows(
            "load",
            name,
            source,
            sources.shown(uri),
            format,
            (frame_offset, num_frames, normalize),
        )
    waveform = rl.from_numpy(samples)
    return (waveform.T.contiguous() if channels_first else waveform), rate


def load_wav(
    uri: Source, frame_offset: int = 0, num_frames: int = -1, channels_first: bool = True
) -> tuple[rl.Tensor, int]:
    """`load` of a WAV file with the type it stores: ``load(..., normalize=False)``.

    torchaudio had this function up to version 0.8.
    """
    return load(uri, frame_offset, num_frames, False, channels_first, "wav")


def load_with_torchcodec(
    uri: Source,
    *,
    frame_offset: int = 0,
    num_frames: int = -1,
    normalize: bool = True,
    channels_first: bool = True,
    format: str | None = None,
    buffer_size: int = 4096,
    backend: str | None = None,
) -> tuple[rl.Tensor, int]:
    """:func:`load`, under the name that torchaudio 2.9 has for it; TorchCodec is not needed."""
    return load(
        uri, frame_offset, num_frames, normalize, channels_first, format, buffer_size, backend
    )


def _first_that_knows(
    op: str, name: str | None, source: Any, shown: str, format: str | None, part: tuple[Any, ...]
) -> Any:
    """What the chosen library answers; where none is chosen, libsndfile, then FFmpeg."""
    known: dict[str | None, ModuleType] = {"soundfile": libsndfile, "ffmpeg": ffmpeg}
    if name is not None:
        return getattr(known[name], op)(source, shown, format, *part)
    start = source.tell() if hasattr(source, "tell") else 0
    try:
        return getattr(libsndfile, op)(source, shown, format, *part)
    except libsndfile.UnknownFormat as error:
        if "ffmpeg" not in backends.list_audio_backends():
            raise RuntimeError(
                f"{error}; with PyAV (pip install rushlight-audio[av]) more formats are known"
            ) from error
        if hasattr(source, "seek"):
            source.seek(start)
        try:
            return getattr(ffmpeg, op)(source, shown, format, *part)
        except ffmpeg.UnknownFormat:
            raise error from None


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
    compression: Compression = None,
) -> None:
    """Write samples as wav, flac, ogg (vorbis), opus, mp3, aiff, au, caf, w64, rf64, sph or htk;
    with PyAV also as what FFmpeg writes: m4a, mp4, webm, mka, wma, ...

    A path is written aside and renamed, so that a fault leaves the old file or none. Floats beyond
    [-1, 1] are cut off, infinities too, where the file holds integers (PCM, mu-law, A-law, flac).
    NaN is written where the file holds floats, and refused elsewhere, as infinities are by ogg,
    opus, mp3 and what FFmpeg writes.

    Args:
        uri: path, or a binary file object (then `format` is needed).
        src: ``[C, T]``, or ``[T, C]`` without `channels_first`, or ``[T]``, one channel; uint8,
            int16, int32, float32 in [-1, 1] or float64.
        sample_rate: samples per second, an integer.
        channels_first: the order of the dimensions of `src`.
        format: instead of the path's extension.
        encoding: for wav: ``PCM_S``, ``PCM_U``, ``PCM_F``, ``ULAW``, ``ALAW``.
        bits_per_sample: for wav 8, 16, 24, 32, 64; for flac 8, 16, 24. By default wav takes the
            type of `src`, and flac 16.
        buffer_size: unused.
        backend: ``"soundfile"``, ``"ffmpeg"``, or None: see `set_audio_backend`.
        compression: flac: level, 0 to 8. vorbis: quality, 0 to 10. mp3: bit rate, or quality from
            -9.9 (smallest file) to 0 for a bit rate that varies. opus: bit rate. Bit rates are in
            kbit/s; values from 1000 on are bit/s. Or a `CodecConfig`. None for the encoder's own
            choice; wav and other plain formats take nothing else.

    Raises:
        ValueError: a shape, format, encoding, compression or rate that does not fit, or NaN that
            the file cannot hold.
        TypeError: not a tensor, or a dtype that no file holds.
        OSError: the file cannot be written; the message names it.
    """
    name = backends.chosen("save", backend)
    src, sample_rate = _samples(src), _rate(sample_rate)
    if format is None:
        if not isinstance(uri, (str, os.PathLike)):
            raise ValueError("save(): argument 'format' is needed for a file object")
        format = Path(uri).suffix
    frames = src.detach().cpu()
    frames = frames.T if channels_first else frames
    by_ffmpeg = name == "ffmpeg" or (name is None and _only_ffmpeg(format))
    library: ModuleType = ffmpeg if by_ffmpeg else libsndfile
    library.save(uri, frames, sample_rate, format, encoding, bits_per_sample, compression)


def save_with_torchcodec(
    uri: Source,
    src: rl.Tensor,
    sample_rate: int,
    channels_first: bool = True,
    format: str | None = None,
    encoding: str | None = None,
    bits_per_sample: int | None = None,
    buffer_size: int = 4096,
    backend: str | None = None,
    compression: Compression = None,
) -> None:
    """:func:`save`, under the name that torchaudio 2.9 has for it; TorchCodec is not needed."""
    save(
        uri,
        src,
        sample_rate,
        channels_first,
        format,
        encoding,
        bits_per_sample,
        buffer_size,
        backend,
        compression,
    )


def _only_ffmpeg(format: str) -> bool:
    if format_of(format) is not None or "ffmpeg" not in backends.list_audio_backends():
        return False
    return ffmpeg.writes(format)


def _samples(src: rl.Tensor) -> rl.Tensor:
    """The samples with two dimensions, if all is as it must be."""
    if not isinstance(src, rl.Tensor):
        raise TypeError(f"save(): argument 'src' must be a tensor, not {type(src).__name__}")
    if src.dim() not in (1, 2):
        raise ValueError(
            "save(): argument 'src' must have 2 dimensions, channels and time, or 1, got shape "
            f"{list(src.shape)}"
        )
    if src.numel() == 0:
        raise ValueError(f"save(): argument 'src' holds no samples, its shape is {list(src.shape)}")
    if src.dtype not in libsndfile.SAVED:
        raise TypeError(
            f"save(): argument 'src' must be uint8, int16, int32, float32 or float64, got "
            f"{src.dtype}"
        )
    return src


def _rate(sample_rate: int) -> int:
    """The rate as an int, also of NumPy's integers; ValueError if a file has no room for it."""
    found = -1 if isinstance(sample_rate, bool) else _integer(sample_rate)
    if found is None or not 0 < found < 2**31:
        raise ValueError(
            f"save(): sample_rate must be a positive integer, got {sample_rate!r}; files hold less "
            "than 2^31"
        )
    return found


def _integer(value: object) -> int | None:
    """What counts as an integer as an int, else None."""
    try:
        return operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        return None
