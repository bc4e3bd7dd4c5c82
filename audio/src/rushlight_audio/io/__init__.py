"""Reading and writing sound: whole files, streams in chunks, filters and codecs of FFmpeg."""

import importlib
from typing import TYPE_CHECKING

from rushlight_audio.io.backends import get_audio_backend, list_audio_backends, set_audio_backend
from rushlight_audio.io.compression import CodecConfig
from rushlight_audio.io.files import (
    info,
    load,
    load_wav,
    load_with_torchcodec,
    save,
    save_with_torchcodec,
)
from rushlight_audio.io.formats import AudioMetaData

if TYPE_CHECKING:
    from rushlight_audio.io.effector import AudioEffector
    from rushlight_audio.io.playback import play_audio
    from rushlight_audio.io.stream_reader import StreamReader
    from rushlight_audio.io.stream_writer import StreamWriter

__all__ = [
    "AudioEffector",
    "AudioMetaData",
    "CodecConfig",
    "StreamReader",
    "StreamWriter",
    "get_audio_backend",
    "info",
    "list_audio_backends",
    "load",
    "load_wav",
    "load_with_torchcodec",
    "play_audio",
    "save",
    "save_with_torchcodec",
    "set_audio_backend",
]

_LATER = {
    "AudioEffector": "effector",
    "StreamReader": "stream_reader",
    "StreamWriter": "stream_writer",
    "play_audio": "playback",
}


def __getattr__(name: str):
    """The classes over PyAV, imported at their first use."""
    if name in _LATER:
        return getattr(importlib.import_module(f"rushlight_audio.io.{_LATER[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATER})
