"""What FFmpeg can do here; needs PyAV (``pip install rushlight-audio[av]``)."""

from __future__ import annotations

from typing import Any, NoReturn

from rushlight_audio.io.media import library

__all__ = [
    "get_audio_decoders",
    "get_audio_encoders",
    "get_build_config",
    "get_demuxers",
    "get_input_devices",
    "get_input_protocols",
    "get_log_level",
    "get_muxers",
    "get_output_devices",
    "get_output_protocols",
    "get_versions",
    "get_video_decoders",
    "get_video_encoders",
    "set_log_level",
]

_QUIET = -8  # FFmpeg's level of no messages at all


def get_versions() -> dict[str, tuple[int, ...]]:
    """The versions of FFmpeg's libraries, by name: ``{"libavcodec": (62, 28, 102), ...}``."""
    return dict(library("get_versions").library_versions)


def get_log_level() -> int:
    """How much FFmpeg says: -8 nothing, 16 errors, 24 warnings, 32 all that is of use."""
    level = library("get_log_level").logging.get_level()
    return _QUIET if level is None else level


def set_log_level(level: int) -> None:
    """Let FFmpeg say more or less; see :func:`get_log_level`."""
    library("set_log_level").logging.set_level(None if level <= _QUIET else level)


def get_demuxers() -> dict[str, str]:
    """Formats that are read, with descriptions."""
    return _formats("get_demuxers", "r")


def get_muxers() -> dict[str, str]:
    """Formats that are written, with descriptions."""
    return _formats("get_muxers", "w")


def get_audio_decoders() -> dict[str, str]:
    """Codecs of sound that are read, with descriptions."""
    return _codecs("get_audio_decoders", "r", "audio")


def get_audio_encoders() -> dict[str, str]:
    """Codecs of sound that are written, with descriptions."""
    return _codecs("get_audio_encoders", "w", "audio")


def get_video_decoders() -> dict[str, str]:
    """Codecs of video that are read, with descriptions."""
    return _codecs("get_video_decoders", "r", "video")


def get_video_encoders() -> dict[str, str]:
    """Codecs of video that are written, with descriptions."""
    return _codecs("get_video_encoders", "w", "video")


def get_build_config() -> NoReturn:
    """PyAV does not say how its FFmpeg was built."""
    _refuse("get_build_config", "get_versions(), get_muxers() and get_audio_encoders()")


def get_input_devices() -> NoReturn:
    """PyAV has another function for devices."""
    _refuse("get_input_devices", "av.enumerate_input_devices(format)")


def get_output_devices() -> NoReturn:
    """PyAV has another function for devices."""
    _refuse("get_output_devices", "av.enumerate_output_devices(format)")


def get_input_protocols() -> NoReturn:
    """PyAV does not list protocols."""
    _refuse("get_input_protocols", "av.open() with an address, which says what it does not know")


def get_output_protocols() -> NoReturn:
    """PyAV does not list protocols."""
    _refuse("get_output_protocols", "av.open() with an address, which says what it does not know")


def _refuse(op: str, other: str) -> NoReturn:
    raise NotImplementedError(f"{op}() is not there: PyAV does not tell; use {other}")


def _formats(op: str, mode: str) -> dict[str, str]:
    av = library(op)
    return _described(av.formats_available, lambda name: av.ContainerFormat(name, mode).long_name)


def _codecs(op: str, mode: str, kind: str) -> dict[str, str]:
    av = library(op)

    def description(name: str) -> str | None:
        codec = av.Codec(name, mode)
        return codec.long_name if codec.type == kind else None

    return _described(av.codecs_available, description)


def _described(names: Any, description: Any) -> dict[str, str]:
    """The names that have a description; what is for the other direction raises ValueError."""
    found = {}
    for name in sorted(names):
        try:
            text = description(name)
        except ValueError:
            continue
        if text is not None:
            found[name] = text
    return found
