"""The two libraries that read and write sound, and which of them is asked.

torchaudio up to 2.8 had these functions; many programs call them when they are imported.
"""

from __future__ import annotations

import importlib.util

__all__ = ["chosen", "get_audio_backend", "list_audio_backends", "set_audio_backend"]

# torchaudio's other names; what libsox read is read by libsndfile here.
_OTHER_NAMES = {"sox": "soundfile", "sox_io": "soundfile"}
_KNOWN = ("soundfile", "ffmpeg")
_state: dict[str, str | None] = {"default": None}


def list_audio_backends() -> list[str]:
    """The names of the libraries that are installed.

    ``"soundfile"`` (libsndfile) is always there, ``"ffmpeg"`` with PyAV, which
    ``pip install rushlight-audio[av]`` brings.

    >>> "soundfile" in list_audio_backends()
    True
    """
    found = ["soundfile"]
    if importlib.util.find_spec("av") is not None:
        found.append("ffmpeg")
    return found


def get_audio_backend() -> str | None:
    """What :func:`set_audio_backend` said; None: each file's own library is found."""
    return _state["default"]


def set_audio_backend(backend: str | None) -> None:
    """Let `load`, `save` and `info` without `backend` ask one library.

    Args:
        backend: ``"soundfile"``, ``"ffmpeg"``, or None: libsndfile, and FFmpeg for what it does not
            know. ``"sox"`` and ``"sox_io"`` stand for ``"soundfile"``, which reads the same files.

    Raises:
        ValueError: another name.
        RuntimeError: the library is not installed.
    """
    _state["default"] = None if backend is None else _checked("set_audio_backend", backend)


def chosen(op: str, backend: str | None) -> str | None:
    """The library to ask for a call with `backend`; None where any will do."""
    return _state["default"] if backend is None else _checked(op, backend)


def _checked(op: str, backend: str) -> str:
    name = _OTHER_NAMES.get(backend, backend)
    if name not in _KNOWN:
        raise ValueError(f"{op}(): backend must be None or one of {list(_KNOWN)}, got {backend!r}")
    if name not in list_audio_backends():
        raise RuntimeError(
            f"{op}(): the backend 'ffmpeg' needs PyAV: pip install rushlight-audio[av]"
        )
    return name
