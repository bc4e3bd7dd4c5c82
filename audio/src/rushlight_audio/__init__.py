"""Sound for Rushlight: files, effects, data sets, resampling, spectrograms, transforms, models."""

import importlib
from typing import TYPE_CHECKING

from rushlight_audio import functional, io, transforms
from rushlight_audio._version import __version__
from rushlight_audio.io import (
    AudioMetaData,
    get_audio_backend,
    info,
    list_audio_backends,
    load,
    load_wav,
    load_with_torchcodec,
    save,
    save_with_torchcodec,
    set_audio_backend,
)

if TYPE_CHECKING:
    from rushlight_audio import (
        analysis,
        backend,
        compliance,
        datasets,
        kaldi,
        kaldi_io,
        metrics,
        models,
        pictures,
        pipelines,
        prototype,
        sox_effects,
        streaming,
        utils,
        zoo,
    )
    from rushlight_audio.pictures import report, show
    from rushlight_audio.zoo import pipeline

__all__ = [
    "AudioMetaData",
    "__version__",
    "analysis",
    "backend",
    "compliance",
    "datasets",
    "functional",
    "get_audio_backend",
    "info",
    "io",
    "kaldi",
    "kaldi_io",
    "list_audio_backends",
    "load",
    "load_wav",
    "load_with_torchcodec",
    "metrics",
    "models",
    "pictures",
    "prototype",
    "pipeline",
    "pipelines",
    "report",
    "save",
    "save_with_torchcodec",
    "set_audio_backend",
    "show",
    "sox_effects",
    "streaming",
    "transforms",
    "utils",
    "zoo",
]

# Modules that are imported when they are asked for: few programs need them all.
_LATER = (
    "analysis backend compliance datasets kaldi kaldi_io metrics models pictures pipelines "
    "prototype sox_effects streaming utils zoo"
).split()
_FUNCTIONS = {"report": "pictures", "show": "pictures", "pipeline": "zoo"}


def __getattr__(name: str):
    """What is imported at its first use."""
    if name in _FUNCTIONS:
        return getattr(importlib.import_module(f"rushlight_audio.{_FUNCTIONS[name]}"), name)
    if name in _LATER:
        return importlib.import_module(f"rushlight_audio.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATER, *_FUNCTIONS})
