"""torchaudio's former module of the libraries that read files; its functions are in `io`."""

from rushlight_audio.backend import common, soundfile_backend, sox_io_backend
from rushlight_audio.io import get_audio_backend, list_audio_backends, set_audio_backend

__all__ = [
    "common",
    "get_audio_backend",
    "list_audio_backends",
    "set_audio_backend",
    "soundfile_backend",
    "sox_io_backend",
]
