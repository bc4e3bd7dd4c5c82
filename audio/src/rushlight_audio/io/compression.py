"""How much a file is compressed: torchaudio's numbers in libsndfile's terms."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["CodecConfig", "for_libsndfile"]

# Bit rates in kbit/s between which libsndfile's level of MP3 (0: best) is a line, by the least
# sample rate of that version of MPEG.
_MP3_RATES = ((32000, 32, 320), (16000, 8, 160), (0, 8, 64))
_OPUS_RATES = (6, 256)  # of one channel


@dataclass
class CodecConfig:
    """How an encoder works.

    Attributes:
        bit_rate: bits per second; -1 for the encoder's own choice.
        compression_level: the encoder's own scale, flac's 0 to 8 for one; -1 for its own choice.
        qscale: quality of a bit rate that varies: mp3's 0 (best) to 9, vorbis' 0 to 10 (best).
        gop_size: frames of a video between two that stand for themselves; -1 as above.
        max_b_frames: frames of a video in a row that look ahead; -1 as above.
    """

    bit_rate: int = -1
    compression_level: int = -1
    qscale: int | None = None
    gop_size: int = -1
    max_b_frames: int = -1


def for_libsndfile(
    name: str, compression: CodecConfig | float | None, sample_rate: int, channels: int
) -> dict[str, float | str]:
    """The options of soundfile for `compression` in a file of the format `name`."""
    if compression is None or compression == CodecConfig():
        return {}
    ask = {"flac": _flac, "ogg": _vorbis, "vorbis": _vorbis, "mp3": _mp3, "opus": _opus}.get(name)
    if ask is None:
        raise ValueError(f"save(): {name} is not compressed; compression must be None")
    if isinstance(compression, bool) or not isinstance(compression, int | float | CodecConfig):
        raise TypeError(
            "save(): compression must be a number, a CodecConfig or None, not "
            f"{type(compression).__name__}"
        )
    return ask(compression, sample_rate, channels)


def _number(compression: CodecConfig | float, name: str, field: str) -> float:
    """The number itself, or the one field of a configuration that a format has."""
    if not isinstance(compression, CodecConfig):
        return compression
    value = getattr(compression, field)
    if value is None or value == -1:
        raise ValueError(f"save(): of a CodecConfig {name} takes {field} alone, got {compression}")
    return value / 1000 if field == "bit_rate" else value


def _within(value: float, low: float, high: float, what: str) -> float:
    """Where a value is between two, from 0 to 1."""
    if not low <= value <= high:
        raise ValueError(f"save(): compression of {what} must be in [{low}, {high}], got {value}")
    return (value - low) / (high - low)


def _flac(compression: CodecConfig | float, rate: int, channels: int) -> dict[str, float | str]:
    level = _number(compression, "flac", "compression_level")
    return {"compression_level": _within(level, 0, 8, "flac")}


def _vorbis(compression: CodecConfig | float, rate: int, channels: int) -> dict[str, float | str]:
    quality = _number(compression, "vorbis", "qscale")
    return {"compression_level": 1 - _within(quality, 0, 10, "vorbis")}


def _mp3(compression: CodecConfig | float, rate: int, channels: int) -> dict[str, float | str]:
    if isinstance(compression, CodecConfig) and compression.qscale is not None:
        compression = -float(compression.qscale)
    if not isinstance(compression, CodecConfig) and compression <= 0:
        level = _within(-compression, 0, 9.9, "mp3 by quality") * 0.99
        return {"compression_level": level, "bitrate_mode": "VARIABLE"}
    low, high = next((low, high) for least, low, high in _MP3_RATES if rate >= least)
    level = 1 - _within(_kilobits(compression, "mp3"), low, high, f"mp3 at {rate} Hz, kbit/s,")
    return {"compression_level": level, "bitrate_mode": "CONSTANT"}


def _opus(compression: CodecConfig | float, rate: int, channels: int) -> dict[str, float | str]:
    low, high = (bound * channels for bound in _OPUS_RATES)
    what = f"opus with {channels} channels, kbit/s,"
    return {"compression_level": 1 - _within(_kilobits(compression, "opus"), low, high, what)}


def _kilobits(compression: CodecConfig | float, name: str) -> float:
    value = _number(compression, name, "bit_rate")
    is_bits = not isinstance(compression, CodecConfig) and value >= 1000
    return value / 1000 if is_bits else value
